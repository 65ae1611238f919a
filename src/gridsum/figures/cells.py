"""Grids of symbols, drawn on axes: one unit a cell, row 0 at the top."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes

from gridsum.analysis.placement import SHARED
from gridsum.figures.style import bare, square, write
from gridsum.tasks import PAD

PLAIN, ANSWER, CHANGED = "#ffffff", "#dcebf7", "#f9d9a6"
CHANGED_EDGE = "#b35900"
MOST_CELLS = 600
"""Grids beyond this are no picture any more: a symbol would be smaller than a millimetre."""


class Cell(NamedTuple):
    """What is drawn in one cell."""

    code: int
    changed: bool = False
    confidence: float = 1.0


def spelled(cells: Iterable[Cell], alphabet: Sequence[str]) -> str:
    """What cells read as, blanks left out."""
    return "".join(alphabet[cell.code] for cell in cells if cell.code != PAD)


def draw_cells(axes: Axes, cells: Sequence[Sequence[Cell]], size: float, alphabet: Sequence[str]) -> None:
    """`size` is that of the symbols, in points. The top row, which is read as the answer, is tinted; what has
    changed is framed, filled and bold; what the network is unsure of is faint."""
    height, width = len(cells), len(cells[0])
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            fill = CHANGED if cell.changed else ANSWER if i == 0 else PLAIN
            square(axes, j, i, fill=fill)
            text = "?" if cell.code == SHARED else "" if cell.code == PAD else alphabet[cell.code]
            weight = "bold" if cell.changed else "normal"
            write(axes, j + 0.5, i + 0.52, text, size, alpha=0.3 + 0.7 * cell.confidence, fontweight=weight)
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if cell.changed:  # above all fills, so that no neighbour covers the frame
                square(axes, j + 0.04, i + 0.04, 0.92, edge=CHANGED_EDGE, thick=1.4)
    bare(axes, height, width)
