"""A second checker of the theorem in docs/proof.md, written from that page and from the file format of a rule alone.

It shares no code with `gridsum.automaton.proof`: plain loops over what a cell can hold and see, from the lowest row
up. `wrong_small_sum` uses no induction at all: it steps whole grids and compares their top rows with Python's integers.
"""

import itertools
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from gridsum.automaton.table import RuleTable
from gridsum.tasks import FIRST_DIGIT, PAD
from tests.oracles.column_addition import ADD, column_addition, place_slowly

DIGIT, PLUS, NOTHING = "digit", "plus", "nothing"
Kind = tuple[bool, str]
"""Whether a cell is low (it stands over a blank or the ground, as all cells to its left then do), and what it holds."""
HOLDS = (DIGIT, PLUS, NOTHING)
BESIDE = ((DIGIT, DIGIT), (PLUS, DIGIT), (NOTHING, DIGIT), (NOTHING, PLUS), (NOTHING, NOTHING))
"""What a cell holds, and its right neighbour."""
PAIRS: tuple[tuple[Kind, Kind | None], ...] = (
    *(((low, DIGIT), None) for low in (False, True)),
    *(
        ((low, holds), (right_low, right))
        for holds, right in BESIDE
        for low, right_low in ((False, False), (True, False), (True, True))
    ),
)
"""A cell's kind, and its right neighbour's; None at the border."""


class Cell(NamedTuple):
    """A cell of a term's row, above a row at rest and beside a cell that is right."""

    kind: Kind
    right_kind: Kind | None
    x: int
    right: int
    below: int
    value: int
    """Its own digit, the one below and what is carried."""


class Verdict(NamedTuple):
    condition: str = ""
    """`placement`, `digits`, `rest` or `reading`: the first condition with a counterexample."""
    counterexample: tuple[int, int, int, int] | None = None
    """x, left, right, below."""

    @property
    def proved(self) -> bool:
        return not self.condition


class _Checker:
    def __init__(self, table: RuleTable) -> None:
        self.base, self.outside = table.task.alphabet.base, table.outside
        self.after: list[list[list[list[int]]]] = table.steps.transpose(0, 2, 3, 1).tolist()
        """By symbol, right and below, for every left neighbour."""
        self.reads = [None if symbol == PAD else symbol - FIRST_DIGIT for symbol in table.outputs]
        self.meaning: dict[Kind, dict[int, tuple[int, int]]] = {(low, h): {} for low in (False, True) for h in HOLDS}
        """For each kind, code → (digit, carry)."""
        self.classed, self.ground, self.corner = set[int](), set[int](), set[int]()
        """Codes of the lowest row; those at rest there; those at rest in its last column."""

    def settle_lowest_row(self) -> None:
        lowest, size = self.after[self.base + 1], -1
        while size != len(self.classed) + len(self.ground) + len(self.corner):
            size = len(self.classed) + len(self.ground) + len(self.corner)
            for right in [self.outside, *self.classed]:
                after = lowest[right][self.outside]
                self.classed.update(after)
                if right == self.outside:
                    self.corner.update(after[left] for left in self.ground)
                else:
                    self.ground.update(after[left] for left in (self.outside, *self.ground))

    def settle_classes(self) -> Verdict | None:
        """What codes mean that cells come to, with any left neighbour. One of two meanings in a kind ends it."""
        before, known = -1, 0
        while before != known:
            for cell in list(self.cells()):
                carry, digit = divmod(cell.value, self.base)
                for left, code in enumerate(self.after[cell.x][cell.right][cell.below]):
                    if self.meaning[cell.kind].setdefault(code, (digit, carry)) != (digit, carry):
                        return Verdict("digits", (cell.x, left, cell.right, cell.below))
            before, known = known, sum(map(len, self.meaning.values()))
        return None

    def blanks(self) -> set[int]:
        """Codes that can stand at rest in a term's row and read blank."""
        return {k for of in self.meaning.values() for k, its in of.items() if its == (0, 0) and self.reads[k] is None}

    def numbers(self) -> set[int]:
        """Codes that can stand at rest in a term's row and read as the digit that they mean."""
        return {k for of in self.meaning.values() for k, (digit, _) in of.items() if self.reads[k] == digit}

    def cells(self) -> Iterator[Cell]:
        """From the shape of rows: which kinds stand beside and below which."""
        blanks, numbers = self.blanks(), self.numbers()
        for (low, holds), right_kind in PAIRS:
            last = right_kind is None
            rights = {self.outside: (0, 0)} if right_kind is None else self.meaning[right_kind]
            own: Sequence[int] = {DIGIT: range(self.base), PLUS: [self.base], NOTHING: [self.base + 1]}[holds]
            first = low and holds != PLUS and (right_kind is None or (right_kind[0] and right_kind[1] != PLUS))
            later = (last or (holds, right_kind[1]) != (NOTHING, DIGIT)) and not (last and low)
            for right, (digit, carry) in rights.items():
                below = dict[int, int]()
                # Left of its digits the first term has cells of value 0 alone.
                if first and carry == 0 and not (right_kind and right_kind[1] == NOTHING and digit):
                    below |= dict.fromkeys(self.corner if last else self.ground, 0)
                if later:
                    below |= dict.fromkeys(blanks, 0) if low else {code: self.reads[code] or 0 for code in numbers}
                for x, (code, digit_below) in itertools.product(own, below.items()):
                    value = (x if holds == DIGIT else 0) + digit_below + carry
                    yield Cell((low, holds), right_kind, x, right, code, value)

    def lefts(self, kind: Kind) -> Iterator[tuple[int, bool]]:
        """Left neighbours at rest, and whether one is nothing. The border is beside empty cells alone."""
        yield from ((code, True) for code in self.blanks())
        yield from ((code, False) for code in self.numbers())
        if kind[1] == NOTHING:
            yield self.outside, True

    def unrest(self) -> Verdict | None:
        """What follows is the same with another code of the same meaning on the right."""
        lowest = self.after[self.base + 1]
        for right, twin in itertools.permutations(self.classed, 2):
            for left in (self.outside, *self.ground):
                if lowest[right][self.outside][left] != lowest[twin][self.outside][left]:
                    return Verdict("rest", (self.base + 1, left, right, self.outside))
        lefts = {kind: [left for left, _ in self.lefts(kind)] for kind in self.meaning}
        for cell in self.cells():
            same = self.meaning[cell.right_kind] if cell.right_kind else {cell.right: (0, 0)}
            after = self.after[cell.x]
            for twin in (twin for twin in same if same[twin] == same[cell.right]):
                for left in lefts[cell.kind]:
                    if after[cell.right][cell.below][left] != after[twin][cell.below][left]:
                        return Verdict("rest", (cell.x, left, cell.right, cell.below))
        return None

    def misreading(self) -> Verdict | None:
        """A cell reads as its digit, or as a blank if that is a leading zero."""
        plain = {code for code, (_, carry) in self.meaning[True, DIGIT].items() if carry == 0}
        lefts = {kind: list(self.lefts(kind)) for kind in self.meaning}
        for cell in self.cells():
            (low, holds), last = cell.kind, cell.right_kind is None
            for left, nothing in lefts[cell.kind]:
                # What does not stand beside a value of 0 at rest, outside the last column.
                never = not nothing and (holds != DIGIT or left not in plain) if low else nothing
                if cell.value == 0 and not last and never:
                    continue
                wanted = None if cell.value == 0 and nothing and not last else cell.value % self.base
                if self.reads[self.after[cell.x][cell.right][cell.below][left]] != wanted:
                    return Verdict("reading", (cell.x, left, cell.right, cell.below))
        return None


def second_check(table: RuleTable) -> Verdict:
    """Of a table that should add. The first condition that fails is told."""
    if table.actions != (2, *[0] * table.task.alphabet.base, 1, 2):  # write digits, open a row at the sign, else skip
        return Verdict("placement")
    checker = _Checker(table)
    checker.settle_lowest_row()
    return checker.settle_classes() or checker.unrest() or checker.misreading() or Verdict()


# Without induction: every small sum, from any start


@cache
def _small_sums() -> list[tuple[list[tuple[str, ...]], np.ndarray, list[str]]]:
    """All sums of a few small shapes, in the narrowest grid and in a wider one: terms, cells and what must be read."""
    numbers = ["".join(digits) for size in (1, 2, 3) for digits in itertools.product(ADD.alphabet.digits, repeat=size)]
    shapes: list[list[tuple[str, ...]]] = [
        [(number,) for number in numbers],
        list(itertools.product(numbers[:110], repeat=2)),
        list(itertools.product(numbers[:10], repeat=3)),
        list(itertools.product("0159", repeat=4)),
        list(itertools.product(["0", "9", "09", "99", "199", "901"], repeat=3)),
    ]
    made = []
    for sums in shapes:
        least = max(len(term) for terms in sums for term in terms) + 2
        for width in (least, least + 2):
            cells = np.array([place_slowly(column_addition(), terms, len(terms) + 1, width) for terms in sums])
            made.append((sums, cells, [str(sum(map(int, terms))).rjust(width) for terms in sums]))
    return made


def wrong_small_sum(table: RuleTable) -> str | None:
    """The first sum that a random start makes wrong, or that is not at rest after 2 · rows · columns steps.

    One term of 1 to 3 digits, two of 1 or 2, three of 1, four of the digits 0, 1, 5 and 9, and some longer ones of
    three; leading zeros included.
    """
    chance = np.random.default_rng(0)
    for sums, x, wanted in _small_sums():
        before = after = chance.integers(0, table.outside, x.shape, np.uint8)
        for _ in range(2 * x[0].size + 1):
            before, padded = after, np.pad(after, ((0, 0), (0, 1), (1, 1)), constant_values=table.outside)
            after = table.steps[x, padded[:, :-1, :-2], padded[:, :-1, 2:], padded[:, 1:, 1:-1]]
        letters = np.array(ADD.alphabet.symbols)[np.array(table.outputs)[after[:, 0]]]
        rests = (before == after).all((1, 2))
        for terms, row, still, result in zip(sums, letters, rests, wanted, strict=True):
            if not still or "".join(row) != result:
                return "+".join(terms)
    return None
