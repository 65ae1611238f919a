"""Short sums that wait at the same time are solved together: a batch of many costs little more than one.

An answer does not depend on what else is asked, so nobody can tell.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Sum = TypeVar("Sum")
Answered = TypeVar("Answered")
_MOST = 64
"""So few that they are done before somebody else's turn comes."""


class Elsewhere(Exception):
    """Another piece of work answers this one, too."""

    def __init__(self, done: threading.Event) -> None:
        super().__init__()
        self.done = done
        """Set when that has ended, well or not."""


@dataclass(eq=False)
class Place(Generic[Sum, Answered]):
    """One that waits, with all that it can be solved with."""

    kind: Hashable
    asked: Sum
    told: "Future[Answered]" = field(default_factory=Future)
    """Has the answer, as soon as anybody has worked it out."""
    taken: threading.Event | None = None
    """Set when the work that answers it has ended; None while nobody does."""


class Together(Generic[Sum, Answered]):
    def __init__(self, solve: Callable[[Sequence[Sum], Callable[[], None]], Sequence[Answered]]) -> None:
        self._solve = solve
        self._waiting: dict[Hashable, list[Place[Sum, Answered]]] = {}
        self._lock = threading.Lock()

    def join(self, kind: Hashable, asked: Sum) -> Place[Sum, Answered]:
        """Wait with those of the same kind; every place must be left again."""
        place = Place[Sum, Answered](kind, asked)
        with self._lock:
            self._waiting.setdefault(kind, []).append(place)
        return place

    def leave(self, place: Place[Sum, Answered]) -> None:
        with self._lock:
            others = self._waiting.get(place.kind, [])
            if place in others:
                others.remove(place)
            if not others:
                self._waiting.pop(place.kind, None)

    def answer(self, place: Place[Sum, Answered], go_on: Callable[[], None]) -> Answered:
        """The answer of a place, whose turn it is to compute: its own, and that of all who wait with it."""
        with self._lock:
            if place.told.done():
                return place.told.result()
            if place.taken is not None:
                raise Elsewhere(place.taken)
            free = [other for other in self._waiting.get(place.kind, []) if other.taken is None and other is not place]
            chosen = [place, *free[: _MOST - 1]]
            done = threading.Event()
            for each in chosen:
                each.taken = done
        try:
            answers = self._solve([each.asked for each in chosen], go_on)
            for each, found in zip(chosen, answers, strict=True):
                each.told.set_result(found)
        finally:  # if it failed or was given up, the others try for themselves
            for each in chosen:
                each.taken = None
            done.set()
        for each in chosen:
            self.leave(each)
        return place.told.result()
