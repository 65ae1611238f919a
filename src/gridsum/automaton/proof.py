"""Whether a rule adds any number of terms of any length: every condition of the induction, by enumeration.

`docs/proof.md` gives the argument. This file knows addition; training and consolidation do not.

Rows come to rest from the lowest up, cells of a row from right to left (their digit and carry), then from left to
right (whether a zero leads). What a code means, a digit d and a carry c, depends on what its cell holds: a digit, a `+`
or nothing (its kind). C(kind, d, c) are the codes that mean (d, c) there. They are found on the way: a context whose
right and lower neighbour have a meaning gives one to what follows.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from gridsum.automaton.table import CELL_SYMBOLS, EMPTY_CELL, PLUS_CELL, TEN, RuleTable
from gridsum.symbols import ALPHABET, EQUALS, FIRST_DIGIT, PAD, PLUS

DIGIT_KIND, PLUS_KIND, EMPTY_KIND = range(3)
PUSH, OPEN, SKIP = 0, 1, 2
_MOST_FAILURES = 200

Context = tuple[int, int, int]
"""Own symbol, right, below."""


class Steps(Protocol):
    """A rule that can be enumerated: numbers of codes from 0, `outside` after the last."""

    outside: int
    reading: tuple[int, ...]
    actions: tuple[int, ...]

    def after(self, x: np.ndarray, left: np.ndarray, right: np.ndarray, below: np.ndarray) -> np.ndarray:
        """The codes after one step in these contexts."""
        ...


class TableSteps:
    """The rule of a table."""

    def __init__(self, table: RuleTable) -> None:
        self.table, self.outside = table, table.outside
        self.reading, self.actions = table.reading, table.actions

    def after(self, x: np.ndarray, left: np.ndarray, right: np.ndarray, below: np.ndarray) -> np.ndarray:
        return self.table.steps[x, left, right, below].astype(np.int64)


@dataclass(frozen=True)
class Failure:
    """A condition that does not hold, in one context."""

    condition: str
    x: int
    left: int
    right: int
    below: int
    code: int
    wanted: str

    def __str__(self) -> str:
        symbol = CELL_SYMBOLS[self.x] if self.x != EMPTY_CELL else "nothing"
        return (
            f"{self.condition}: a cell with {symbol}, left {self.left}, right {self.right}, below {self.below} "
            f"goes to code {self.code}, not to {self.wanted}"
        )


@dataclass
class Proof:
    """What the enumeration found."""

    failures: list[Failure] = field(default_factory=list)
    contexts: int = 0
    evaluations: int = 0
    meanings: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """(kind, code) → (digit, carry)."""
    after: dict[Context, np.ndarray] = field(default_factory=dict)
    """What follows each context, for every left neighbour."""

    @property
    def proved(self) -> bool:
        return not self.failures

    @property
    def codes(self) -> list[int]:
        return sorted({code for _, code in self.meanings})


def kind_of(x: int) -> int:
    return DIGIT_KIND if x < TEN else PLUS_KIND if x == PLUS_CELL else EMPTY_KIND


def check_placement(actions: tuple[int, ...]) -> list[Failure]:
    """Condition 3: digits are written, `+` opens a row, the rest is skipped."""
    wanted = {symbol: PUSH for symbol in range(FIRST_DIGIT, FIRST_DIGIT + TEN)} | {PLUS: OPEN, EQUALS: SKIP, PAD: SKIP}
    names = ("written", "a new row", "skipped")
    return [
        Failure(f"placement of {ALPHABET[symbol]!r}", EMPTY_CELL, -1, -1, -1, actions[symbol], names[action])
        for symbol, action in wanted.items()
        if actions[symbol] != action
    ]


def prove(rule: Steps, report: Callable[[str], None] = lambda _: None) -> Proof:
    """Enumerate every condition."""
    proof = Proof(check_placement(rule.actions))
    enumeration = _Enumeration(rule, proof)
    enumeration.digits()
    report(f"digits and carries: {proof.contexts} contexts, {proof.evaluations} evaluations")
    if proof.proved:
        enumeration.blanks()
        report("leading zeros, readings and rest")
    return proof


class _Enumeration:
    """The codes that mean something so far, and what follows each context for every left neighbour."""

    def __init__(self, rule: Steps, proof: Proof) -> None:
        self.rule, self.proof = rule, proof
        self.lefts = np.arange(rule.outside + 1)
        self.classes: dict[tuple[int, int, int], set[int]] = defaultdict(set)
        self.after = proof.after
        self.value: dict[Context, int] = {}

    def members(self, kinds: tuple[int, ...], digit: int, carry: int) -> set[int]:
        return set().union(*(self.classes[kind, digit, carry] for kind in kinds))

    def blank(self, code: int) -> bool:
        return self.rule.reading[code] == PAD

    def resting(self) -> tuple[set[int], dict[int, set[int]]]:
        """The codes that can stand below at rest: the blank ones, and those of a number with their digits."""
        blank, numbers = set(), defaultdict(set)
        for (_, code), (digit, carry) in self.proof.meanings.items():
            if self.blank(code):
                if (digit, carry) == (0, 0):
                    blank.add(code)
            elif self.rule.reading[code] == FIRST_DIGIT + digit:
                numbers[code].add(digit)
        return blank, numbers

    def feasible(self) -> Iterator[tuple[Context, int]]:
        """Contexts whose right and lower neighbour are right, as far as meanings are known, and the sum of the column.

        x + the digit below + the carry from the right.
        """
        outside, every = self.rule.outside, range(TEN)
        blank, numbers = self.resting()
        nothing = self.members((EMPTY_KIND,), 0, 0)
        single = {code for digit in every for code in self.members((DIGIT_KIND,), digit, 0)}
        for below in (outside, *blank):  # rows without a term, the lowest of which has nothing below
            yield from (((EMPTY_CELL, right, below), 0) for right in (outside, *nothing))
        for below in blank:  # the first term, with an empty row below: no carries, and no `+` before it
            for x in every:
                yield from (((x, right, below), x) for right in (outside, *single))
            yield from (((EMPTY_CELL, right, below), 0) for right in (*single, *nothing))
        under = [(code, digit) for code, digits in numbers.items() for digit in digits] + [(code, 0) for code in blank]
        for below, digit in under:  # every other term
            if not self.blank(below):
                yield from (((x, outside, below), x + digit) for x in every)
            for carry in (0, 1):
                for beside in every:
                    for right in self.members((DIGIT_KIND,), beside, carry):
                        yield from (((x, right, below), x + digit + carry) for x in every)
                        yield (PLUS_CELL, right, below), digit + carry
                    for right in self.members((PLUS_KIND, EMPTY_KIND), beside, carry):
                        yield (EMPTY_CELL, right, below), digit + carry

    def digits(self) -> None:
        """Conditions 1 and 4: with any left neighbour, a cell goes to a code that means its digit and carry."""
        while len(self.proof.failures) < _MOST_FAILURES:
            fresh = {}
            for context, value in self.feasible():
                if self.value.get(context, value) != value or fresh.get(context, value) != value:
                    one, other = self.value.get(context, fresh.get(context)), value
                    self._fail("digits", context, self.rule.outside, -1, f"both {one} and {other}")
                elif context not in self.value:
                    fresh[context] = value
            if not fresh or self.proof.failures:
                break
            self.value |= fresh
            self._evaluate(list(fresh))
            for context, value in fresh.items():
                self._give_meaning(context, (value % TEN, value // TEN))
        self.proof.contexts = len(self.value)

    def _evaluate(self, contexts: list[Context]) -> None:
        count = len(self.lefts)
        x, right, below = (np.repeat(part, count) for part in np.array(contexts).T)
        after = self.rule.after(x, np.tile(self.lefts, len(contexts)), right, below).reshape(-1, count)
        self.proof.evaluations += after.size
        self.after.update(zip(contexts, after, strict=True))

    def _give_meaning(self, context: Context, meaning: tuple[int, int]) -> None:
        kind = kind_of(context[0])
        for code in np.unique(self.after[context]).tolist():
            known = self.proof.meanings.setdefault((kind, code), meaning)
            self.classes[kind, *meaning].add(code)
            if known != meaning:
                left = int(np.flatnonzero(self.after[context] == code)[0])
                wanted = f"{meaning[0]} with carry {meaning[1]}: the code means {known[0]} with carry {known[1]}"
                self._fail("digits", context, left, code, wanted)

    def blanks(self) -> None:
        """Condition 2: a row comes to rest from left to right, and reads as its number without leading zeros."""
        outside = self.rule.outside
        blank, numbers = self.resting()
        blank_left, number_left = sorted(blank), sorted(numbers)
        same: dict[tuple[int, tuple[int, int, int], int], tuple[Context, tuple[int, ...]]] = {}
        for context, value in self.value.items():
            x, right, below = context
            after = self.after[context]
            # Grids have at least two columns more than the longest term: the first column holds nothing.
            nothing_left = [outside, *blank_left] if x == EMPTY_CELL else blank_left
            at_rest = nothing_left + number_left
            if right != outside:
                for kind in range(3):
                    meaning = self.proof.meanings.get((kind, right))
                    if meaning is not None:
                        became = tuple(after[at_rest].tolist())
                        first = same.setdefault((x, (kind, *meaning), below), (context, became))
                        if first[1] != became:
                            self._fail("rest", context, outside, became[0], f"the same as with right {first[0][1]}")
            if value != 0:
                self._read(context, at_rest, value % TEN)
            elif right == outside:
                self._read(context, nothing_left if x == EMPTY_CELL else at_rest, None if x == EMPTY_CELL else 0)
            else:
                number_below = below != outside and not self.blank(below)
                if not number_below:
                    self._read(context, nothing_left, None)
                if x == 0 or number_below:
                    self._read(context, number_left, 0)

    def _read(self, context: Context, lefts: list[int], digit: int | None) -> None:
        """With these left neighbours the cell must read as this digit, or as blank."""
        symbol = PAD if digit is None else FIRST_DIGIT + digit
        for left in lefts:
            code = int(self.after[context][left])
            if self.rule.reading[code] != symbol:
                self._fail("reading", context, left, code, "a blank" if digit is None else f"one that reads {digit}")

    def _fail(self, condition: str, context: Context, left: int, code: int, wanted: str) -> None:
        x, right, below = context
        self.proof.failures.append(Failure(condition, x, left, right, below, code, wanted))
