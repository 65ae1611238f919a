"""What the states of a rule mean: what the check of its proof says of them, and what a column becomes."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from gridsum.automaton.proof import TERM_KINDS, check_of, find_certificate
from gridsum.automaton.table import RuleTable


class Sum(NamedTuple):
    """A digit, with a carry or without: what a state stands for, and what a column adds up to."""

    digit: int
    carry: int


@dataclass(frozen=True)
class State:
    number: int
    pattern: int
    value: Sum | None
    """Of a state that reads as a digit, and has one carry wherever it stands."""
    meaning: str


@dataclass(frozen=True)
class CarryBit:
    """A bit that tells the carry in every state of a digit, and its value where there is a carry."""

    bit: int
    on: int


@dataclass(frozen=True)
class Meaning:
    base: int
    states: tuple[State, ...]
    carry_bits: tuple[CarryBit, ...]
    sums: dict[tuple[int, int, int], set[Sum]]
    """(own symbol, digit below, carry from the right) → what the cell becomes, whatever else it sees; a blank is 0."""
    cases: dict[tuple[int, int, int], Sum]
    """Own digit, digit below, carry from the right → what the task's columns do."""

    @property
    def wrong(self) -> int:
        """In how many cases a cell does not become what it should."""
        return sum(self.sums.get(case) != {wanted} for case, wanted in self.cases.items())


def meaning_of(table: RuleTable) -> Meaning:
    known, base = find_certificate(table), table.task.alphabet.base
    check = check_of(table, known)
    carries: defaultdict[int, set[int]] = defaultdict(set)
    for kind in TERM_KINDS:
        for state, (_, carry) in known.meaning_of[kind].items():
            carries[state].add(carry)
    sums: defaultdict[tuple[int, int, int], set[Sum]] = defaultdict(set)
    for place, kind, context, _, _ in check.cells():
        if not place.first:
            for state in set(check.after(context)):
                found = Sum(check.reads[state] or 0, known.meaning_of[kind][state][1])
                sums[context[0], place.below or 0, place.carry].add(found)

    def state_of(number: int, pattern: int) -> State:
        reads, found = check.reads[number], carries[number]
        if not found:
            return State(number, pattern, None, "empty row" if number in known.ground | known.corner else "on the way")
        if reads is None:
            return State(number, pattern, None, "blank" if found == {0} else "blank, carry 1")
        carry = min(found) if len(found) == 1 else None
        value = Sum(reads, carry) if reads < base and carry in (0, 1) else None
        kind = "digit" if reads < base else "reads"
        told = f"{kind} {table.text(number)}, carry {'?' if carry is None else carry}"
        return State(number, pattern, value, told)

    states = tuple(state_of(number, pattern) for number, pattern in enumerate(table.states))
    column = check.rule.row.column
    every = ((case, column(*case)) for case in product(range(base), range(base), (0, 1)))
    cases: dict[tuple[int, int, int], Sum] = {case: Sum(*wanted) for case, wanted in every if wanted is not None}
    return Meaning(base, states, _carry_bits(table.bits, states, base), dict(sums), cases)


def _carry_bits(bits: int, states: tuple[State, ...], base: int) -> tuple[CarryBit, ...]:
    valued = {state.pattern: state.value for state in states if state.value is not None}
    if len(set(valued.values())) < 2 * base:
        return ()
    found = []
    for bit in range(bits):
        off, on = ({pattern >> bit & 1 for pattern in valued if valued[pattern].carry == carry} for carry in (0, 1))
        if len(off) == len(on) == 1 and off != on:
            found.append(CarryBit(bit, on.pop()))
    return tuple(found)
