"""What a rule makes of one problem: the grid at rest, as a picture."""

from collections.abc import Sequence

from gridsum.automaton.meaning import meaning_of
from gridsum.automaton.run import Run, size_of
from gridsum.automaton.table import RuleTable
from gridsum.figures.steps import ANSWER, MOST_CELLS, PLAIN
from gridsum.figures.style import QUIET, FigureError, Picture, bare, square, styled, write
from gridsum.tasks import PAD

_CELL = 0.36  # inches
_TINTS = ("#f9d9a6", "#cfe8d5", "#f2d3e2", "#d8d4ee", "#e4e0d0")
"""One for each carry; where there are more, tints come again, and the small letters tell them apart."""


@styled()
def plot_rule(table: RuleTable, terms: Sequence[str]) -> Picture:
    """A carry stands small in the corner on the side that it goes to, and tints its cell."""
    meaning, size = meaning_of(table), size_of(terms, table.task)
    if size.height * size.width > MOST_CELLS:
        raise FigureError(f"{size.height} × {size.width} cells are too many for a picture; choose a shorter problem")
    run, row = Run.of(table, terms), meaning.check.rule.row
    run.advance()
    (rows, columns), title = run.grid.shape, f"{table.task.render(terms)} at rest"
    width = max(columns, len(title) / 3) + 2
    figure = Picture(figsize=(_CELL * width, _CELL * (rows + 3)))
    axes = figure.add_axes((0, 0, 1, 1))
    bare(axes, rows + 3, width, 0)
    write(axes, 1, 0.8, title, 9, ha="left")
    for i in range(rows):
        for j in range(columns):
            x, y, symbol, state = 1 + j, 2 + i, int(run.symbols[i, j]), int(run.grid[i, j])
            shown = i < rows - 1 and table.outputs[state] != PAD
            lowest = i + 2 >= rows or table.outputs[run.grid[i + 1, j]] == PAD
            carry = meaning.carry(symbol, lowest, state) if i < rows - 1 else None
            told = "" if carry in (None, row.nothing) else row.name(carry)
            square(axes, x, y, fill=_TINTS[(carry or 1) % len(_TINTS) - 1] if told else PLAIN if i else ANSWER)
            write(axes, x + 0.55, y + 0.55, table.text(state) if shown else "", 10)
            corner, side = (x + 0.92, "right") if row.rightward else (x + 0.08, "left")
            write(axes, corner, y + 0.22, told, 5.5, ha=side)
            write(axes, x + 0.22, y + 0.8, table.task.alphabet.cell_symbols[symbol].strip(), 6.5, color=QUIET)
    return figure
