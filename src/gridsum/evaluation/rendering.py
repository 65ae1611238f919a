"""A table of text, for a terminal and for documents."""

import io
import shutil
import sys
import textwrap
from dataclasses import dataclass

from gridsum.io.names import printable

_CAPTION_WIDTH = 100
_ANY_WIDTH = 10_000


class TableError(ValueError):
    """A table that the records do not allow; the message says what to evaluate."""


@dataclass(frozen=True)
class Table:
    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def share_text(value: float) -> str:
    """Three digits; 1.0 is only for no error and 0.0 only for nothing right."""
    return f"{value:.1f}" if value in (0, 1) else f"{min(max(value, 0.001), 0.999):.3f}"


def _printable(text: str) -> str:
    """Names and answers come from outside: no line break may disturb a table."""
    return printable(" ".join(text.split()))


def terminal_width() -> int | None:
    """Of standard output, where it is a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def to_text(table: Table, width: int | None = None) -> str:
    """For so many columns, by default those of the terminal, where cells that are too wide are broken; else any."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    width = width or terminal_width()
    drawn = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in table.header:
        drawn.add_column(Text(_printable(name)), overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(_printable(cell)) for cell in row))
    shown = io.StringIO()
    Console(file=shown, width=width or _ANY_WIDTH, color_system=None, force_jupyter=False).print(drawn)
    body = "\n".join(line.rstrip() for line in shown.getvalue().splitlines())
    caption_width = min(width or _CAPTION_WIDTH, _CAPTION_WIDTH)
    caption = textwrap.fill(_printable(table.caption), caption_width, break_on_hyphens=False)
    return f"{textwrap.fill(table.title, width or _ANY_WIDTH)}\n\n{body}\n\n{caption}\n"


def to_markdown(table: Table) -> str:
    def escape(text: str) -> str:
        return "".join(f"\\{character}" if character in "\\`*_|<[]~" else character for character in _printable(text))

    cells = [[escape(cell) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    header, *rows = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells)
    rule = ["-" * width for width in widths]
    lines = [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]
    return "\n".join([f"**{escape(table.title)}**", "", *lines, "", escape(table.caption)]) + "\n"
