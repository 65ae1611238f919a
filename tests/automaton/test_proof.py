"""The proof against rules that add and rules that do not, and against grids run from any state."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gridsum.automaton.construct import construct
from gridsum.automaton.meaning import meaning_of
from gridsum.automaton.proof import Proof, prove
from gridsum.automaton.run import Run, frames
from gridsum.automaton.solve import solve
from gridsum.automaton.table import RuleTable
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.tasks import FIRST_DIGIT, PAD, find
from tests.oracles.column_addition import (
    ADD,
    BLANK,
    CODES,
    EMPTY_CELL,
    OUTSIDE,
    PLUS_CELL,
    TEN,
    carry_of,
    changed,
    code,
    column_addition,
    column_addition_in_other_codes,
    column_addition_with_two_meanings,
    digit_of,
    random_table,
)
from tests.oracles.second_checker import second_check

RULE = column_addition()
ZERO = code(0, 0)
NUMBERS = [code(digit, carry) for carry in (0, 1) for digit in range(TEN)]
WITHOUT_CARRY = [BLANK, *(code(digit, 0) for digit in range(TEN))]
# A row that adds nothing of its own carries at most 9 + 1.
OF_NO_DIGIT = [*WITHOUT_CARRY, code(0, 1)]

Context = tuple[int, int, int]


def conditions(proof: Proof) -> set[str]:
    return {failure.condition for failure in proof.failures}


@cache
def feasible() -> frozenset[Context]:
    """(own symbol, right, below) that column addition meets on some grid, written down by hand."""
    found: set[Context] = set()
    found |= {(EMPTY_CELL, right, OUTSIDE) for right in (OUTSIDE, BLANK, ZERO)}  # the row without a term
    for right in (OUTSIDE, *WITHOUT_CARRY):  # the first term
        found |= {(x, right, BLANK) for x in range(TEN)}
    found |= {(EMPTY_CELL, right, BLANK) for right in WITHOUT_CARRY}
    for below in (BLANK, *NUMBERS):  # a term above another
        for right in (BLANK, *NUMBERS):
            found |= {(x, right, below) for x in (*range(TEN), PLUS_CELL)}
        found |= {(EMPTY_CELL, right, below) for right in OF_NO_DIGIT}
    return frozenset(found | {(x, OUTSIDE, below) for below in NUMBERS for x in range(TEN)})


CONTEXTS = sorted(feasible())
OTHERS = sorted(set(itertools.product(range(12), range(CODES + 1), range(CODES + 1))) - feasible())


def at_rest(table: RuleTable, problems: Iterable[Sequence[str]]) -> list[tuple[int, int, int, int]]:
    """(own symbol, left, right, below) of the cells at rest of these problems."""
    found = set()
    for terms in problems:
        *_, last = frames(table, terms)
        state = np.pad(last, ((0, 1), (1, 1)), constant_values=table.outside)
        for (i, j), x in np.ndenumerate(Run.of(table, terms).symbols):
            found.add((int(x), int(state[i, j]), int(state[i, j + 2]), int(state[i + 1, j + 1])))
    return sorted(found)


def small_sums() -> Iterator[tuple[str, ...]]:
    """With few kinds of digits, so that there are many carries and zeros."""
    yield from (("000",), ("07", "93"), ("10",))
    yield from ((str(a), str(b)) for a in (0, 5, 10, 90, 99, 100) for b in (0, 5, 10, 99))
    numbers = np.random.default_rng(0)
    for _ in range(60):
        terms = [numbers.choice(list("0159"), numbers.integers(1, 4)) for _ in range(numbers.integers(1, 4))]
        yield tuple("".join(term) for term in terms)


RESTING = at_rest(RULE, small_sums())


@pytest.mark.parametrize(
    ("name", "one"),
    [("subtract:base=2", "100-11-0"), ("times:base=2", "11*1"), ("max:base=2", "1^0"), ("mixed:base=2", "100-11+1")],
)
def test_a_rule_that_reads_otherwise_where_a_problem_rests_is_not_proved(name, one):
    """But for the lowest row; also beside and over a blank that borrows, as the second place of 100 − 11 is one."""
    table = construct(find(name))
    drawn = sample(Space((1, 3), (1, 4)), 40, Stream.of_seeds([0]), task=table.task).expressions()
    entries = [entry for entry in at_rest(table, map(table.task.parse, [one, *drawn])) if entry[3] != table.outside]
    assert len(entries) > 20
    for entry in entries:
        reads = table.outputs[table.steps[entry]]
        other = next(state for state in range(table.outside) if table.outputs[state] != reads)
        assert not prove(changed(table, {entry: other})).proved, entry


def answers_from_any_start(table: RuleTable, problems: Iterable[Sequence[str]], chance: np.random.Generator) -> bool:
    """Whether grids with any states at first come to rest, and read as the right answers."""
    for terms in problems:
        symbols = Run.of(table, terms).symbols
        grid = before = chance.integers(0, table.outside, symbols.shape)
        for _ in range(4 * symbols.size):
            around = np.pad(grid, ((0, 1), (1, 1)), constant_values=table.outside)
            before, grid = grid, table.steps[symbols, around[:-1, :-2], around[:-1, 2:], around[1:, 1:-1]]
            if np.array_equal(before, grid):
                break
        reads = [table.outputs[state] for state in grid[0]]
        wanted = [FIRST_DIGIT + table.task.alphabet.digits.index(digit) for digit in table.task.answer(terms)]
        if not np.array_equal(before, grid) or reads != [PAD] * (len(reads) - len(wanted)) + wanted:
            return False
    return True


@pytest.mark.parametrize("name", ["subtract:base=2", "times:base=2", "max:base=2", "mixed:base=2"])
def test_what_is_proved_answers_from_any_start(name):
    """With one entry changed. What the check leaves out because it never stands side by side must be just that."""
    table, chance = construct(find(name)), np.random.default_rng(0)
    drawn = sample(Space((1, 3), (1, 3)), 40, Stream.of_seeds([0]), task=table.task).expressions()
    problems = [*map(table.task.parse, drawn)]
    contexts = [(x, left, right, below) for x, left, right, below in at_rest(table, problems) if below != table.outside]
    proved = 0
    for _ in range(75):
        entry = [int(part) for part in contexts[chance.integers(len(contexts))]]
        entry[chance.integers(1, 4)] = int(chance.integers(table.outside + 1))
        altered = changed(table, {tuple(entry): int(chance.integers(table.outside))})
        if prove(altered).proved:
            proved += 1
            assert answers_from_any_start(altered, problems, chance), entry
    assert 5 < proved < 70


def test_nobody_reads_what_the_last_column_carries_to_the_right():
    """In base 3, a 0 there may be the state of a 0 that is smaller than the number below."""
    table = construct(find("max:base=3"))
    means = {state.meaning: state.number for state in meaning_of(table).states}
    last, smaller = means["digit 0, last column"], means["digit 0, carry <"]
    steps = table.steps.copy()
    ends = steps[:3, :, table.outside]
    ends[ends == last] = smaller
    assert (steps != table.steps).any()
    other = dataclasses.replace(table, steps=steps)
    assert prove(other).proved
    assert answers_from_any_start(
        other, [("0", "0"), ("0",), ("0", "0", "2"), ("100", "0", "21")], np.random.default_rng(0)
    )


@pytest.mark.parametrize("table", [RULE, column_addition_in_other_codes(3)], ids=["plain", "in other codes"])
def test_column_addition_is_proved(table):
    proof = prove(table)
    assert proof.proved, proof.failures[:3]
    assert proof.evaluations == proof.contexts * (table.outside + 1)


def test_every_feasible_context_is_enumerated_and_no_other():
    proof = prove(RULE)
    assert proof.contexts == len(feasible())
    assert {(x, right, below) for x, _, right, below in RESTING} <= feasible()
    for known in proof.certificate.meaning_of.values():
        assert known
        assert all(meaning == (digit_of(number), carry_of(number)) for number, meaning in known.items())
    assert proof.states == list(range(CODES))


@settings(max_examples=15)
@given(st.sampled_from(CONTEXTS), st.integers(0, CODES), st.integers(1, CODES - 1))
@example((3, code(7, 1), code(4, 0)), code(9, 1), 1)
@example((EMPTY_CELL, code(0, 1), BLANK), OUTSIDE, TEN)
def test_any_broken_entry_of_a_feasible_context_is_found(context, left, shift):
    """Whatever stands to the left: it may be any code while a grid settles."""
    x, right, below = context
    entry = (x, left, right, below)
    before = int(RULE.steps[entry])
    after = (before + shift) % CODES
    if {before, after} == {BLANK, ZERO}:
        return  # the digit stays; whether it has to be shown is another test's
    found = conditions(prove(changed(RULE, {entry: after})))
    if carry_of(before) != carry_of(after):
        assert "digits" in found
    elif entry in RESTING:
        assert found, "a wrong digit that carries as the right one does must be read where it can stand"


@settings(max_examples=12)
@given(st.sampled_from([entry for entry in RESTING if RULE.steps[entry] in (BLANK, ZERO) and entry[3] != OUTSIDE]))
def test_a_zero_shown_or_hidden_against_the_rule_is_found(entry):
    """In every context that a sum shows at rest, but for the lowest row, which nobody reads."""
    after = BLANK if RULE.steps[entry] == ZERO else ZERO
    assert conditions(prove(changed(RULE, {entry: after}))) & {"reading", "rest"}


@settings(max_examples=12)
@given(st.sampled_from(OTHERS), st.integers(0, CODES), st.integers(0, CODES - 1))
def test_what_no_feasible_context_reaches_does_not_matter(context, left, after):
    x, right, below = context
    assert prove(changed(RULE, {(x, left, right, below): after})).proved


@pytest.mark.parametrize(
    ("symbol", "action", "wanted"),
    [("7", 2, "written"), ("0", 1, "written"), ("+", 0, "a new row"), ("+", 2, "a new row"), ("=", 1, "skipped")],
)
def test_wrong_placement_is_named(symbol, action, wanted):
    actions = list(RULE.actions)
    actions[ADD.alphabet.symbols.index(symbol)] = action
    table = dataclasses.replace(RULE, actions=tuple(actions))
    assert second_check(table).condition == "placement"
    (failure,) = prove(table).failures
    assert failure.condition == f"placement of {symbol!r}"
    assert failure.wanted == wanted
    assert symbol in str(failure)


def test_leading_zeros_are_found():
    """Zeros before a term's first digit stay."""
    found = prove(changed(RULE, {(0,): np.where(RULE.steps[0] == BLANK, ZERO, RULE.steps[0])}))
    assert conditions(found) == {"reading"}
    assert all(failure.wanted == "a blank" for failure in found.failures)
    assert all(failure.symbol == "0" for failure in found.failures)


def test_a_zero_without_its_units_is_found():
    """A sum of 0 would read as nothing."""
    last = RULE.steps[:, :, OUTSIDE]
    found = prove(changed(RULE, {(None, None, OUTSIDE): np.where(last == ZERO, BLANK, last)}))
    assert conditions(found) == {"reading"}
    assert {failure.wanted for failure in found.failures} == {"one that reads 0"}
    assert {failure.right for failure in found.failures} == {OUTSIDE}


@pytest.mark.parametrize("reads", [FIRST_DIGIT + 4, PAD])
def test_a_code_that_reads_as_another_digit_is_found(reads):
    reading = list(RULE.outputs)
    reading[code(3, 0)] = reads
    assert not prove(dataclasses.replace(RULE, outputs=tuple(reading))).proved


def test_the_ground_may_have_a_code_of_its_own():
    """Rows without a term are never read, so what their code reads as is no matter; that it counts as 0 is."""
    own = CODES
    table = column_addition_in_other_codes(3)
    assert table.outputs[own] == PAD
    table = dataclasses.replace(table, outputs=(*table.outputs[:own], FIRST_DIGIT + 7, *table.outputs[own + 1 :]))
    assert prove(table).proved
    assert solve(table, ("95", "7", "0")).answer == "102"
    assert not prove(changed(table, {(3, None, None, own): code(4, 0)})).proved


def test_a_code_may_mean_one_thing_over_a_number_and_another_over_a_blank():
    table = column_addition_with_two_meanings()
    proof = prove(table)
    assert proof.proved, proof.failures[:3]
    taken = {(EMPTY_CELL, None, code(1, 1), BLANK): RULE.steps[EMPTY_CELL, :, code(1, 1), BLANK]}
    assert not prove(changed(table, taken)).proved, "its left neighbour takes a carry from it"


NEVER = [(EMPTY_CELL, code(5, 0), BLANK), (0, BLANK, ZERO), (0, code(0, 1), BLANK)]


@pytest.mark.parametrize(("x", "left", "below"), NEVER)
def test_what_never_stands_at_rest_must_still_be_one_thing_for_a_class(x, left, below):
    """In the combinations that the argument leaves out, a zero may be shown or not, but not by the right's
    code: this is rest with a number to the left, or with a blank."""
    zeros = [(x, left, right, below) for right in (BLANK, ZERO)]
    other = {entry: ZERO if RULE.steps[entry] == BLANK else BLANK for entry in zeros}
    assert prove(changed(RULE, other)).proved
    assert conditions(prove(changed(RULE, {zeros[0]: other[zeros[0]]}))) == {"rest"}


def test_a_rule_that_never_rests_beside_a_number_is_not_proved():
    """Two codes of a zero that mean and read the same: in 500 the tens take the one that the units have not, and the
    units follow the tens. Every step reads as 500, and no step is the last."""
    twin, side = CODES, CODES + 2
    same = np.array([*range(CODES), ZERO, OUTSIDE])
    steps = RULE.steps[:, same][:, :, same][:, :, :, same]
    numbers = tuple(number for number in NUMBERS if number != ZERO)
    steps[0, numbers, ZERO, BLANK], steps[0, numbers, twin, BLANK] = twin, ZERO
    steps[0, twin, side - 1, BLANK] = twin
    table = RuleTable(RULE.bits, (*RULE.states, 63), steps, (*RULE.outputs, FIRST_DIGIT), RULE.actions)
    assert solve(table, ("500",)).capped
    assert conditions(prove(table)) == {"rest"}
    follows = {(0, numbers, right, BLANK): ZERO for right in (ZERO, twin)}
    assert prove(changed(table, follows)).proved, "it rests where the tens do not look at the units"


@pytest.mark.parametrize("seed", range(5))
def test_a_rule_without_sense_is_not_proved(seed):
    assert not prove(random_table(1 + seed, seed)).proved


# What states mean comes from what a rule does: other patterns and more codes do not hide column addition.


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
    meaning = meaning_of(changed(RULE, entries))
    assert meaning.wrong
    assert (8, 0) in meaning.sums[3, 4, 0]
