"""A rule as a picture: one problem at rest, and what a column becomes."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from gridsum.automaton.meaning import Meaning, Sum, meaning_of
from gridsum.automaton.run import Run, size_of
from gridsum.automaton.table import RuleTable
from gridsum.figures.cells import ANSWER, MOST_CELLS, PLAIN
from gridsum.figures.style import QUIET, FigureError, Picture, bare, square, styled, write
from gridsum.tasks import PAD
from gridsum.tasks.alphabet import LETTERS

_CELL = 0.36
"""Inches."""
_TINTS = ("#f9d9a6", "#cfe8d5", "#f2d3e2", "#d8d4ee", "#e4e0d0")
"""One for each carry; where there are more, tints come again, and the small letters tell them apart."""
_ACROSS, _DOWN = 32, 60
"""Cells: so wide tables of columns stand side by side, and so many rows are drawn."""


@styled
def plot_rule(table: RuleTable, terms: Sequence[str]) -> Picture:
    """A carry stands small in the corner on the side that it goes to, and tints its cell."""
    meaning, size, base = meaning_of(table), size_of(terms, table.task), table.task.alphabet.base
    every, per_shelf = list(meaning.columns()), max(1, _ACROSS // (base + 4))
    shelves = [every[first : first + per_shelf] for first in range(0, len(every), per_shelf)]
    depths = [3 + max(len(rows) for _, rows in shelf) for shelf in shelves]
    if size.height * size.width > MOST_CELLS or sum(depths) > _DOWN:
        raise FigureError(
            f"{size.height} × {size.width} cells and {sum(depths)} rows of cases are too many for a picture; choose a "
            f"smaller base, such as {table.task.name.partition(':')[0]}:base=3, or a shorter problem"
        )
    start, height = size.width + 3, max(sum(depths), size.height + 2) + 1
    width = start + (base + 4) * len(shelves[0])
    figure = Picture(figsize=(_CELL * width, _CELL * height))
    axes = figure.add_axes((0, 0, 1, 1))
    bare(axes, height, width, 0)
    _draw_rest(axes, table, meaning, terms)
    write(axes, start, 0.8, "A column: own digit ↓, digit or blank below →", 9, ha="left")
    for number, shelf in enumerate(shelves):
        for place, (heading, rows) in enumerate(shelf):
            _draw_columns(axes, start + (base + 4) * place, 2 + sum(depths[:number]), heading, rows, meaning)
    return figure


def _draw_rest(axes: Axes, table: RuleTable, meaning: Meaning, terms: Sequence[str]) -> None:
    run = Run.of(table, terms)
    run.advance()
    lowest = len(run.grid) - 1
    write(axes, 1, 0.8, f"{table.task.render(terms)} at rest", 9, ha="left")
    for i in range(lowest + 1):
        for j in range(len(run.grid[0])):
            x, state = int(run.symbols[i, j]), int(run.grid[i, j])
            shown = i < lowest and table.outputs[state] != PAD
            low = i + 1 >= lowest or table.outputs[run.grid[i + 1, j]] == PAD
            carry = meaning.carry(x, low, state) if i < lowest else None
            _draw_cell(axes, 1 + j, 2 + i, table.text(state) if shown else "", carry, meaning, PLAIN if i else ANSWER)
            write(axes, 1.22 + j, 2.8 + i, table.task.alphabet.cell_symbols[x].strip(), 6.5, color=QUIET)


def _draw_columns(
    axes: Axes, x: float, y: float, heading: str, rows: dict[str, list[set[Sum]]], meaning: Meaning
) -> None:
    write(axes, x + 1, y - 0.2, heading, 8, ha="left", color=QUIET)
    for below in range(meaning.check.rule.base + 1):
        write(axes, x + 1.5 + below, y + 0.6, f"·{LETTERS}"[below], 8, color=QUIET)
    for line, (name, cells) in enumerate(rows.items(), 1):
        write(axes, x + 0.8, y + line + 0.5, name, 8, ha="right", color=QUIET)
        for below, values in enumerate(cells):
            if len(values) == 1:
                (value,) = values
                _draw_cell(axes, x + 1 + below, y + line, LETTERS[value.digit], value.carry, meaning, PLAIN)
            elif values:
                _draw_cell(axes, x + 1 + below, y + line, "?", None, meaning, PLAIN)


def _draw_cell(axes: Axes, x: float, y: float, digit: str, carry: int | None, meaning: Meaning, fill: str) -> None:
    row = meaning.check.rule.row
    told = "" if carry in (None, row.nothing) else row.name(carry)
    square(axes, x, y, fill=_TINTS[(carry or 1) % len(_TINTS) - 1] if told else fill)
    write(axes, x + 0.55, y + 0.55, digit, 10)
    right = row.rightward
    write(axes, x + (0.92 if right else 0.08), y + 0.22, told, 5.5, ha="right" if right else "left")
