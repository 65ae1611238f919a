"""What states mean comes from what a rule does: other patterns and more codes do not hide column addition."""

import dataclasses

from gridsum.automaton.meaning import Sum, meaning_of
from gridsum.tasks import PAD
from tests.oracles.column_addition import (
    CODES,
    carry_of,
    changed,
    code,
    column_addition,
    column_addition_in_other_codes,
)


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
    entries = {(3, None, rights, code(4, carry)): code(8, 0) for carry in (0, 1)}
    meaning = meaning_of(changed(column_addition(), entries))
    assert meaning.wrong
    assert Sum(8, 0) in meaning.sums[3, 4, 0]
