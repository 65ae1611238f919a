"""Whether a rule does what its task's row rule says, for any number of terms of any length: Coq's `check`, in Python.

`proof/Rule.v` and `Check.v` have the same definitions, by the same names and in the same order; they say what each is
for. Where Coq looks at all left neighbours of a cell, here is one row of the table. Coq is given the certificate; here
it is found. The row rule knows the task; training and consolidation do not.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from gridsum.automaton.rows import Adding, Cell, Meaning, Neighbour, Place, Rows, Shape, fits
from gridsum.automaton.table import RuleTable, usual_actions
from gridsum.tasks import FIRST_DIGIT, PAD

GROUND = None
"""The kind of the lowest row's cells, which holds no term."""
Kind = Cell | None

# Check.v: the checks


@dataclass
class Certificate:
    """What each state means in each kind of cell, and the states that can stand at rest in the lowest row."""

    meaning_of: dict[Kind, dict[int, Meaning]]
    ground: set[int]
    """But for its last column."""
    corner: set[int]
    """In its last column."""
    end: set[int] = field(default_factory=set)
    """Mirrored, those in the last column of terms' rows: nobody reads their carry."""

    def __len__(self) -> int:
        return sum(map(len, (*self.meaning_of.values(), self.ground, self.corner, self.end)))


@dataclass(frozen=True)
class Failure:
    """A condition that does not hold, in one context."""

    condition: str
    symbol: str
    """What the cell holds."""
    left: int
    right: int
    below: int
    state: int
    wanted: str

    def __str__(self) -> str:
        return (
            f"{self.condition}: a cell with {self.symbol}, left {self.left}, right {self.right}, below {self.below} "
            f"goes to state {self.state}, not to {self.wanted}"
        )


Context = tuple[int, int, int]
"""Own symbol, right, below. `outside` stands where there is no neighbour."""
Right = tuple[Cell, int, Meaning, list[int]]
"""A right neighbour: its kind, its state, what it means there, and all states that mean this there."""


class Case(NamedTuple):
    """A cell of a term's row that is looked at."""

    place: Place
    kind: Cell
    context: Context
    meaning: Meaning
    """What it must mean."""
    twins: list[int] | None
    """The states that mean the same on its right; None in the last column."""
    end: bool = False
    """Mirrored, whether it stands in the last column: there only its digit must be right."""


class Check:
    """The checks of a table with a certificate. Each yields what fails, nothing where Coq's says `true`.

    Where a rule's carries go to the right, left and right change places, but for leading zeros: a 0 with nothing
    carried to it leads its number, unless it stands in the last column. Digits stand there, and nothing in the first.
    """

    def __init__(self, table: RuleTable, certificate: Certificate) -> None:
        self.table, self.certificate = table, certificate
        self.alphabet, self.outside = table.task.alphabet, table.outside
        self.rule = Rows.of(table.task)
        self.mirrored = self.rule.row.rightward
        self.reads = [None if symbol == PAD else symbol - FIRST_DIGIT for symbol in table.outputs]
        self.rows = table.steps.transpose((0, 1, 3, 2) if self.mirrored else (0, 2, 3, 1)).tobytes()
        self.contexts: set[Context] = set()
        """Those that were looked at."""
        self.states, self.nothing = range(self.outside), self.alphabet.empty_cell
        self.at_border = [self.nothing] if self.mirrored else range(self.rule.base)
        neighbours = product(self.rule.kinds, self.states)
        self.lefts = [left for kind, state in neighbours for left in self.as_neighbour(kind, state)]
        self.is_blank = {state for state, (_, _, blank) in self.lefts if blank}
        self.is_number = {state for state, (_, _, blank) in self.lefts if not blank}
        self.resting = sorted(self.is_blank | self.is_number | certificate.end)
        self.rights = [
            (kind, state, meaning, self.members(kind, meaning))
            for kind in self.rule.kinds
            for state, meaning in certificate.meaning_of[kind].items()
        ]
        self.ground_states = list(certificate.meaning_of[GROUND])
        self.ground_lefts = [self.outside, *sorted(certificate.ground)]
        self.beside, self.lefts_beside = cache(self._beside), cache(self._lefts_beside)
        self.lefts_at_rest = cache(self._lefts_at_rest)

    def after(self, context: Context) -> bytes:
        """What follows, for every left neighbour."""
        self.contexts.add(context)
        x, right, below = context
        side = self.outside + 1
        start = ((x * side + right) * side + below) * side
        return self.rows[start : start + side]

    def comes_to(self, kind: Kind, context: Context) -> set[int]:
        """What follows, with any left neighbour that it may have before its row is at rest."""
        after = self.after(context)
        return {after[left] for left in self.lefts_before(kind)}

    def lefts_before(self, kind: Kind) -> Collection[int]:
        """Any; mirrored, a term's cells have one, but for the last column; of several signs a digit has its own."""
        if kind is None:  # the ground
            return range(self.outside + 1)
        if self.rule.signs > 1 and kind.holds == Shape.DIGIT:
            return self.led[kind.sign]
        return range(self.outside + (not self.mirrored))

    @cached_property
    def led(self) -> list[set[int]]:
        """What comes to stand left of the digits of each sign, once the row below is at rest: whatever stands
        elsewhere, a sign is handed on from the left."""
        reached, base, found = np.unique(self.table.steps), self.rule.base, list[set[int]]()
        steps, possible = self.table.steps[:, :, reached], {case[:2] for case, _ in self.rule.cases()}
        under = {(None, state) for state in self.is_blank} | {(self.reads[state], state) for state in self.is_number}
        for sign in range(self.rule.signs + 1):  # at last nothing, which leads the first term
            below = [state for _, state in under]
            over = [[state for digit, state in under if (x + base * sign, digit) in possible] for x in range(base)]
            if sign == self.rule.unsigned:
                below, *over = [[*self.certificate.ground]] * (base + 1)
            now = set(steps[base + sign, [*reached, self.outside]][..., below].flat)
            while len(now) != len(now := now.union(*(steps[x, list(now)][..., over[x]].flat for x in range(base)))):
                pass
            found.append(now)
        return found

    def wanted(self, meaning: Meaning, nothing_left: bool) -> int | None:
        return None if self.rule.none(meaning) and nothing_left else meaning[0]

    def as_neighbour(self, kind: Cell, state: int) -> Iterator[tuple[int, Neighbour]]:
        meaning, reads = self.certificate.meaning_of[kind].get(state), self.reads[state]
        if meaning and (self.rule.none(meaning) if reads is None else meaning[0] == reads):
            yield state, (kind, meaning, reads is None)

    def digit_below(self, first: bool, last: bool, low: bool, state: int, end: bool = False) -> Iterator[int | None]:
        """The digit of a state below, None where it is blank; nothing if it cannot stand there."""
        if first:
            may = low and state in (self.certificate.corner if last else self.certificate.ground)
        elif end:
            may = not low and state in self.certificate.end
        else:  # in the last column always a number, in the first never
            may = (not last or low == self.mirrored) and state in (self.is_blank if low else self.is_number)
        if may:
            yield None if low else self.reads[state]

    def members(self, kind: Cell, meaning: Meaning) -> list[int]:
        return [state for state, its in self.certificate.meaning_of[kind].items() if its == meaning]

    def placement(self) -> Iterator[Failure]:
        """Placement writes digits, opens a row at the sign, and skips the rest."""
        names, wanted = ("written", "a new row", "skipped"), usual_actions(self.alphabet)
        for symbol, want, does in zip(self.alphabet.symbols, wanted, self.table.actions, strict=True):
            if does != want:
                yield Failure(f"placement of {symbol!r}", "nothing", -1, -1, -1, does, names[want])

    # closed: a step leads from states to states. A `RuleTable` is refused where it does not.

    def digits(self, kind: Kind, context: Context, meaning: Meaning) -> Iterator[Failure]:
        """With any left neighbour, a cell comes to mean this."""
        for state in self.comes_to(kind, context):
            known = self.certificate.meaning_of[kind].get(state)
            if known != meaning:
                means = f"means {known[0]} with carry {known[1]}" if known else "has no meaning"
                wanted = f"{meaning[0]} with carry {meaning[1]}: the state {means}"
                yield self.failure("digits", context, self.after(context).index(state), wanted)

    def rest(self, context: Context, twin: int, among: list[int]) -> Iterator[Failure]:
        """With these left neighbours, what follows is the same with a twin on the right: by meaning, not by state."""
        x, _, below = context
        after, other = self.after(context), self.after((x, twin, below))
        for left in among:
            if after[left] != other[left]:
                yield self.failure("rest", context, left, f"the same as with right {twin}")

    def reading(self, context: Context, among: list[int], wanted: int | None) -> Iterator[Failure]:
        """With these left neighbours, a cell reads as this digit, or is blank."""
        after = self.after(context)
        for left in among:
            if self.reads[after[left]] != wanted:
                told = "a blank" if wanted is None else f"one that reads {wanted}"
                yield self.failure("reading", context, left, told)

    def check_ground(self) -> Iterator[Failure]:
        """The lowest row."""
        outside, certificate = self.outside, self.certificate
        last = (self.nothing, outside, outside)
        yield from self.digits(GROUND, last, (0, 0))
        for left in certificate.ground:
            if self.after(last)[left] not in certificate.corner:
                yield self.failure("rest", last, left, "a state of the corner")
        for right in self.ground_states:
            context = (self.nothing, right, outside)
            yield from self.digits(GROUND, context, (0, 0))
            for left in self.ground_lefts:
                if self.after(context)[left] not in certificate.ground:
                    yield self.failure("rest", context, left, "a state of the ground")
            for twin in self.ground_states:
                yield from self.rest(context, twin, self.ground_lefts)

    def check_last(self, kind: Cell, context: Context, meaning: Meaning) -> Iterator[Failure]:
        """A cell of a term's last column, which reads as its digit; mirrored, of the first, which is blank."""
        yield from self.digits(kind, context, meaning)
        at_rest = [left for left in self.resting if left in self.lefts_before(kind)]
        yield from self.reading(context, at_rest, None if self.mirrored else meaning[0])

    def check_inner(self, case: Case, twins: list[int]) -> Iterator[Failure]:
        """Any other cell of a term's row, with one right neighbour. Only the border is left of the first column."""
        place, kind, context, meaning, *_ = case
        at_rest = [self.outside] if case.end else self.resting if self.mirrored else self.lefts_at_rest(place)
        if not case.end:
            yield from self.digits(kind, context, meaning)
        for twin in twins:
            if twin != context[1]:
                yield from self.rest(context, twin, at_rest)
        if self.mirrored or not self.rule.none(meaning):
            yield from self.reading(context, at_rest, self.wanted(meaning, self.mirrored and not case.end))
        else:
            for left, neighbour in self.lefts_beside(place):
                yield from self.reading(context, [left], self.wanted(meaning, neighbour is None or neighbour[2]))

    def _lefts_beside(self, place: Place) -> list[tuple[int, Neighbour | None]]:
        """The left neighbours that a cell can have at rest, and what they mean there."""
        border: list[tuple[int, Neighbour | None]] = [(self.outside, None)] * (place.holds == Shape.NOTHING)
        before = self.lefts_before(place.kind)
        return [
            (left, it) for left, it in (*border, *self.lefts) if left in before and self.rule.beside_left(place, it)
        ]

    def _lefts_at_rest(self, place: Place) -> list[int]:
        """Their states; Coq's check looks at all states of rest."""
        if isinstance(self.rule, Adding):
            return [self.outside] * (place.holds == Shape.NOTHING) + self.resting
        return sorted({left for left, _ in self.lefts_beside(place)})

    def _beside(self, first: bool, kind: Cell) -> list[Right]:
        """The right neighbours that a cell can have by their kinds."""
        if self.mirrored:
            return [left for left in self.rights if fits(first, left[0], kind)]
        return [right for right in self.rights if fits(first, kind, right[0])]

    def cells(self) -> Iterator[Case]:
        """Those of terms' rows."""
        for first, low, below in product((True, False), (True, False), self.states):
            for digit in self.digit_below(first, True, low, below):
                for x, holds, own, sign in self.held_by(first, self.at_border):
                    place = Place(first, holds, own, digit, 0, sign)
                    if meaning := self.rule.value(place):
                        yield Case(place, place.kind, (x, self.outside, below), meaning, None)
            for end in (False, True) if self.mirrored else (False,):
                for digit in self.digit_below(first, False, low, below, end):
                    held = range(self.rule.base if end else self.nothing + 1)
                    for x, holds, own, sign in self.held_by(first, held):
                        for kind, right, its, twins in self.beside(first, Cell(low, holds, sign)):
                            place = Place(first, holds, own, digit, its[1], sign)
                            meaning = self.rule.value(place)
                            if meaning and self.rule.follows(place, kind, its, end):
                                yield Case(place, place.kind, (x, right, below), meaning, twins, end)

    def held_by(self, first: bool, symbols: Iterable[int]) -> Iterator[tuple[int, Shape, int | None, int]]:
        """Symbols, each with its kind, its digit if it has one, and what sign its row may have."""
        for x in symbols:
            if x < self.rule.base:
                yield from (
                    (x, Shape.DIGIT, x, sign) for sign in ([self.rule.unsigned] if first else range(self.rule.signs))
                )
            else:
                yield (x, Shape.NOTHING, None, 0) if x == self.nothing else (x, Shape.SIGN, None, x - self.rule.base)

    def check_terms(self) -> Iterator[Failure]:
        for case in self.cells():
            if case.twins is None:
                yield from self.check_last(case.kind, case.context, case.meaning)
            else:
                yield from self.check_inner(case, case.twins)

    def check(self) -> Iterator[Failure]:
        yield from self.placement()
        yield from self.check_ground()
        yield from self.check_terms()

    def failure(self, condition: str, context: Context, left: int, wanted: str) -> Failure:
        x, right, below = context
        holds = "nothing" if x == self.nothing else self.alphabet.cell_symbols[x]
        beside = (right, left) if self.mirrored else (left, right)
        return Failure(condition, holds, *beside, below, self.after(context)[left], wanted)


# What Coq is given


def find_certificate(table: RuleTable) -> Certificate:
    """What the cells that are checked must mean, from the lowest row on. A table that passes with any certificate
    passes with this one, the least."""
    kinds: tuple[Kind, ...] = (GROUND, *Rows.of(table.task).kinds)
    found, size = Certificate({kind: {} for kind in kinds}, set(), set()), -1
    while size != len(found):
        size, check = len(found), Check(table, found)
        last, *others = (
            check.after((check.nothing, right, check.outside)) for right in (check.outside, *check.ground_states)
        )
        found.ground.update(after[left] for after in others for left in check.ground_lefts)
        found.corner.update(last[left] for left in found.ground)
        for after in (last, *others):
            found.meaning_of[GROUND].update(dict.fromkeys(after, (0, 0)))
        for case in check.cells():
            if case.end:
                found.end.add(check.after(case.context)[check.outside])
            else:
                for state in check.comes_to(case.kind, case.context):
                    found.meaning_of[case.kind].setdefault(state, case.meaning)
    return found


@dataclass(frozen=True)
class Proof:
    """What the check found."""

    failures: list[Failure]
    contexts: int
    evaluations: int
    certificate: Certificate = field(repr=False)

    @property
    def proved(self) -> bool:
        return not self.failures

    @property
    def states(self) -> list[int]:
        """Those that mean something."""
        return sorted({state for known in self.certificate.meaning_of.values() for state in known})


def prove(table: RuleTable) -> Proof:
    """Find the certificate, and check the table with it."""
    check = Check(table, find_certificate(table))
    failures = list(dict.fromkeys(check.check()))
    # A state of two meanings makes others fail.
    first = [failure for failure in failures if failure.condition not in ("rest", "reading")]
    contexts = len(check.contexts)
    return Proof(first or failures, contexts, contexts * (table.outside + 1), check.certificate)
