"""Grids of symbols, drawn on axes: one unit a cell, row 0 at the top."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from gridsum.analysis.placement import SHARED
from gridsum.figures.style import INK, LINE
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
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor=fill, edgecolor=LINE, linewidth=0.7))
            text = "?" if cell.code == SHARED else "" if cell.code == PAD else alphabet[cell.code]
            axes.text(
                j + 0.5,
                i + 0.52,
                text,
                ha="center",
                va="center",
                fontsize=size,
                color=INK,
                alpha=0.3 + 0.7 * cell.confidence,
                fontweight="bold" if cell.changed else "normal",
            )
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if cell.changed:  # above all fills, so that no neighbour covers the frame
                frame = Rectangle((j + 0.04, i + 0.04), 0.92, 0.92, fill=False, edgecolor=CHANGED_EDGE, linewidth=1.4)
                axes.add_patch(frame)
    axes.set_xlim(-0.05, width + 0.05)
    axes.set_ylim(height + 0.05, -0.05)
    axes.set_axis_off()
    axes.set_aspect("equal")
