"""The second checker of the theorem, by itself and beside `prove`."""

import numpy as np
import pytest

from gridsum.automaton.proof import prove
from gridsum.automaton.table import RuleTable
from tests.oracles.altered import some_tables
from tests.oracles.column_addition import (
    BLANK,
    EMPTY_CELL,
    OUTSIDE,
    changed,
    code,
    column_addition,
    column_addition_in_other_codes,
    column_addition_with_two_meanings,
    shipped,
)
from tests.oracles.second_checker import second_check, wrong_small_sum

ZERO, FIVE = code(0, 0), code(5, 0)


RIGHT = [shipped(), column_addition(), column_addition_in_other_codes(1), column_addition_with_two_meanings()]


@pytest.mark.parametrize("rule", RIGHT, ids=["shipped", "plain", "other codes", "two meanings"])
def test_no_cell_breaks_a_condition_and_every_small_sum_is_right(rule: RuleTable):
    assert second_check(rule).proved
    assert wrong_small_sum(rule) is None


# 3 + 5 is 9.
WRONG_SUM = {(3, BLANK, code(4, 0), FIVE): code(9, 0)}
BROKEN = [
    ("digits", WRONG_SUM),
    # A zero after a number is shown or not, as the zero to its right is shown or not.
    ("rest", {(0, FIVE, BLANK, BLANK): BLANK}),
    # A zero after a number is never shown.
    ("reading", {(0, FIVE, BLANK, BLANK): BLANK, (0, FIVE, ZERO, BLANK): BLANK}),
    # The lowest row never rests: a cell between the border and a blank is no blank, and is one beside anything else.
    ("rest", {(EMPTY_CELL, OUTSIDE, BLANK, OUTSIDE): ZERO, (EMPTY_CELL, OUTSIDE, ZERO, OUTSIDE): BLANK}),
]


@pytest.mark.parametrize(("condition", "changes"), BROKEN)
def test_a_broken_entry_is_the_counterexample(condition: str, changes: dict[tuple[int, ...], int]):
    table = changed(column_addition(), changes)
    found = second_check(table)
    assert found.condition == condition
    assert found.counterexample is not None
    x, left, _, below = found.counterexample  # of rest, one of a pair of right neighbours
    assert (x, left, below) in {(x, left, below) for x, left, _, below in changes}
    assert not prove(table).proved


def test_small_sums_show_a_wrong_entry():
    wrong = wrong_small_sum(changed(column_addition(), WRONG_SUM))
    first, second = wrong.split("+")
    assert ("3" in second, "5" in first) == (True, True)


@pytest.mark.parametrize("count", [80, pytest.param(2000, marks=pytest.mark.slow)])
def test_both_checkers_agree_on_altered_rules(count: int):
    seen = set()
    for table in some_tables(count, np.random.default_rng(1)):
        first, second = prove(table), second_check(table)
        assert first.proved == second.proved, (first.failures[:2], second)
        assert second.proved or second.condition in {failure.condition for failure in first.failures}
        seen.add(second.condition)
    assert seen == {"", "digits", "rest", "reading"}
