"""Meanings come from what a rule does: other patterns and more codes do not hide column addition."""

import dataclasses

import numpy as np
import pytest

from gridsum.automaton.meaning import CarryBit, Sum, meaning_of
from gridsum.automaton.table import RuleTable
from gridsum.tasks import PAD
from tests.oracles.column_addition import (
    BLANK,
    CODES,
    carry_of,
    code,
    column_addition,
    column_addition_in_other_codes,
    digit_of,
    random_table,
)

RULE = column_addition()


def test_every_code_has_the_meaning_it_was_made_with():
    meaning = meaning_of(RULE)
    assert meaning.states[BLANK].meaning == "blank"
    for number in range(1, CODES):
        assert meaning.states[number].value == Sum(digit_of(number), carry_of(number))
    assert meaning.states[code(7, 1)].meaning == "digit 7, carry 1"
    assert meaning.carry_bits == (CarryBit(5, 1, True),)
    assert meaning.is_addition
    assert meaning.others_are_zero
    assert meaning.restless == 0


def test_addition_is_seen_in_other_codes_too():
    meaning = meaning_of(column_addition_in_other_codes(3))
    assert meaning.is_addition
    assert meaning.carry_bits == ()
    found = [known.meaning for known in meaning.states]
    assert [found.count(name) for name in ("blank", "empty row", "on the way")] == [1, 1, 1]
    assert len(set(found)) == 23


def test_what_the_lowest_row_would_read_as_does_not_matter():
    table = column_addition_in_other_codes(3)
    reading = (*table.reading[:-2], 4, PAD)
    meaning = meaning_of(dataclasses.replace(table, reading=reading))
    assert meaning.is_addition
    assert meaning.states[CODES].meaning == "empty row"


def test_a_carry_bit_need_not_be_all_that_differs():
    # Bit 6 is on in the codes of even digits with a carry: bit 5 still tells the carry, but not alone.
    patterns = tuple(
        pattern | 64 * (number > 0 and carry_of(number) and digit_of(number) % 2 == 0)
        for number, pattern in enumerate(RULE.states)
    )
    meaning = meaning_of(dataclasses.replace(RULE, bits=7, states=patterns))
    assert meaning.carry_bits == (CarryBit(5, 1, False),)


def test_a_wrong_column_is_counted():
    steps = RULE.steps.copy()
    # 3 + 4 without a carry gives 8, whatever its left neighbour is.
    for right in (number for number in range(CODES + 1) if not carry_of(number)):
        for below in (code(4, 0), code(4, 1)):
            steps[3, :, right, below] = code(8, 0)
    meaning = meaning_of(dataclasses.replace(RULE, steps=steps))
    assert not meaning.is_addition
    assert meaning.wrong >= 1


@pytest.mark.parametrize("seed", range(3))
def test_a_rule_without_sense_is_no_addition(seed: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gridsum.automaton.meaning._SHORT", 40)
    meaning = meaning_of(random_table(3, seed))
    assert not meaning.is_addition
    assert meaning.carry_bits == ()


def test_sums_that_never_rest_are_counted():
    steps = np.zeros((12, 3, 3, 3), np.uint8)
    steps[:, :, 0] = 1  # the opposite of the right neighbour, and of the left one where there is none
    steps[:, :, 2] = 1
    steps[:, 1, 2] = 0
    meaning = meaning_of(RuleTable(1, (0, 1), steps, (1, 2), RULE.actions))
    assert meaning.restless == meaning.sums_shown
    assert meaning.windows == 0
