"""A table of text, and the forms it is printed in."""

import html
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, zip_longest

_CAPTION_WIDTH = 100
_LONG_WORD = 24
"""What is longer than this is broken anywhere, where there is not enough room."""
_NARROW = 5
"""No column is made narrower than this."""
_APART = 2
"""Spaces between columns."""


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
    """For a terminal of so many columns; None for any width.

    Where a table is wider, its cells are broken at spaces. Where that is not enough, it is shown in parts that all
    begin with the same columns.
    """
    cells = _escaped(table, str)
    parts = [cells] if width is None else _fitted(cells, table.keys, width)
    caption = textwrap.fill(
        _printable(table.caption), min(width or _CAPTION_WIDTH, _CAPTION_WIDTH), break_on_hyphens=False
    )
    title = table.title if width is None else textwrap.fill(table.title, width)
    return "\n\n".join([title, *map(_drawn, parts), caption]) + "\n"


def _drawn(cells: list[list[str]]) -> str:
    first = len(_lines_of(cells[0]))
    aligned = _aligned([line for row in cells for line in _lines_of(row)])
    rule = ["─" * len(cell) for cell in aligned[0]]
    return "\n".join((" " * _APART).join(row).rstrip() for row in (*aligned[:first], rule, *aligned[first:]))


def _fitted(cells: list[list[str]], keys: int, width: int) -> list[list[list[str]]]:
    """The table, or its parts, with cells broken so that they are no wider than this."""
    columns = [list(column) for column in zip(*cells, strict=True)]
    whole = [max(_width(word) for cell in column for word in [*cell.split(), ""]) for column in columns]
    least = [min(most, _LONG_WORD) for most in whole]
    shares = [tuple(range(len(columns)))] if _total(whole) <= width else _shares(least, keys, width)
    parts = []
    for share in shares:
        chosen = [columns[index] for index in share]
        widths = _narrowed([max(map(_width, column)) for column in chosen], [whole[index] for index in share], width)
        widths = _narrowed(widths, [least[index] for index in share], width)
        widths = _narrowed(widths, [_NARROW] * len(share), width)
        folded = [
            ["\n".join(textwrap.wrap(cell, most, break_on_hyphens=False)) for cell in column]
            for column, most in zip(chosen, widths, strict=True)
        ]
        parts.append([list(row) for row in zip(*folded, strict=True)])
    return parts


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _APART * (len(widths) - 1)


def _narrowed(widths: list[int], least: list[int], width: int) -> list[int]:
    """Column widths, the widest taken from first, until their sum fits or all are as narrow as they may be."""
    widths = list(widths)
    while _total(widths) > width:
        able = [index for index in range(len(widths)) if widths[index] > least[index]]
        if not able:
            break
        widths[max(able, key=lambda index: widths[index])] -= 1
    return [max(1, most) for most in widths]


def _shares(least: list[int], keys: int, width: int) -> list[tuple[int, ...]]:
    """Which columns stand in which part: in as few as can be, and those as narrow as can be."""
    count, kept = len(least), tuple(range(keys))

    def cut(places: tuple[int, ...]) -> list[tuple[int, ...]]:
        return [(*kept, *range(start, end)) for start, end in pairwise((keys, *places, count))]

    def widest(parts: list[tuple[int, ...]]) -> int:
        return max(_total([least[index] for index in part]) for part in parts)

    for cuts in range(count - keys):
        best = min((cut(places) for places in combinations(range(keys + 1, count), cuts)), key=widest)
        if widest(best) <= width:
            return best
    return cut(tuple(range(keys + 1, count)))


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
