"""What states mean comes from what a rule does: other patterns and more codes do not hide column addition."""

import dataclasses

import pytest

from gridsum.automaton.meaning import Sum, meaning_of
from gridsum.tasks import PAD
from tests.oracles.column_addition import (
    BLANK,
    CODES,
    carry_of,
    changed,
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
        state = meaning.states[number]
        assert (state.digit, state.carry) == (digit_of(number), carry_of(number))
    assert meaning.carry_bits == {5: 1}
    assert not meaning.wrong


def test_addition_is_seen_in_other_codes_and_the_lowest_row_may_read_as_anything():
    table = column_addition_in_other_codes(3)
    for reading in (table.outputs, (*table.outputs[:-2], 4, PAD)):
        meaning = meaning_of(dataclasses.replace(table, outputs=reading))
        assert not meaning.wrong
        assert meaning.carry_bits == {}
        found = [known.meaning for known in meaning.states]
        assert [found.count(name) for name in ("blank", "empty row", "on the way")] == [1, 1, 1]
        assert len(set(found)) == 23


def test_a_wrong_column_is_found():
    # 3 + 4 without a carry gives 8, whatever its left neighbour is.
    rights = tuple(number for number in range(CODES + 1) if not carry_of(number))
    meaning = meaning_of(changed(RULE, {(3, None, rights, code(4, carry)): code(8, 0) for carry in (0, 1)}))
    assert meaning.wrong
    assert Sum(8, 0) in meaning.sums[3, 4, 0]


@pytest.mark.parametrize("seed", range(3))
def test_a_rule_without_sense_is_no_addition(seed: int):
    meaning = meaning_of(random_table(3, seed))
    assert meaning.wrong
    assert meaning.carry_bits == {}
