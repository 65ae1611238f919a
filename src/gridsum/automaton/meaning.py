"""What the states of a rule mean, found out from what the rule does.

Sums are worked out until rest. Then every cell shows a window: its symbol, the states of its left, right and lower
neighbour, and its own state. A state's digit is what it reads as. Its carry is what the cell to its left has more than
that cell's own symbol and the digit below it, the same wherever the state stands; a blank counts as 0. The lowest row
holds no term and is never read, so a state that stands only there counts as blank, whatever it would read as.
"""

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from gridsum.automaton.run import Run, most_steps
from gridsum.automaton.table import RuleTable
from gridsum.tasks import FIRST_DIGIT, PAD
from gridsum.tasks.alphabet import LETTERS

_LONG, _SHORT = 4, 400
"""How many long and short sums are worked out."""
STEPS = 2000
"""After which a sum counts as restless: its carry may cross all 1,500 columns of a long one."""


class Window(NamedTuple):
    """What a cell and its neighbours hold at rest."""

    symbol: int
    left: int
    right: int
    below: int
    own: int


class Sum(NamedTuple):
    """A digit, with a carry or without: what a state stands for, and what a column adds up to."""

    digit: int
    carry: int


@dataclass(frozen=True)
class State:
    """One state and what it means."""

    number: int
    pattern: int
    reads: str
    """A digit, a blank (·), or another symbol."""
    seen: bool
    """Whether it stands anywhere at rest; if not, it occurs only on the way there."""
    below_only: bool
    """Whether it stands at rest only in the lowest row, which holds no term."""
    carry: int | None
    """None where the cells to its left do not agree, or never show it."""

    @property
    def digit(self) -> int | None:
        return LETTERS.index(self.reads) if self.reads in LETTERS and not self.below_only else None

    @property
    def value(self) -> Sum | None:
        """Its digit and carry, if it has both."""
        return None if self.digit is None or self.carry is None or not self.seen else Sum(self.digit, self.carry)

    @property
    def meaning(self) -> str:
        if not self.seen:
            return "on the way"
        if self.below_only:
            return "empty row"
        if self.reads == "·":
            return "blank" if not self.carry else "blank, carry 1"
        carry = "carry ?" if self.carry is None else f"carry {self.carry}"
        return f"digit {self.reads}, {carry}" if self.digit is not None else f"reads {self.reads!r}, {carry}"


@dataclass(frozen=True)
class CarryBit:
    """The bit that tells the carry in every state of a digit."""

    bit: int
    on: int
    """The value of the bit where there is a carry."""
    alone: bool
    """Whether (d, 0) and (d, 1) differ in nothing else, for every d."""


@dataclass(frozen=True)
class Meaning:
    states: tuple[State, ...]
    carry_bits: tuple[CarryBit, ...]
    sums: dict[tuple[int, int, int], frozenset[Sum]]
    """(own symbol, digit below, carry from the right) → what the cell was seen to hold; a blank is 0 without carry."""
    windows: int
    """How many different windows were seen at rest."""
    sums_shown: int
    restless: int
    """How many of the sums did not come to rest within STEPS."""
    base: int

    @property
    def wrong(self) -> int:
        """In how many of the cases of two digits and a carry a cell was not always seen to hold their sum."""
        return sum(self.sums.get(case) != {_column(case, self.base)} for case in self.cases)

    @property
    def cases(self) -> list[tuple[int, int, int]]:
        """Own digit, digit below, carry from the right."""
        return list(product(range(self.base), range(self.base), (0, 1)))

    @property
    def is_addition(self) -> bool:
        return self.wrong == 0

    @property
    def others_are_zero(self) -> bool:
        """Whether a cell with a `+`, or with nothing, was always seen to hold the digit below and the carry alone."""
        others = {(below, carry): found for (x, below, carry), found in self.sums.items() if x >= self.base}
        return all(found == {_column(case, self.base)} for case, found in others.items())


def _column(parts: tuple[int, ...], base: int) -> Sum:
    """What a column of these adds up to."""
    return Sum(sum(parts) % base, sum(parts) // base)


def meaning_of(table: RuleTable, seed: int = 0) -> Meaning:
    windows: set[Window] = set()
    lowest: set[int] = set()
    restless = 0
    base = table.task.alphabet.base
    examples = list(_examples(random.Random(seed), table.task.alphabet.digits))
    for terms in examples:
        run = Run(table, terms)
        run.advance(min(STEPS, most_steps(run.size)))
        if run.at_rest:
            windows |= windows_at_rest(table, run)
            lowest |= set(run.grid[-1].tolist())
        else:
            restless += 1
    at_rest = {window.own for window in windows}
    values = _values(table, lowest - at_rest)
    carries = _carries(values, windows, base)
    states = tuple(
        State(
            number,
            pattern,
            table.text(number),
            number in at_rest | lowest,
            number in lowest - at_rest,
            carries.get(number),
        )
        for number, pattern in enumerate(table.states)
    )
    sums = _sums(values, carries, windows)
    return Meaning(states, _carry_bits(table.bits, states, base), sums, len(windows), len(examples), restless, base)


def windows_at_rest(table: RuleTable, run: Run) -> set[Window]:
    """What the cells of all rows but the lowest show."""
    states = np.pad(run.grid, ((0, 0), (1, 1)), constant_values=table.outside)
    parts = (run.symbols[:-1], states[:-1, :-2], states[:-1, 2:], states[1:, 1:-1], states[:-1, 1:-1])
    rows = np.unique(np.stack([part.reshape(-1) for part in parts], 1), axis=0)
    return {Window(*row) for row in rows.tolist()}


def _examples(chance: random.Random, digits: str) -> Iterator[tuple[str, ...]]:
    """Long sums, which show every column of digits many times, and short ones, which show how numbers begin and end."""
    for _ in range(_LONG):
        yield tuple("".join(chance.choices(digits, k=1500)) for _ in range(6))
    for _ in range(_SHORT):
        letters = chance.choice((digits, digits, digits[0] + digits[-1], digits[0]))
        yield tuple("".join(chance.choices(letters, k=chance.randint(1, 6))) for _ in range(chance.randint(1, 5)))


def _values(table: RuleTable, unread: set[int]) -> dict[int, int]:
    """What each state adds to the column above it; not those that read as neither a digit nor a blank."""
    values = dict.fromkeys(unread | {table.outside}, 0)
    for state, symbol in enumerate(table.reading):
        if symbol == PAD or FIRST_DIGIT <= symbol < table.task.alphabet.sign_code:
            values.setdefault(state, 0 if symbol == PAD else symbol - FIRST_DIGIT)
    return values


def _carries(values: dict[int, int], windows: set[Window], base: int) -> dict[int, int]:
    seen: defaultdict[int, set[int | None]] = defaultdict(set)
    for window in windows:
        known = window.own in values and window.below in values
        more = (values[window.own] - values[window.below] - _own_digit(window, base)) % base if known else None
        seen[window.right].add(more)
    return {state: more for state, (more, *others) in seen.items() if more is not None and more < 2 and not others}


def _own_digit(window: Window, base: int) -> int:
    return window.symbol if window.symbol < base else 0


def _sums(
    values: dict[int, int], carries: dict[int, int], windows: set[Window]
) -> dict[tuple[int, int, int], frozenset[Sum]]:
    found: defaultdict[tuple[int, int, int], set[Sum]] = defaultdict(set)
    for window in windows:
        # A state that never stands to the right of a cell has shown no carry, and is left out.
        if {window.below, window.own} <= values.keys() and {window.right, window.own} <= carries.keys():
            case = window.symbol, values[window.below], carries[window.right]
            found[case].add(Sum(values[window.own], carries[window.own]))
    return {case: frozenset(sums) for case, sums in found.items()}


def _carry_bits(bits: int, states: tuple[State, ...], base: int) -> tuple[CarryBit, ...]:
    patterns: defaultdict[Sum, set[int]] = defaultdict(set)
    for state in states:
        if state.value is not None:
            patterns[state.value].add(state.pattern)
    if not all(Sum(digit, carry) in patterns for digit in range(base) for carry in (0, 1)):
        return ()
    carry_bits = []
    for bit in range(bits):
        values = [
            {pattern >> bit & 1 for value, found in patterns.items() if value.carry == carry for pattern in found}
            for carry in (0, 1)
        ]
        if len(values[0]) == len(values[1]) == 1 and values[0] != values[1]:
            alone = all(
                {pattern ^ 1 << bit for pattern in patterns[Sum(digit, 0)]} == patterns[Sum(digit, 1)]
                for digit in range(base)
            )
            carry_bits.append(CarryBit(bit, values[1].pop(), alone))
    return tuple(carry_bits)
