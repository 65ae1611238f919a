"""A table of text, and the forms it is printed in."""

import csv
import html
import io
import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

_CAPTION_WIDTH = 100
_ANY_WIDTH = 10_000


class TableError(ValueError):
    """A table that the records do not allow; the message says what to evaluate."""


@dataclass(frozen=True)
class Table:
    """What a renderer needs, all of it text."""

    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def _printable(text: str) -> str:
    """Names and answers come from outside: no line break or control character may disturb a table."""
    return "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))


def _cells(table: Table, escape: Callable[[str], str]) -> list[list[str]]:
    return [[escape(_printable(cell)) for cell in row] for row in (table.header, *table.rows)]


def to_text(table: Table, width: int | None = None) -> str:
    """For a terminal of so many columns, where cells that are too wide are broken; None for any width."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    header, *rows = _cells(table, str)
    drawn = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in header:
        drawn.add_column(Text(name), overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    console = Console(file=io.StringIO(), width=width or _ANY_WIDTH, color_system=None, force_jupyter=False)
    with console.capture() as shown:
        console.print(drawn)
    body = "\n".join(line.rstrip() for line in shown.get().splitlines())
    room = min(width or _CAPTION_WIDTH, _CAPTION_WIDTH)
    caption = textwrap.fill(_printable(table.caption), room, break_on_hyphens=False)
    title = table.title if width is None else textwrap.fill(table.title, width)
    return f"{title}\n\n{body}\n\n{caption}\n"


def to_markdown(table: Table) -> str:
    def escape(text: str) -> str:
        return "".join(f"\\{character}" if character in "\\`*_|<[]~" else character for character in text)

    cells = _cells(table, escape)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    header, *rows = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells)
    rule = ["-" * width for width in widths]
    lines = [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]
    return "\n".join([f"**{escape(table.title)}**", "", *lines, "", escape(_printable(table.caption))]) + "\n"


def to_json(table: Table) -> str:
    """A list of rows, each by the names of its columns."""
    header, *rows = _complete(table)
    return json.dumps([dict(zip(header, row, strict=True)) for row in rows], indent=2, ensure_ascii=False) + "\n"


def to_csv(table: Table) -> str:
    """The header and the rows alone."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(_complete(table))
    return text.getvalue()


def _complete(table: Table) -> list[list[str]]:
    """Header and rows for programs: each name once, after that of the column beside it; no cell left out."""
    header = [
        f"{table.header[index - 1]} {name}" if table.header.count(name) > 1 else name
        for index, name in enumerate(table.header)
    ]
    first = list(accumulate((row[0] for row in table.rows), lambda above, cell: cell or above))
    return [header, *([name, *row[1:]] for name, row in zip(first, table.rows, strict=True))]


def to_html(table: Table) -> str:
    """For a notebook."""
    header, *rows = _cells(table, html.escape)
    head = "".join(f"<th>{cell}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    caption = f"<b>{html.escape(table.title)}</b><br>{html.escape(_printable(table.caption))}"
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


FORMATS = {"markdown": to_markdown, "json": to_json, "csv": to_csv}
"""What a table can be written in, beside text for a terminal."""
