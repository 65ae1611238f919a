"""Whose turn it is to compute.

Torch lets go of Python's lock in every operation. Two threads with many small ones then spend more time on handing that
lock to and fro than on the sums: together they are slower than one alone. So one thread computes at a time, and between
recurrent steps it lets whoever has computed less go first. Short work is done before long work that came earlier.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_SLICE_SECONDS = 0.1
"""Work gives its turn away once it has computed so much longer than one that waits. Short sums end before that."""


class Turn:
    """One piece of work, and how long it has computed."""

    def __init__(self, turns: "Turns") -> None:
        self._turns = turns
        self.seconds = 0.0

    def pass_on(self) -> None:
        """Let others go first, if any wait who have computed much less."""
        self._turns.pass_on(self)


class Turns:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._computing: Turn | None = None
        self._since = 0.0
        self._waiting: list[Turn] = []

    @contextmanager
    def turn(self) -> Iterator[Turn]:
        """Waits for a turn, and has it until the end."""
        mine = Turn(self)
        self._take(mine)
        try:
            yield mine
        finally:
            self._leave(mine)

    def pass_on(self, turn: Turn) -> None:
        computed = turn.seconds + time.monotonic() - self._since
        # Without the lock: whoever comes a moment later is seen at the next step.
        if any(computed > other.seconds + _SLICE_SECONDS for other in tuple(self._waiting)):
            self._leave(turn)
            self._take(turn)

    def _take(self, turn: Turn) -> None:
        with self._changed:
            self._waiting.append(turn)
            self._changed.wait_for(lambda: self._computing is None and self._next() is turn)
            self._waiting.remove(turn)
            self._computing, self._since = turn, time.monotonic()

    def _leave(self, turn: Turn) -> None:
        with self._changed:
            turn.seconds += time.monotonic() - self._since
            self._computing = None
            self._changed.notify_all()

    def _next(self) -> Turn:
        """Who has computed least; of equals, who waits longest."""
        return min(self._waiting, key=lambda turn: turn.seconds)
