"""How far a long task has come: a moving bar in a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_FIRST_WAIT, _LONGEST_WAIT = 5.0, 60.0


class Progress:
    """How far a task has come, for a person to watch; this one says nothing."""

    def update(self, label: str, done: int, total: int, news: str = "", unit: str = "") -> None: ...

    def tick(self, label: str, done: int, total: int) -> None:
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


def _left(since: float, start: int, done: int, total: int) -> str:
    """The time left at the pace since `start` was reached; starting up is no part of it."""
    whole = round((time.monotonic() - since) / max(1, done - start) * (total - done))
    return f"  {whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02} left"


class Lines(Progress):
    """A line for the first and the last update, and in between every ten updates or ten seconds."""

    def __init__(self, stream: TextIO, updates: int = 10, seconds: float = 10.0) -> None:
        self._stream, self._updates, self._seconds = stream, updates, seconds
        self._waiting, self._written, self._wait = 0, 0.0, 0.0
        self._starts: dict[str, tuple[float, int]] = {}
        """When each label was first heard of, and how far it had come."""
        self._label = ""

    def update(self, label: str, done: int, total: int, news: str = "", unit: str = "") -> None:
        now = time.monotonic()
        fresh = label != self._label
        if fresh:
            self._starts[label] = now, done
        self._waiting += 1
        if fresh or done == total or self._waiting >= self._updates or now - self._written >= self._seconds:
            self._label, self._waiting, self._written = label, 0, now
            since, start = self._starts[label]
            told = f"{label} {done} of {total} {unit}".rstrip() + (f"  {news}" if news else "")
            self.note(told + ("" if done in (start, total) else _left(since, start, done, total)))

    def tick(self, label: str, done: int, total: int) -> None:
        """The first two, then after twice as long each time, up to a line a minute; none soon after an update."""
        now = time.monotonic()
        fresh = label not in self._starts
        since, start = self._starts.setdefault(label, (now, done))
        if fresh or now - self._written >= self._wait:
            self._wait = 0.0 if fresh else min(_LONGEST_WAIT, max(_FIRST_WAIT, 2 * self._wait))
            self._written = now
            self.note(f"{label} {done} of {total}" + ("" if fresh else _left(since, start, done, total)))

    def note(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class Bar(Progress):
    """A bar of rich's, with the news behind it."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        def text(field: str) -> TextColumn:
            # Without markup, because the brackets of a name such as 2x[1,1000] would be read as such.
            return TextColumn(f"{{task.{field}}}", markup=False)

        columns = (text("description"), BarColumn(30), MofNCompleteColumn(), text("fields[unit]"))
        self._shown = Progress(
            *columns, TimeRemainingColumn(), text("fields[news]"), console=console, transient=True, refresh_per_second=4
        )
        self._label, self._task, self._news = "", None, ""

    def __enter__(self) -> "Bar":
        self._shown.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.stop()

    def update(self, label: str, done: int, total: int, news: str = "", unit: str = "") -> None:
        if self._task is None or label != self._label:
            if self._task is not None:
                self._shown.remove_task(self._task)
            self._label, self._task = label, self._shown.add_task(label, news=news, unit=unit)
        self._news = news
        self._shown.update(self._task, completed=done, total=total, news=news, unit=unit)

    def tick(self, label: str, done: int, total: int) -> None:
        self.update(label, done, total, self._news)

    def note(self, text: str) -> None:
        self._shown.console.print(text, markup=False)
