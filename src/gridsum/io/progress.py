"""How far a long piece of work has come: a moving line in a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TextIO

_FIRST_WAIT, _LONGEST_WAIT = 5.0, 60.0


@contextmanager
def progress(quiet: bool = False) -> "Iterator[Progress]":
    """A moving line on standard error if it is a terminal, otherwise a line now and then; or nothing."""
    if sys.stderr.isatty() and not quiet:
        from rich.console import Console

        console = Console(file=sys.stderr, highlight=False)
        if console.is_terminal and not console.is_dumb_terminal:
            bar = Bar(console)
            with bar.live:
                yield bar
            return
    yield Progress() if quiet else Lines(sys.stderr)


class Progress:
    """Hears how far work has come. This one says nothing."""

    def update(self, label: str, done: int, total: int, news: str | None = None, unit: str = "") -> None:
        """So much of what the label names is done. News stay until there are others, or another label."""

    def note(self, text: str) -> None:
        """A line that stays, for the person."""


SILENT = Progress()


class Lines(Progress):
    """A line for the beginning and the end of what a label names, and in between after twice as long each time, up to
    a line a minute. The time left is at the mean pace since the label was first heard of."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._written, self._wait = stream, 0.0, _FIRST_WAIT
        self._label, self._news, self._begun, self._first = "", "", 0.0, 0

    def update(self, label: str, done: int, total: int, news: str | None = None, unit: str = "") -> None:
        now, edge = time.monotonic(), label != self._label or done == total
        if label != self._label:
            self._label, self._news, self._begun, self._first = label, "", now, done
        self._news = self._news if news is None else news
        if edge or now - self._written >= self._wait:
            self._wait = self._wait if edge else min(_LONGEST_WAIT, 2 * self._wait)
            self._written = now
            left = (now - self._begun) / max(1, done - self._first) * (total - done)
            told = f"{label} {done} of {total} {unit}".rstrip()
            told += f"  {timedelta(seconds=round(left))} left" if left else ""
            self._write(f"{told}  {self._news}" if self._news else told)

    def note(self, text: str) -> None:
        self._write(f"gridsum: {text}")

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


class Bar(Progress):
    """A line with how much is done and the time left, whatever the width; below it the news."""

    def __init__(self, console: Any) -> None:
        from rich.console import Group
        from rich.live import Live
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars
        from rich.table import Column
        from rich.text import Text

        label = TextColumn("{task.description}", markup=False, table_column=Column())  # folded where there is no room
        parts = (label, BarColumn(None), TextColumn("{task.fields[count]}"), TimeRemainingColumn())
        self._console, self._label, self._news = console, "", Text()
        self._bars = Bars(*parts, console=console, speed_estimate_period=float("inf"))
        self._task = self._bars.add_task("", count="", visible=False)
        both = Group(self._bars, self._news)
        self.live = Live(both, console=console, transient=True, vertical_overflow="crop")

    def update(self, label: str, done: int, total: int, news: str | None = None, unit: str = "") -> None:
        if label != self._label:
            self._label, news = label, news or ""
            self._bars.reset(self._task, description=label, visible=True)
        self._bars.update(self._task, completed=done, total=total, count=f"{done} of {total} {unit}".rstrip())
        if news is not None:
            self._news.plain = news

    def note(self, text: str) -> None:
        self._console.print(f"gridsum: {text}", markup=False)
