"""One computation: the input written onto the grid, and the grid from step to step."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

import torch
from matplotlib.axes import Axes

from gridsum.data.answers import Answer
from gridsum.figures.style import INK, QUIET, FigureError, Picture, bare, square, styled, write
from gridsum.model.inside import SHARED, Trace
from gridsum.ops.placement.plain import ACTIONS
from gridsum.tasks import PAD

PLAIN, ANSWER, CHANGED = "#ffffff", "#dcebf7", "#f9d9a6"
CHANGED_EDGE = "#b35900"
MOST_CELLS = 600
"""Grids beyond this are no picture any more: a symbol would be smaller than a millimetre."""
_MOST_COLUMNS = 60
ACTION_MEANINGS = {"TLU": "append to the top row", "NLP": "push a new row", "NOP": "leave out"}
_CELL = 0.32  # inches
_PANELS_A_ROW = 6
_LEGEND = (
    "What the output layer reads in every cell; steps without a change are left out.\n"
    "Tinted: the row of the answer. Framed and bold: changed since the panel before. Faint: unsure."
)


class Cell(NamedTuple):
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
    placed = [(i, j, cell) for i, row in enumerate(cells) for j, cell in enumerate(row)]
    for i, j, cell in placed:
        square(axes, j, i, fill=CHANGED if cell.changed else ANSWER if i == 0 else PLAIN)
        text = "?" if cell.code == SHARED else "" if cell.code == PAD else alphabet[cell.code]
        weight = "bold" if cell.changed else "normal"
        write(axes, j + 0.5, i + 0.52, text, size, alpha=0.3 + 0.7 * cell.confidence, fontweight=weight)
    for i, j, cell in placed:
        if cell.changed:  # above all fills, so that no neighbour covers the frame
            square(axes, j + 0.04, i + 0.04, 0.92, edge=CHANGED_EDGE, thick=1.4)
    bare(axes, height, width)


@styled()
def plot_placement(trace: Trace, answer: Answer) -> Picture:
    """The probability of each action for each symbol of the input, and the grid that results (the paper's Fig. 4)."""
    check_size(trace)
    height, width = trace.grids.shape[1:3]
    count = len(trace.symbols)
    size = 0.42 * (count + width) + 2.7, max(1.26, 0.42 * height) + 0.85
    figure = Picture(figsize=size, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(count, width))
    probabilities = trace.actions.T.double().cpu().numpy()
    left.imshow(probabilities, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for action, symbol in ((a, s) for a in range(len(ACTIONS)) for s in range(count)):
        value = probabilities[action, symbol]
        colour = "white" if value > 0.6 else INK if value >= 0.005 else QUIET
        write(left, symbol, action, f"{value:.2f}".lstrip("0"), 7.5, color=colour)
    left.set_xticks(range(count), [trace.alphabet[code] for code in trace.symbols.tolist()], fontsize=12, color=INK)
    left.set_yticks(range(len(ACTIONS)), [f"{name}\n{ACTION_MEANINGS[name]}" for name in ACTIONS], fontsize=7.5)
    left.tick_params(length=0)
    left.grid(False)
    left.set_title("Probability of each action, symbol by symbol")
    placed = trace.written(answer.placement)
    draw_cells(right, [[Cell(code) for code in row] for row in placed.tolist()], 12, trace.alphabet)
    shared = "\n?: several symbols share the cell" if (placed == SHARED).any() else ""
    right.set_title(f"The grid it makes ({answer.placement}){shared}")
    return figure


@styled()
def plot_steps(trace: Trace, answer: Answer) -> Picture:
    """The grid before any step and after every step that changed a symbol, up to the answer."""
    check_size(trace)
    readings = cells_of(trace)
    last = len(readings) - 1
    shown = [n for n, cells in enumerate(readings) if n in (0, last) or changed(cells)]
    height, width = trace.grids.shape[1:3]
    columns = min(_PANELS_A_ROW, len(shown))
    rows = -(-len(shown) // columns)
    size = max((max(_CELL * width, 1.35) + 0.3) * columns, 6.5), (_CELL * height + 0.6) * rows + 0.8
    figure = Picture(figsize=size, layout="constrained")
    verdict = f"✓ right, after {answer.taken}" if answer.correct else f"✗ wrong: it is {answer.expected}"
    title = f"{answer.expression}{answer.answer or 'nothing'}   {verdict}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.supxlabel(_LEGEND, x=0.01, ha="left", fontsize=7, color=QUIET)
    for n, axes in zip_longest(shown, figure.subplots(rows, columns, squeeze=False).flat):
        if n is None:
            axes.remove()
            continue
        draw_cells(axes, readings[n], 11, trace.alphabet)
        name = "before any step" if n == 0 else f"step {n}" + (": halts" if n == last else "")
        halting = "" if trace.halting is None else f"  λ = {float(trace.halting[n]):.2f}"
        read = spelled(readings[n][0], trace.alphabet) or "nothing"
        axes.set_title(f"{name}\nreads {read}{halting}", fontsize=7.5)
    return figure


def changed(cells: list[list[Cell]]) -> bool:
    return any(cell.changed for row in cells for cell in row)


def cells_of(trace: Trace) -> list[list[list[Cell]]]:
    """What every cell reads at each n, and whether that has changed."""
    confidence, codes = trace.decoded.max(-1)
    changed = torch.cat((torch.zeros_like(codes[:1], dtype=torch.bool), codes[1:] != codes[:-1]))
    return [
        [[Cell(*cell) for cell in zip(*rows, strict=True)] for rows in zip(*planes, strict=True)]
        for planes in zip(codes.tolist(), changed.tolist(), confidence.tolist(), strict=True)
    ]


def check_size(trace: Trace) -> None:
    height, width = trace.grids.shape[1:3]
    if height * width > MOST_CELLS or width > _MOST_COLUMNS:
        raise FigureError(
            f"a grid of {height} × {width} cells is too large for a picture; choose a sum of at most "
            f"{_MOST_COLUMNS - 1} digits and {MOST_CELLS} cells"
        )
