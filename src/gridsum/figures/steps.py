"""One computation: the input written onto the grid, and the grid from step to step."""

from itertools import zip_longest

import torch

from gridsum.analysis.placement import SHARED, written
from gridsum.data.answers import Answer
from gridsum.figures.cells import MOST_CELLS, Cell, draw_cells, spelled
from gridsum.figures.style import INK, QUIET, FigureError, Picture, styled, write
from gridsum.model.inside import Trace
from gridsum.ops.placement.plain import ACTIONS

_MOST_COLUMNS = 60

ACTION_MEANINGS = {"TLU": "append to the top row", "NLP": "push a new row", "NOP": "leave out"}
_CELL = 0.32
"""Inches."""
_PANELS_A_ROW = 6
_LEGEND = (
    "What the output layer reads in every cell; steps without a change are left out.\n"
    "Tinted: the row of the answer. Framed and bold: changed since the panel before. Faint: unsure."
)


@styled
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
    placed = written(trace, answer.placement)
    draw_cells(right, [[Cell(code) for code in row] for row in placed.tolist()], 12, trace.alphabet)
    shared = "\n?: several symbols share the cell" if (placed == SHARED).any() else ""
    right.set_title(f"The grid it makes ({answer.placement}){shared}")
    return figure


@styled
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
    figure.suptitle(verdict(answer), x=0.01, ha="left", fontsize=11)
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


def verdict(answer: Answer) -> str:
    """The expression, the answer, and whether it is right."""
    said = answer.answer or "nothing"
    end = f"right, after {steps_of(answer)}" if answer.correct else f"wrong: it is {answer.expected}"
    return f"{answer.expression}{said}   {'✓' if answer.correct else '✗'} {end}"


def steps_of(answer: Answer) -> str:
    return f"{answer.steps} step{'' if answer.steps == 1 else 's'}"


def check_size(trace: Trace) -> None:
    height, width = trace.grids.shape[1:3]
    if height * width > MOST_CELLS or width > _MOST_COLUMNS:
        raise FigureError(
            f"a grid of {height} × {width} cells is too large for a picture; choose a sum of at most "
            f"{_MOST_COLUMNS - 1} digits and {MOST_CELLS} cells"
        )
