"""How far a long task has come: a moving bar in a terminal, a line now and then elsewhere.

The time left is told from the mean pace since a task was first heard of.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

_FIRST_WAIT, _LONGEST_WAIT = 5.0, 60.0
_SHORTEST_BAR, _LONGEST_BAR = 8, 30


class Progress:
    """How far a task has come, for a person to watch; this one says nothing.

    `after` is how much of the same work is still to come when `total` is reached, about: it is part of the time left.
    """

    def update(self, label: str, done: int, total: int, news: str = "", unit: str = "", after: float = 0.0) -> None: ...

    def tick(self, label: str, done: int, total: int, after: float = 0.0) -> None:
        """The same between updates, for those who have waited for long."""

    def note(self, text: str) -> None:
        """A line that stays."""


@contextmanager
def progress(quiet: bool = False) -> Iterator[Progress]:
    """A moving bar on standard error if it is a terminal, otherwise a line now and then; or nothing."""
    if quiet:
        yield Progress()
        return
    if sys.stderr.isatty():
        from rich.console import Console

        console = Console(file=sys.stderr, highlight=False)
        if console.is_terminal and not console.is_dumb_terminal:
            with Bar(console) as bar:
                yield bar
            return
    yield Lines(sys.stderr)


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


@dataclass
class _Task:
    """A task since it was first heard of."""

    label: str
    start: int
    """How far it had come then. Starting up is no part of its pace."""
    since: float
    done: int = 0
    total: int = 0
    unit: str = ""
    after: float = 0.0
    until: float | None = None
    """When it was expected to be over, where a task before it knew."""

    def heard(self, done: int, total: int, unit: str, after: float) -> None:
        self.done, self.total, self.unit, self.after = done, total, unit, after

    @property
    def count(self) -> str:
        return f" {self.done} of {self.total} {self.unit}".rstrip()

    def each(self) -> float | None:
        """Seconds of one, on average; none before a second one is heard of."""
        return None if self.done <= self.start else (time.monotonic() - self.since) / (self.done - self.start)

    def left(self) -> float | None:
        """Seconds until it is over, with what comes after."""
        each = self.each()
        if each is not None:
            return each * (self.total - self.done + self.after)
        return None if self.until is None or self.until < time.monotonic() else self.until - time.monotonic()

    def speed(self) -> str:
        each = self.each()
        if not each:
            return ""
        return f"  {1 / each:.1f} a second" if each < 1 else f"  {each:.1f} s each"

    def time(self) -> str:
        """The time left; how long it has taken so far, while nobody can tell."""
        left = self.left()
        if left is None:
            return f"  {_clock(time.monotonic() - self.since)} so far"
        return f"  {_clock(left)} left"


class Lines(Progress):
    """A line for the first and the last update, and in between every ten updates or ten seconds."""

    def __init__(self, stream: TextIO, updates: int = 10, seconds: float = 10.0) -> None:
        self._stream, self._updates, self._seconds = stream, updates, seconds
        self._waiting, self._written, self._wait = 0, 0.0, 0.0
        self._tasks: dict[str, _Task] = {}
        self._label = ""

    def update(self, label: str, done: int, total: int, news: str = "", unit: str = "", after: float = 0.0) -> None:
        now = time.monotonic()
        fresh = label != self._label
        if fresh:
            self._tasks[label] = _Task(label, done, now)
        task = self._tasks[label]
        task.heard(done, total, unit, after)
        self._waiting += 1
        if fresh or done == total or self._waiting >= self._updates or now - self._written >= self._seconds:
            self._label, self._waiting, self._written = label, 0, now
            told = label + task.count + (f"  {news}" if news else "")
            self.note(told + ("" if done in (task.start, total) else task.time()))

    def tick(self, label: str, done: int, total: int, after: float = 0.0) -> None:
        """The first two, then after twice as long each time, up to a line a minute; none soon after an update."""
        now = time.monotonic()
        fresh = label not in self._tasks
        task = self._tasks.setdefault(label, _Task(label, done, now))
        task.heard(done, total, "", after)
        if fresh or now - self._written >= self._wait:
            self._wait = 0.0 if fresh else min(_LONGEST_WAIT, max(_FIRST_WAIT, 2 * self._wait))
            self._written = now
            self.note(label + task.count + ("" if fresh else task.time()))

    def note(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class Bar(Progress):
    """A line with how much is done, how fast, and the time left, whatever the width; below it the news.

    While ticks come, the line is theirs, and updates of something else are news.
    """

    def __init__(self, console: Any) -> None:
        from rich.live import Live

        self._task: _Task | None = None
        self._ticks, self._news = "", ""
        self._console = console
        self._live = Live(
            get_renderable=self._drawn, console=console, transient=True, refresh_per_second=4, vertical_overflow="crop"
        )

    def __enter__(self) -> "Bar":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def update(self, label: str, done: int, total: int, news: str = "", unit: str = "", after: float = 0.0) -> None:
        ticking = self._task is not None and self._task.label == self._ticks and self._task.done < self._task.total
        if ticking and label != self._ticks:
            self._news = f"{label} {done} of {total}: {news}" if news else f"{label} {done} of {total}"
            return
        self._news = news
        self._take(label, done).heard(done, total, unit, after)

    def tick(self, label: str, done: int, total: int, after: float = 0.0) -> None:
        self._ticks = label
        self._take(label, done).heard(done, total, "", after)

    def note(self, text: str) -> None:
        self._console.print(text, markup=False)

    def _take(self, label: str, start: int) -> _Task:
        """The task of a label, from now on if it is another one than before."""
        before = self._task
        if before is None or before.label != label:
            left = before.left() if before is not None and (before.after or before.until) else None
            until = None if left is None else time.monotonic() + left
            before = self._task = _Task(label, start, time.monotonic(), until=until)
        return before

    def _drawn(self) -> Any:
        from rich.text import Text

        if self._task is None:
            return Text("")
        width = self._console.width - 1
        end = self._task.count + self._task.speed() + self._task.time()
        room = width - len(end)
        label = self._task.label if len(self._task.label) <= room else self._task.label[: max(0, room - 1)] + "…"
        bar = min(_LONGEST_BAR, room - len(label) - 1)
        line = Text(label, overflow="ellipsis", no_wrap=True)
        if bar >= _SHORTEST_BAR:
            full = bar * self._task.done // max(1, self._task.total)
            line.append(" " + "━" * full, "cyan").append("━" * (bar - full), "dim")
        line.append(end)
        return Text("\n").join([line, Text(self._news)] if self._news else [line])
