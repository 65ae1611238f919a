"""A table of text, and the forms it is printed in."""

import csv
import html
import io
import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest

_CAPTION_WIDTH = 100
_LONG_WORD = 24
"""What is longer than this is broken anywhere, where there is not enough room."""
_APART = 2
"""Spaces between columns."""
Cells = list[list[str]]


class TableError(ValueError):
    """A table that the records do not allow; the message says what to evaluate."""


@dataclass(frozen=True)
class Table:
    """What a renderer needs, all of it text."""

    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    keys: int = 1
    """The first columns, which say what a row is about; a table in parts repeats them."""


def _printable(text: str) -> str:
    """Names and answers come from outside: no line break or control character may disturb a table."""
    return "".join(character if character.isprintable() else "?" for character in " ".join(text.split()))


def _cells(table: Table, escape: Callable[[str], str]) -> Cells:
    return [[escape(_printable(cell)) for cell in row] for row in (table.header, *table.rows)]


def _aligned(cells: Cells) -> Cells:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells]


def to_text(table: Table, width: int | None = None) -> str:
    """For a terminal of so many columns; None for any width.

    Where a table is wider, its cells are broken at spaces. Where that is not enough, it is shown in parts that all
    begin with the same columns.
    """
    parts = [_cells(table, str)] if width is None else _fitted(_cells(table, str), table.keys, width)
    room = min(width or _CAPTION_WIDTH, _CAPTION_WIDTH)
    caption = textwrap.fill(_printable(table.caption), room, break_on_hyphens=False)
    title = table.title if width is None else textwrap.fill(table.title, width)
    return "\n\n".join([title, *map(_drawn, parts), caption]) + "\n"


def _drawn(cells: Cells) -> str:
    """Cells may have several lines."""
    rows = [list(zip_longest(*(cell.split("\n") for cell in row), fillvalue="")) for row in cells]
    aligned = _aligned([list(line) for row in rows for line in row])
    head = len(rows[0])
    rule = ["─" * len(cell) for cell in aligned[0]]
    return "\n".join((" " * _APART).join(line).rstrip() for line in (*aligned[:head], rule, *aligned[head:]))


def _fitted(cells: Cells, keys: int, width: int) -> list[Cells]:
    """The table, or its parts, with cells broken so that they are no wider than this."""
    columns = list(zip(*cells, strict=True))
    natural = [max(map(len, column)) for column in columns]
    if _total(natural) <= width:
        return [cells]
    words = [max(len(word) for cell in column for word in [*cell.split(), " "]) for column in columns]
    if _total(words) > width:  # one column beside the keys must find room
        most = min(_LONG_WORD, max(1, (width - _APART * keys) // (keys + 1)))
        words = [min(longest, most) for longest in words]
    parts = [list(range(keys))]
    for index in range(keys, len(columns)):
        if len(parts[-1]) > keys and _total([words[i] for i in [*parts[-1], index]]) > width:
            parts.append(list(range(keys)))
        parts[-1].append(index)
    return [_folded([columns[i] for i in part], [words[i] for i in part], width) for part in parts]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _APART * (len(widths) - 1)


def _folded(columns: Sequence[Sequence[str]], least: list[int], width: int) -> Cells:
    """Columns broken to the least widths; what room is left goes to the first that can use it."""
    spare, folded = width - _total(least), []
    for column, narrow in zip(columns, least, strict=True):
        taken = max(0, min(max(map(len, column)) - narrow, spare))
        spare -= taken
        folded.append(["\n".join(textwrap.wrap(cell, narrow + taken, break_on_hyphens=False)) for cell in column])
    return [list(row) for row in zip(*folded, strict=True)]


def to_markdown(table: Table) -> str:
    def escape(text: str) -> str:
        return "".join(f"\\{character}" if character in "\\`*_|<[]~" else character for character in text)

    header, *rows = _aligned(_cells(table, escape))
    rule = ["-" * len(cell) for cell in header]
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


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "−": "$-$",
    "×": r"$\times$",
    "–": "--",
    "…": r"\ldots{}",
    "✓": r"$\surd$",
    # Behind the \\ of the row before, a bare [ or * would be read as its argument.
    "[": "{[}",
    "*": "{*}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def to_latex(table: Table) -> str:
    """A table environment that needs no package."""

    def escape(text: str) -> str:
        return "".join(_LATEX.get(character, character) for character in text)

    header, *rows = [rf"{' & '.join(row)} \\" for row in _aligned(_cells(table, escape))]
    caption = rf"\caption{{{escape(table.title)}. {escape(_printable(table.caption))}}}"
    columns = rf"\begin{{tabular}}{{{'l' * len(table.header)}}}"
    body = [columns, r"\hline", header, r"\hline", *rows, r"\hline", r"\end{tabular}"]
    return "\n".join([r"\begin{table}", r"\centering", caption, *body, r"\end{table}"]) + "\n"


FORMATS = {"markdown": to_markdown, "latex": to_latex, "json": to_json, "csv": to_csv}
"""What a table can be written in, beside text for a terminal."""
