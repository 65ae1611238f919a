"""What is printed, and what is told beside it."""

import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gridsum.cli.options import UsageError
from gridsum.evaluation.rendering import terminal_width
from gridsum.io.names import printable


def print_text(text: str) -> None:
    """On standard output, at once: whoever reads the other end of a pipe need not wait."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        error.filename = "standard output"
        raise


def print_prose(paragraphs: Sequence[str]) -> None:
    """A line each, or as many as fit a terminal; what is indented stays so."""
    width = terminal_width() or max(map(len, paragraphs)) + 1
    for text in paragraphs:
        margin = " " * (len(text) - len(text.lstrip()))
        print_text(textwrap.fill(text, width, subsequent_indent=margin, break_on_hyphens=False) + "\n")


def tell(line: str) -> None:
    """A line for the person, beside the results."""
    sys.stderr.write(printable(line) + "\n")
    sys.stderr.flush()


@contextmanager
def kept_if_stopped(kept: Callable[[], str]) -> Iterator[None]:
    """Around long work: who interrupts it is told what is kept."""
    try:
        yield
    except KeyboardInterrupt:
        tell(f"gridsum: stopped{kept()}")
        raise


def check_writable(name: str) -> None:
    """Find out before any work whether a result can be kept in a file, without creating it."""
    path = Path(name).absolute()
    if path.is_dir():
        raise UsageError(f"{name} is a folder; name a file in it")
    place = next(part for part in (path, *path.parents) if part.exists())
    if place != path and not place.is_dir():
        raise UsageError(f"{name} cannot be written: {place} is not a folder; choose another place")
    if not os.access(place, os.W_OK):
        raise UsageError(f"{name} cannot be written: {place} is read-only; choose another place")
