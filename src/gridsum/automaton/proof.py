"""Whether a rule adds any number of terms of any length: every condition of the induction, by enumeration.

`docs/proof.md` gives the argument. This file knows addition; training and consolidation do not.

Rows come to rest from the lowest up, cells of a row from right to left (their digit and carry), then from left to
right (whether a zero leads). What a code means, a digit d and a carry c, depends on the kind of its cell. C(kind, d, c)
are the codes that mean (d, c) there. They are found on the way: a context whose right and lower neighbour have a
meaning gives one to what follows.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from gridsum.automaton.table import RuleTable
from gridsum.tasks import FIRST_DIGIT, PAD, Alphabet

DIGIT, PLUS, EMPTY, LOW_DIGIT, LOW_PLUS, LOW_EMPTY, GROUND = range(7)
"""Kinds of cells: with a digit, with a `+`, with nothing left of a term. Each over a number, or low: over a blank or
the ground, as then are all cells further left. The ground is the lowest row, which holds no term."""
PUSH, OPEN, SKIP = 0, 1, 2

Context = tuple[int, int, int]
"""Own symbol, right, below."""


@dataclass(frozen=True)
class Failure:
    """A condition that does not hold, in one context."""

    condition: str
    symbol: str
    """What the cell holds."""
    left: int
    right: int
    below: int
    code: int
    wanted: str

    def __str__(self) -> str:
        return (
            f"{self.condition}: a cell with {self.symbol}, left {self.left}, right {self.right}, below {self.below} "
            f"goes to code {self.code}, not to {self.wanted}"
        )


@dataclass
class Proof:
    """What the enumeration found."""

    failures: list[Failure] = field(default_factory=list)
    contexts: int = 0
    evaluations: int = 0
    meanings: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict, repr=False)
    """(kind, code) → (digit, carry)."""
    after: dict[Context, np.ndarray] = field(default_factory=dict, repr=False)
    """What follows each context, for every left neighbour."""

    @property
    def proved(self) -> bool:
        return not self.failures

    @property
    def codes(self) -> list[int]:
        return sorted({code for _, code in self.meanings})


def check_placement(actions: tuple[int, ...], alphabet: Alphabet) -> list[Failure]:
    """Condition 3: digits are written, `+` opens a row, the rest is skipped."""
    wanted = {symbol: PUSH for symbol in range(FIRST_DIGIT, alphabet.sign_code)}
    wanted |= {alphabet.sign_code: OPEN, alphabet.equals_code: SKIP, PAD: SKIP}
    names = ("written", "a new row", "skipped")
    return [
        Failure(f"placement of {alphabet.symbols[symbol]!r}", "nothing", -1, -1, -1, actions[symbol], names[action])
        for symbol, action in wanted.items()
        if actions[symbol] != action
    ]


def prove(table: RuleTable) -> Proof:
    """Enumerate every condition."""
    proof = Proof(check_placement(table.actions, table.task.alphabet))
    enumeration = _Enumeration(table, proof)
    enumeration.digits()
    if proof.proved:
        enumeration.blanks()
    return proof


class _Enumeration:
    """The codes that mean something so far, and what follows each context for every left neighbour."""

    def __init__(self, table: RuleTable, proof: Proof) -> None:
        self.table, self.proof = table, proof
        alphabet = table.task.alphabet
        self.base, self.plus, self.empty = alphabet.base, alphabet.sign_cell, alphabet.empty_cell
        self.classes: dict[tuple[int, int, int], set[int]] = defaultdict(set)
        self.after = proof.after
        self.value: dict[Context, int] = {}
        self.kinds: dict[Context, set[int]] = defaultdict(set)
        """Of the cells that a context can be of."""
        self.same: dict[tuple[int, tuple[int, int, int], int], tuple[int, tuple[int, ...]]] = {}
        """What follows a cell, the meaning to its right and the code below: the first code there, and its followers."""
        self.ground: set[int] = set()
        """The codes that can stand at rest in the row without a term, but for its last column."""
        self.corner: set[int] = set()
        """Those of its last column."""

    def members(self, kinds: tuple[int, ...], digit: int, carry: int) -> set[int]:
        return set().union(*(self.classes[kind, digit, carry] for kind in kinds))

    def resting(self) -> tuple[set[int], dict[int, set[int]]]:
        """The codes that can stand at rest in a term's row: the blank ones, and those of a number with their digits."""
        blank, numbers = set(), defaultdict(set)
        for (kind, code), (digit, carry) in self.proof.meanings.items():
            if kind != GROUND:
                if self.table.reading[code] == FIRST_DIGIT + digit:
                    numbers[code].add(digit)
                elif self.table.reading[code] == PAD and (digit, carry) == (0, 0):
                    blank.add(code)
        return blank, numbers

    def feasible(self) -> Iterator[tuple[int, Context, int]]:
        """Contexts whose right and lower neighbour are right, as far as meanings are known: kind, context, value.

        The value is x + the digit below + the carry from the right.
        """
        outside, every = self.table.outside, range(self.base)
        blank, numbers = self.resting()
        for right in (outside, *self.members((GROUND,), 0, 0)):  # the row without a term, which is the lowest
            yield GROUND, (self.empty, right, outside), 0
        nothing = self.members((LOW_EMPTY,), 0, 0)
        single = {code for digit in every for code in self.members((LOW_DIGIT,), digit, 0)}
        for below in self.corner:  # the first term, which stands on it: no carries, and no `+` before it
            yield from ((LOW_DIGIT, (x, outside, below), x) for x in every)
        for below in self.ground:
            yield from ((LOW_DIGIT, (x, right, below), x) for x in every for right in single)
            yield from ((LOW_EMPTY, (self.empty, right, below), 0) for right in (*single, *nothing))
        for below, digits in numbers.items():  # every other term, over a number
            for digit in digits:
                yield from ((DIGIT, (x, outside, below), x + digit) for x in every)
                yield from self._inside((DIGIT, PLUS, EMPTY), (), below, digit)
        for below in blank:  # and over a blank
            yield from self._inside((LOW_DIGIT, LOW_PLUS, LOW_EMPTY), (DIGIT, PLUS, EMPTY), below, 0)

    def _inside(
        self, own: tuple[int, int, int], other: tuple[int, ...], below: int, digit: int
    ) -> Iterator[tuple[int, Context, int]]:
        """Cells of these kinds, not in the last column. The cell to the right is of the same kinds, or of the other."""
        with_digit, with_plus, with_nothing = own
        for carry in (0, 1):
            for beside in range(self.base):
                for right in self.members((with_digit, *other[:1]), beside, carry):
                    yield from ((with_digit, (x, right, below), x + digit + carry) for x in range(self.base))
                    yield with_plus, (self.plus, right, below), digit + carry
                for right in self.members((with_plus, with_nothing, *other[1:]), beside, carry):
                    yield with_nothing, (self.empty, right, below), digit + carry

    def digits(self) -> None:
        """Conditions 1 and 4: with any left neighbour, a cell goes to a code that means its digit and carry."""
        while not self.proof.failures:
            fresh: list[tuple[int, Context]] = []
            for kind, context, value in self.feasible():
                known = self.value.setdefault(context, value)
                if known != value:
                    self._fail("digits", context, self.table.outside, -1, f"both {known} and {value}")
                elif kind not in self.kinds[context]:
                    self.kinds[context].add(kind)
                    fresh.append((kind, context))
            if not fresh or self.proof.failures:
                break
            self._evaluate([context for context in dict.fromkeys(c for _, c in fresh) if context not in self.after])
            for kind, context in fresh:
                self._give_meaning(kind, context, (self.value[context] % self.base, self.value[context] // self.base))
            self._settle_ground()
        self.proof.contexts = len(self.value)

    def _settle_ground(self) -> None:
        """What the row without a term comes to, from left to right."""
        contexts = [context for context, kinds in self.kinds.items() if GROUND in kinds]
        size = -1
        while size != len(self.ground):
            size = len(self.ground)
            for context in contexts:
                if context[1] != self.table.outside:
                    self.ground |= set(self.after[context][[self.table.outside, *self.ground]].tolist())
        for context in contexts:
            if context[1] == self.table.outside:
                self.corner |= set(self.after[context][[*self.ground]].tolist())

    def _evaluate(self, contexts: list[Context]) -> None:
        for x, right, below in contexts:
            self.after[x, right, below] = self.table.steps[x, :, right, below]
        self.proof.evaluations += len(contexts) * (self.table.outside + 1)

    def _give_meaning(self, kind: int, context: Context, meaning: tuple[int, int]) -> None:
        for code in np.unique(self.after[context]).tolist():
            known = self.proof.meanings.setdefault((kind, code), meaning)
            self.classes[kind, *meaning].add(code)
            if known != meaning:
                left = int(np.flatnonzero(self.after[context] == code)[0])
                wanted = f"{meaning[0]} with carry {meaning[1]}: the code means {known[0]} with carry {known[1]}"
                self._fail("digits", context, left, code, wanted)

    def blanks(self) -> None:
        """Condition 2: a row comes to rest from left to right, and reads as its number without leading zeros."""
        outside = self.table.outside
        blank, numbers = self.resting()
        ground = [outside, *sorted(self.ground)]
        low = {code for (kind, code), (_, carry) in self.proof.meanings.items() if kind == LOW_DIGIT and not carry}
        for context, value in self.value.items():
            x, right, below = context
            # Grids have at least two columns more than the longest term: the first column holds nothing.
            nothing_left = [outside, *sorted(blank)] if x == self.empty else sorted(blank)
            number_left = sorted(numbers)
            kinds = self.kinds[context]
            if GROUND in kinds:
                self._rests(context, (GROUND,), ground)
            if kinds == {GROUND}:
                continue  # nobody reads a row without a term
            beside = tuple(range(GROUND)) if x == self.empty else (DIGIT, LOW_DIGIT)
            self._rests(context, beside, nothing_left + number_left)
            if value != 0 or right == outside:
                self._read(context, nothing_left + number_left, value % self.base)
                continue
            if below in self.ground or below in blank:
                self._read(context, nothing_left, None)
                if x == 0:  # all to its left is low, and it gives no carry
                    self._read(context, sorted(low & set(numbers)), 0)
            if below in numbers:
                self._read(context, number_left, 0)

    def _rests(self, context: Context, beside: tuple[int, ...], lefts: list[int]) -> None:
        """With these left neighbours, what follows hangs on the meaning of the right neighbour, not on its code."""
        x, right, below = context
        became = tuple(self.after[context][lefts].tolist())
        for kind in beside:
            meaning = self.proof.meanings.get((kind, right))
            if meaning is not None:
                first = self.same.setdefault((x, (kind, *meaning), below), (right, became))
                for left, before, now in zip(lefts, first[1], became, strict=True):
                    if before != now:
                        self._fail("rest", context, left, now, f"the same as with right {first[0]}")
                        break

    def _read(self, context: Context, lefts: list[int], digit: int | None) -> None:
        """With these left neighbours the cell must read as this digit, or as blank."""
        symbol = PAD if digit is None else FIRST_DIGIT + digit
        for left in lefts:
            code = int(self.after[context][left])
            if self.table.reading[code] != symbol:
                self._fail("reading", context, left, code, "a blank" if digit is None else f"one that reads {digit}")

    def _fail(self, condition: str, context: Context, left: int, code: int, wanted: str) -> None:
        x, right, below = context
        holds = "nothing" if x == self.empty else self.table.task.alphabet.cell_symbols[x]
        self.proof.failures.append(Failure(condition, holds, left, right, below, code, wanted))
