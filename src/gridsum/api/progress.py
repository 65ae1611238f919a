"""How far a long task has come: a moving bar in a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from gridsum.api.terminal import rich_console


class Progress(Protocol):
    """How far a task has come, for a person to watch."""

    def update(self, label: str, done: int, total: int, news: str = "", unit: str = "") -> None: ...

    def tick(self, label: str, done: int, total: int) -> None:
        """The same between updates, for those who have waited for long."""
        ...

    def note(self, text: str) -> None:
        """A line that stays."""
        ...


@contextmanager
def progress(quiet: bool = False) -> Iterator[Progress]:
    """A moving bar on standard error if it is a terminal, otherwise a line now and then; or nothing."""
    if quiet:
        yield Nothing()
        return
    console = rich_console(sys.stderr) if sys.stderr.isatty() else None
    if console is None or not console.is_terminal or console.is_dumb_terminal:
        yield Lines(sys.stderr)
        return
    with Bar(console) as bar:
        yield bar


class Nothing:
    """Says nothing."""

    def update(self, label: str, done: int, total: int, news: str = "", unit: str = "") -> None: ...

    def tick(self, label: str, done: int, total: int) -> None: ...

    def note(self, text: str) -> None: ...


_FIRST_WAIT, _LONGEST_WAIT = 5.0, 60.0


def _time(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


class Lines:
    """A line for the first and the last update, and in between every ten updates or ten seconds."""

    def __init__(self, stream: TextIO, updates: int = 10, seconds: float = 10.0) -> None:
        self._stream, self._updates, self._seconds = stream, updates, seconds
        self._label, self._waiting, self._written = "", 0, 0.0
        self._since, self._from = 0.0, 0
        self._begun, self._tick_from, self._wait = 0.0, 0, 0.0

    def update(self, label: str, done: int, total: int, news: str = "", unit: str = "") -> None:
        now = time.monotonic()
        fresh = label != self._label
        if fresh:
            self._since, self._from = now, done
        self._waiting += 1
        due = self._waiting >= self._updates or now - self._written >= self._seconds
        if fresh or done == total or due:
            self._label, self._waiting, self._written = label, 0, now
            parts = [f"{label} {done} of {total} {unit}".rstrip(), news, self._left(done, total, now)]
            self.note("  ".join(part for part in parts if part))

    def tick(self, label: str, done: int, total: int) -> None:
        """The first two, then after twice as long each time, up to a line a minute; none soon after an update."""
        now = time.monotonic()
        if not self._begun:
            self._begun, self._tick_from, self._written = now, done, now
            self.note(f"{label} {done} of {total}")
        elif now - self._written >= self._wait:
            self._wait, self._written = min(_LONGEST_WAIT, max(_FIRST_WAIT, 2 * self._wait)), now
            pace = (now - self._begun) / max(1, done - self._tick_from)
            self.note(f"{label} {done} of {total}  {_time(pace * (total - done))} left")

    def _left(self, done: int, total: int, now: float) -> str:
        """The time left at the pace since the first update of a label; starting up is no part of it."""
        if done in (self._from, total):
            return ""
        return f"{_time((now - self._since) / (done - self._from) * (total - done))} left"

    def note(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class Bar:
    """A bar of rich's, with the news below it."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        # Without markup, because the brackets of a name such as 2x[1,1000] would be read as such.
        label, news = (TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[news]"))
        self._shown = Progress(
            label,
            BarColumn(30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[unit]}", markup=False),
            TimeRemainingColumn(),
            news,
            console=console,
            transient=True,
            refresh_per_second=4,
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
            self._label, self._task = label, self._shown.add_task(label, total=total, news=news, unit=unit)
        self._news = news
        self._shown.update(self._task, completed=done, total=total, news=news, unit=unit)

    def tick(self, label: str, done: int, total: int) -> None:
        self.update(label, done, total, self._news)

    def note(self, text: str) -> None:
        self._shown.console.print(text, markup=False)
