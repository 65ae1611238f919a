"""How far a long piece of work has come: a moving line in a terminal, a line now and then elsewhere.

The time left is that of all the work, from its mean pace since it was first heard of.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_FIRST_WAIT, _LONGEST_WAIT = 5.0, 60.0
_SHORTEST_BAR, _LONGEST_BAR = 8, 30


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
    """How far work has come, in words. This one says nothing."""

    def __init__(self) -> None:
        self.label, self.news, self.count = "", "", ""
        self.share = self.label_share = 0.0
        """How much of the whole is done, and of what the label names."""
        self.begun: tuple[float, float] | None = None
        """When the whole was first heard of, and how much was done then: starting up is not part of its pace."""
        self.until: float | None = None

    def update(
        self,
        label: str,
        done: int,
        total: int,
        news: str | None = None,
        unit: str = "",
        part: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        """`part` says from where to where in the whole work these `total` lie; `news` stay until there are others, or
        another label."""
        now, before = time.monotonic(), self.share
        kept = self.news if label == self.label else ""
        self.news = kept if news is None else news
        self.label, self.label_share, self.count = label, done / max(1, total), f"{done} of {total} {unit}".rstrip()
        self.share = part[0] + (part[1] - part[0]) * self.label_share
        if self.begun is None or self.share < before:  # other work
            self.begun, self.until = (now, self.share), None
        since, start = self.begun
        if start < self.share != before:
            self.until = now + (now - since) / (self.share - start) * (1 - self.share)

    def note(self, text: str) -> None:
        """A line that stays, for the person."""

    def time(self) -> str:
        """The time left; how long it has taken so far, while nobody can tell."""
        now = time.monotonic()
        if self.until is not None and now <= self.until:
            return f"  {_clock(self.until - now)} left"
        return f"  {_clock(now - self.begun[0])} so far" if self.begun else ""


SILENT = Progress()


def _clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


class Lines(Progress):
    """A line for the beginning and the end of what a label names, and in between after twice as long each time, up to
    a line a minute."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream, self._written, self._wait = stream, 0.0, _FIRST_WAIT

    def update(self, label: str, done: int, total: int, *others: Any, **more: Any) -> None:
        edge, now = label != self.label or done == total, time.monotonic()
        super().update(label, done, total, *others, **more)
        if edge or now - self._written >= self._wait:
            self._wait = self._wait if edge else min(_LONGEST_WAIT, 2 * self._wait)
            self._written = now
            told = "" if self.share == 1 or self.until is None else self.time()
            self._write(f"{label} {self.count}{told}" + (f"  {self.news}" if self.news else ""))

    def note(self, text: str) -> None:
        self._write(f"gridsum: {text}")

    def _write(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()


class Bar(Progress):
    """A line with how much is done and the time left, whatever the width; below it the news."""

    def __init__(self, console: Any) -> None:
        from rich.live import Live

        super().__init__()
        self._console = console
        self.live = Live(get_renderable=self.drawn, console=console, transient=True, vertical_overflow="crop")

    def note(self, text: str) -> None:
        self._console.print(f"gridsum: {text}", markup=False)

    def drawn(self) -> Any:
        from rich.text import Text

        end = f" {self.count}{self.time()}" if self.label else ""
        room = self._console.width - 1 - len(end)
        label = self.label if len(self.label) <= room else self.label[: max(0, room - 1)] + "…"
        bar = min(_LONGEST_BAR, room - len(label) - 1)
        line = Text(label, overflow="ellipsis", no_wrap=True)
        if bar >= _SHORTEST_BAR and self.label:
            full = int(bar * self.label_share)
            line.append(" " + "━" * full, "cyan").append("━" * (bar - full), "dim")
        line.append(end)
        return Text("\n").join([line, Text(self.news)] if self.news else [line])
