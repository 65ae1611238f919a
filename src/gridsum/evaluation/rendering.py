"""A table of text, and the forms it is printed in."""

import html
import textwrap
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest

_CAPTION_WIDTH = 100


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


def _width(text: str) -> int:
    """Columns of a terminal: wide characters take two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) != 0 for character in text)


def _aligned(cells: list[list[str]]) -> list[list[str]]:
    widths = [max(_width(cell) for cell in column) for column in zip(*cells, strict=True)]
    return [[cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)] for row in cells]


def _escaped(table: Table, escape: Callable[[str], str]) -> list[list[str]]:
    return [[escape(_printable(cell)) for cell in row] for row in (table.header, *table.rows)]


def to_text(table: Table, width: int | None = None) -> str:
    """For a terminal of so many columns: where a table is wider, cells are broken at spaces; None for any width."""
    cells = _escaped(table, str)
    if width is not None:
        cells = _broken(cells, width)
    first = len(_lines_of(cells[0]))
    lines = [line for row in cells for line in _lines_of(row)]
    aligned = _aligned(lines)
    rule = ["─" * len(cell) for cell in aligned[0]]
    shown = ["  ".join(row).rstrip() for row in (*aligned[:first], rule, *aligned[first:])]
    caption = textwrap.fill(
        _printable(table.caption), min(width or _CAPTION_WIDTH, _CAPTION_WIDTH), break_on_hyphens=False
    )
    return "\n".join([table.title, "", *shown, "", caption]) + "\n"


def _broken(cells: list[list[str]], width: int) -> list[list[str]]:
    """The cells with line breaks at spaces, the widest columns first, until the lines fit or no space is left."""
    columns = [list(column) for column in zip(*cells, strict=True)]
    least = [max(_width(word) for cell in column for word in [*cell.split(), ""]) for column in columns]
    widths = [max(_width(cell) for cell in column) for column in columns]
    while sum(widths) + 2 * (len(widths) - 1) > width:
        able = [index for index in range(len(widths)) if widths[index] > least[index]]
        if not able:
            break
        widths[max(able, key=lambda index: widths[index])] -= 1
    folded = [
        ["\n".join(textwrap.wrap(cell, most, break_long_words=False, break_on_hyphens=False)) for cell in column]
        for column, most in zip(columns, (max(1, most) for most in widths), strict=True)
    ]
    return [list(row) for row in zip(*folded, strict=True)]


def _lines_of(row: list[str]) -> list[list[str]]:
    """A row of cells that may have several lines, line by line."""
    return [list(line) for line in zip_longest(*(cell.split("\n") for cell in row), fillvalue="")]


def to_markdown(table: Table) -> str:
    def escape(text: str) -> str:
        return "".join(f"\\{character}" if character in "\\`*_|<[]~" else character for character in text)

    header, *rows = _aligned(_escaped(table, escape))
    rule = ["-" * len(cell) for cell in header]
    lines = [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]
    return "\n".join([f"**{escape(table.title)}**", "", *lines, "", escape(_printable(table.caption))]) + "\n"


def to_html(table: Table) -> str:
    """For a notebook."""
    header, *rows = _escaped(table, html.escape)
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

    header, *rows = [rf"{' & '.join(row)} \\" for row in _aligned(_escaped(table, escape))]
    caption = f"{escape(table.title)}. {escape(_printable(table.caption))}"
    return (
        "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{caption}}}",
                rf"\begin{{tabular}}{{{'l' * len(table.header)}}}",
                r"\hline",
                header,
                r"\hline",
                *rows,
                r"\hline",
                r"\end{tabular}",
                r"\end{table}",
            ]
        )
        + "\n"
    )
