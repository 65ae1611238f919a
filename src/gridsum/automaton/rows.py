"""Row rules in general, apart from any table: `Rule.v` in Python, and of any task what never stands side by side."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

from gridsum.tasks import RowRule, Task, TaskError


class Shape(IntEnum):
    """What a cell of a term's row holds."""

    DIGIT, SIGN, NOTHING = range(3)


class Cell(NamedTuple):
    """A kind of cell. It is low over the ground or over a blank."""

    low: bool
    holds: Shape
    sign: int = 0
    """Of several, the number of its row's, for a sign and for digits; one more for the first term's row."""


Meaning = tuple[int, int]
"""A digit and a carry."""
Neighbour = tuple[Cell, Meaning, bool]
"""On the left: its kind, what it means, and whether it is blank."""


def fits(first: bool, kind: Cell, right: Cell) -> bool:
    """Whether a cell of a kind may have one of another on its right; `first` in the first term's row."""
    if (right.low and not kind.low) or (first and not (kind.low and right.low)):
        return False
    match kind.holds, right.holds:
        case (Shape.DIGIT, Shape.DIGIT) | (Shape.NOTHING, Shape.NOTHING):
            return kind.sign == right.sign
        case Shape.SIGN, Shape.DIGIT:
            return not first and kind.sign == right.sign
        case Shape.NOTHING, Shape.SIGN:
            return not first
        case Shape.NOTHING, Shape.DIGIT:
            return first
    return False


class Place(NamedTuple):
    """Where a cell stands, as far as its value hangs on it."""

    first: bool
    """In the first term's row."""
    holds: Shape
    own: int | None
    below: int | None
    """The digit below; None over the ground or a blank."""
    carry: int
    """From the right."""
    sign: int = 0

    @property
    def kind(self) -> Cell:
        return Cell(self.below is None, self.holds, self.sign)


@dataclass(frozen=True)
class Rows:
    """The rows of a task by its row rule."""

    base: int
    row: RowRule
    signs: int = 1

    @staticmethod
    @lru_cache(maxsize=16)
    def of(task: Task) -> "Rows":
        if task.row is None:
            raise TaskError(
                f"the task {task.name} has no row rule, so nothing can be checked; add, subtract, times and max do"
            )
        kind = Adding if task.row.coq == "addition" else Rows
        return kind(task.alphabet.base, task.row, len(task.alphabet.signs))

    @cached_property
    def kinds(self) -> tuple[Cell, ...]:
        """Of the cells of terms' rows."""
        every = product((False, True), Shape, range(self.signs))
        kinds = (Cell(*kind) for kind in every if kind[1] != Shape.NOTHING or not kind[2])
        return tuple(dict.fromkeys((*kinds, Cell(True, Shape.DIGIT, self.unsigned))))

    @property
    def unsigned(self) -> int:
        """The sign of the first term's row."""
        return self.signs if self.signs > 1 else 0

    @property
    def owns(self) -> range:
        """What `column` is told of digits: those of the second sign follow those of the first."""
        return range(self.base * self.signs)

    def cases(self) -> Iterator[tuple[tuple[int | None, int | None, int], Meaning]]:
        """Own digit, digit below and carry, with what the column makes of them; for all carries that come about."""
        carries = [0]
        for carry in carries:  # which grow as they are found
            for own, below in product((*self.owns, None), (None, *range(self.base))):
                if meaning := self.row.column(own, below, carry):
                    carries += [meaning[1]] if meaning[1] not in carries else []
                    yield (own, below, carry), meaning

    def value(self, place: Place) -> Meaning | None:
        """What a cell means: its own digit in the first term, else as the rule says; None where this never happens."""
        if place.first and not self.row.rightward:
            return place.own or 0, self.row.nothing
        own = None if place.own is None else place.own + self.base * place.sign
        return self.row.column(own, place.below, place.carry)

    def follows(self, place: Place, kind: Cell, meaning: Meaning, end: bool) -> bool:
        """Whether a neighbour of a kind that means this can stand where a place's carry comes from; `end` if the place
        is in the last column and its carry comes from the left. The number below has no leading zeros."""
        if not self.row.rightward:
            return (kind, meaning, place) in self._beside
        begun = {False} if place.below is None else {True} if place.below == 0 and not end else {False, True}
        return any((each, place.carry) in self._rightward for each in begun)

    @cached_property
    def _rightward(self) -> set[tuple[bool, int]]:
        """Whether the number below has begun, and what is carried, for all that comes about from the left."""
        digits, found = range(self.base), [(False, self.row.nothing)]
        for begun, carry in found:  # which grow as they are found
            for own, below in product((*digits, None), digits if begun else (None, *digits[1:])):
                if meaning := self.row.column(own, below, carry):
                    further = begun or below is not None, meaning[1]
                    found += [further] if further not in found else []
        return set(found)

    def none(self, meaning: Meaning) -> bool:
        """Whether a cell that means this is blank if nothing is left of it."""
        return meaning[0] == 0 and meaning[1] in ({self.row.nothing} if self.row.rightward else self._leading)

    def beside_left(self, place: Place, left: Neighbour | None) -> bool:
        """Whether a cell can have this left neighbour, None at the border, once the row is at rest."""
        return left in self._lefts.get(place, ())

    @cached_property
    def _leading(self) -> set[int]:
        """The carries of a leading 0, which the last column never has."""
        beside_none = (place for place, lefts in self._lefts.items() if any(n is None or n[2] for n in lefts))
        meanings = map(self.value, beside_none)
        return {self.row.nothing, *(meaning[1] for meaning in meanings if meaning and meaning[0] == 0)}

    @cached_property
    def _ways(self) -> dict["_Way", dict[Place, tuple[Meaning, "_Way"]]]:
        """What can come next, on the ways that rows can go from the last column to an empty first one. Under a term
        after the first lies any number, without leading zeros. Places that go on alike go on together."""
        waiting = [way for _, way in self._last.values()]
        ways = dict[_Way, dict[Place, tuple[Meaning, _Way]]]()
        while waiting:
            here = waiting.pop()
            if here not in ways:
                found = {place: meaning for place in self._further(here) if (meaning := self.value(place))}
                ways[here] = {place: (meaning, _Way.after(place, meaning)) for place, meaning in found.items()}
                waiting += [way for _, way in ways[here].values()]
        return ways

    @cached_property
    def _last(self) -> dict[Place, tuple[Meaning, "_Way"]]:
        """What can stand in the last column."""
        first = (Place(True, Shape.DIGIT, own, None, 0, self.unsigned) for own in range(self.base))
        each = product(range(self.signs), range(self.base), range(self.base))
        others = (Place(False, Shape.DIGIT, own, below, 0, sign) for sign, own, below in each)
        found = {place: meaning for place in (*first, *others) if (meaning := self.value(place))}
        return {place: (meaning, _Way.after(place, meaning, last=True)) for place, meaning in found.items()}

    @cached_property
    def _beside(self) -> set[tuple[Cell, Meaning, Place]]:
        """The kind of a cell, what it means, and what can stand on its left."""
        cells = [item for part in (self._last, *self._ways.values()) for item in part.items()]
        ways = {(place.kind, meaning, way) for place, (meaning, way) in cells}
        return {(kind, meaning, place) for kind, meaning, way in ways for place in self._ways[way]}

    @cached_property
    def _lefts(self) -> dict[Place, set[Neighbour | None]]:
        """What can stand on the left of a place that is not in the last column."""
        lefts: dict[_Way, set[Neighbour | None]] = {
            here: {None} if self._may_end(here) else set() for here in self._ways
        }
        before = -1
        while before != (before := sum(map(len, lefts.values()))):
            nothing_left = {here: {beside is None or beside[2] for beside in lefts[here]} for here in self._ways}
            for here, further in self._ways.items():
                for place, (meaning, way) in further.items():
                    lefts[here] |= {(place.kind, meaning, way.zero and nothing) for nothing in nothing_left[way]}
        return {place: lefts[way] for further in self._ways.values() for place, (_, way) in further.items()}

    def _may_end(self, here: "_Way") -> bool:
        return here.kind == Cell(True, Shape.NOTHING) and here.zero and here.carry == self.row.nothing

    def _further(self, here: "_Way") -> Iterator[Place]:
        """What can stand on the left, but for what never happens."""
        belows = (None,) if here.kind.low else (*range(self.base), None) if here.number_ends else range(self.base)
        for below, (low, holds, sign) in product(belows, self.kinds):
            if low == (below is None) and fits(here.first, Cell(low, holds, sign), here.kind):
                for own in range(self.base) if holds == Shape.DIGIT else (None,):
                    yield Place(here.first, holds, own, below, here.carry, sign)


class _Way(NamedTuple):
    """What hangs on a place, of what can stand on its left."""

    first: bool
    kind: Cell
    number_ends: bool
    """Whether the number below may end there."""
    zero: bool
    """Whether it means a 0, which may lead its number."""
    carry: int
    """To the left."""

    @staticmethod
    def after(place: Place, meaning: Meaning, *, last: bool = False) -> "_Way":
        return _Way(place.first, place.kind, last or bool(place.below), meaning[0] == 0, meaning[1])


@dataclass(frozen=True)
class Adding(Rows):
    """Addition, with what never stands side by side as it is proved in `Addition.v`."""

    @cached_property
    def _leading(self) -> set[int]:
        return {0}

    def follows(self, place: Place, kind: Cell, meaning: Meaning, end: bool) -> bool:  # noqa: ARG002
        """In the first term no carry, and nothing left of its digits."""
        digit, carry = meaning
        return not place.first or (carry == 0 and (digit == 0 or not place.holds == kind.holds == Shape.NOTHING))

    def beside_left(self, place: Place, left: Neighbour | None) -> bool:
        if not self.none(self.value(place) or (0, 1)):
            return True
        match Cell(place.below is None, place.holds), left:
            case Cell(False, _), (_, _, False):
                return True
            case Cell(False, _), _:
                return False
            case Cell(True, Shape.DIGIT), (Cell(True, Shape.DIGIT), (_, carry), False):
                return carry == 0
            case Cell(True, _), (_, _, False):
                return False
        return True
