"""The second checker of the theorem, by itself and beside `prove`."""

import dataclasses
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from gridsum.automaton.proof import prove
from gridsum.automaton.table import RuleTable
from tests.oracles.column_addition import (
    BLANK,
    EMPTY_CELL,
    OUTSIDE,
    PLUS_CELL,
    changed,
    code,
    column_addition,
    column_addition_in_other_codes,
    column_addition_with_two_meanings,
    place_slowly,
    shipped,
)
from tests.oracles.second_checker import Entry, SecondChecker, every_small_sum, grids, placement_is_right

ZERO, FIVE = code(0, 0), code(5, 0)


@cache
def other_codes() -> RuleTable:
    return column_addition_in_other_codes(1)


@cache
def checker(rule: Callable[[], RuleTable]) -> SecondChecker:
    return SecondChecker(rule())


def test_every_small_sum_is_right_in_other_codes():
    assert prove(other_codes()).proved
    assert every_small_sum(other_codes(), starts=1) is None


@pytest.mark.parametrize("rule", [shipped, column_addition, column_addition_with_two_meanings])
def test_no_cell_breaks_a_condition_and_every_small_sum_is_right(rule: Callable[[], RuleTable]):
    verdict = checker(rule).check()
    assert verdict.proved, verdict
    assert every_small_sum(rule(), starts=2) is None


# 3 + 5 is 9.
WRONG_SUM: dict[Entry, int] = {(3, BLANK, code(4, 0), FIVE): code(9, 0)}
BROKEN = [
    ("digits", WRONG_SUM),
    # A zero after a number is shown or not, as the zero to its right is shown or not.
    ("rest", {(0, FIVE, BLANK, BLANK): BLANK}),
    # A zero after a number is never shown.
    ("reading", {(0, FIVE, BLANK, BLANK): BLANK, (0, FIVE, ZERO, BLANK): BLANK}),
    # The lowest row never rests: a cell between the border and a blank is no blank, and is one beside anything else.
    pytest.param(
        "rest",
        {(EMPTY_CELL, OUTSIDE, BLANK, OUTSIDE): ZERO, (EMPTY_CELL, OUTSIDE, ZERO, OUTSIDE): BLANK},
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("condition", "changes"), BROKEN)
def test_a_broken_entry_is_the_counterexample(condition: str, changes: dict[Entry, int]):
    verdict = checker(column_addition).check(changes)
    assert not verdict.proved
    assert verdict.condition == condition
    cell = verdict.counterexample
    entry = (cell["x"], cell["left"], cell["right"], cell["below"])
    assert int(changed(column_addition(), changes).steps[entry]) == cell["after"]
    assert not prove(changed(column_addition(), changes)).proved


def test_small_sums_show_a_wrong_entry():
    wrong = every_small_sum(changed(column_addition(), WRONG_SUM), starts=1)
    assert wrong is not None
    first, second = wrong.split("+")
    assert "3" in second
    assert "5" in first


@pytest.mark.slow
@pytest.mark.parametrize(("x", "left", "below"), [(EMPTY_CELL, FIVE, BLANK), (0, BLANK, ZERO)])
def test_what_never_stands_at_rest_may_be_shown_or_not(x: int, left: int, below: int):
    """The two combinations that step 6 leaves out. They must still go to one code for all of a class on the right."""
    table = column_addition()
    entries = [(x, left, right, below) for right in (BLANK, ZERO)]
    both = {entry: ZERO if int(table.steps[entry]) == BLANK else BLANK for entry in entries}
    one = {entries[0]: both[entries[0]]}
    assert checker(column_addition).check(both).proved
    assert prove(changed(table, both)).proved
    assert checker(column_addition).check(one).condition == "rest"
    assert not prove(changed(table, one)).proved


def test_wrong_placement_is_no_proof():
    actions = list(column_addition().actions)
    actions[-1] = 0
    assert placement_is_right(column_addition())
    assert not placement_is_right(dataclasses.replace(column_addition(), actions=tuple(actions)))


def test_grids_are_what_placement_makes():
    for terms in (("7",), ("07", "1"), ("1", "22", "003")):
        assert grids([terms], 6)[0].tolist() == place_slowly(column_addition(), terms, len(terms) + 1, 6)


def random_change(table: RuleTable, chance: np.random.Generator) -> dict[Entry, int]:
    """One entry with another code. Half of them exchange a blank and a zero, where rest and reading are decided."""
    outside = table.outside
    left, right, below = (int(number) for number in chance.integers(0, outside + 1, 3))
    if chance.random() < 0.5:
        x = int(chance.integers(12))
        after = int(chance.integers(outside - 1))
        return {(x, left, right, below): after + (after >= int(table.steps[x, left, right, below]))}
    blank = int(table.steps[EMPTY_CELL, outside, 0, outside])
    zero = int(table.steps[0, blank, outside, blank])
    x, right, below = (int(chance.choice(of)) for of in ((0, PLUS_CELL, EMPTY_CELL), (blank, zero), (blank, zero)))
    return {(x, left, right, below): zero if int(table.steps[x, left, right, below]) == blank else blank}


@pytest.mark.slow
@pytest.mark.parametrize("rule", [shipped, column_addition, other_codes, column_addition_with_two_meanings])
def test_both_checkers_agree_on_changed_rules(rule: Callable[[], RuleTable]):
    chance = np.random.default_rng(1)
    seen = set()
    for _ in range(40):
        change = random_change(rule(), chance)
        table = changed(rule(), change)
        first, second = prove(table), checker(rule).check(change)
        assert first.proved == second.proved, (change, first.failures[:2], second)
        assert second.proved or second.condition in {failure.condition for failure in first.failures}, change
        if second.proved:
            assert every_small_sum(table, starts=1) is None, change
        seen.add(second.condition)
    assert len(seen) > 1, "all changes have the same verdict"
