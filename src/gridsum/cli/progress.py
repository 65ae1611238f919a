"""How far a long task has come: a moving bar in a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TextIO

from gridsum.terminal import rich_console


class Progress(Protocol):
    """How far a task has come, for a person to watch."""

    def update(self, label: str, done: int, total: int, news: str = "") -> None: ...

    def note(self, text: str) -> None:
        """A line that stays."""
        ...


@contextmanager
def progress() -> Iterator[Progress]:
    """A moving bar on standard error if it is a terminal, otherwise a line now and then."""
    console = rich_console(sys.stderr) if sys.stderr.isatty() else None
    if console is None or not console.is_terminal or console.is_dumb_terminal:
        yield Lines(sys.stderr)
        return
    from rich.live import Live

    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield Bar(live)


class Clock:
    """The time left, at the pace since the first update of a label (starting up is no part of it)."""

    def __init__(self) -> None:
        self._label, self._since, self._from = "", 0.0, 0

    def left(self, label: str, done: int, total: int) -> str:
        now = time.monotonic()
        if label != self._label:
            self._label, self._since, self._from = label, now, done
        if done in (self._from, total):
            return ""
        seconds = round((now - self._since) / (done - self._from) * (total - done))
        minutes, hours = seconds // 60 % 60, seconds // 3600
        return f"{hours}:{minutes:02}:{seconds % 60:02} left"


class Lines:
    """A line for the first and the last update, and in between every ten updates or ten seconds."""

    def __init__(self, stream: TextIO, updates: int = 10, seconds: float = 10.0) -> None:
        self._stream, self._updates, self._seconds = stream, updates, seconds
        self._clock, self._label, self._waiting, self._written = Clock(), "", 0, 0.0

    def update(self, label: str, done: int, total: int, news: str = "") -> None:
        left = self._clock.left(label, done, total)
        self._waiting += 1
        now = time.monotonic()
        due = self._waiting >= self._updates or now - self._written >= self._seconds
        if label != self._label or done == total or due:
            self._label, self._waiting, self._written = label, 0, now
            parts = [f"{label} {done}/{total}", news, left]
            self.note("  ".join(part for part in parts if part))

    def note(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class Bar:
    """A bar that moves, with the news below it."""

    def __init__(self, live: Any) -> None:
        self._live, self._clock = live, Clock()

    def update(self, label: str, done: int, total: int, news: str = "") -> None:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        row = Table.grid(padding=(0, 1))
        left = self._clock.left(label, done, total)
        # Text, because the brackets of a name such as 2x[1,1000] would be read as markup.
        row.add_row(Text(label), ProgressBar(total, done, width=30), f"{done}/{total}", Text(left, "dim"))
        self._live.update(Group(row, Text(news)) if news else row)

    def note(self, text: str) -> None:
        self._live.console.print(text, markup=False)
