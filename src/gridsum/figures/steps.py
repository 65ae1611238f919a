"""One computation: the input written onto the grid, and the grid from step to step."""

from typing import TYPE_CHECKING

import torch

from gridsum.analysis.placement import SHARED, written
from gridsum.figures.cells import MOST_CELLS, Cell, draw_cells, spelled
from gridsum.figures.style import INK, QUIET, FigureError, Picture, styled, write
from gridsum.ops.placement.plain import ACTIONS

if TYPE_CHECKING:
    from gridsum.evaluation.solving import Answer
    from gridsum.model.inside import Trace

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
def plot_placement(trace: "Trace", answer: "Answer") -> Picture:
    """The probability of each action for each symbol of the input, and the grid that results (the paper's Fig. 4)."""
    check_size(trace)
    height, width = trace.grids.shape[1:3]
    count = len(trace.symbols)
    table, grid = 0.42 * count, 0.42 * width
    total, tall = table + grid + 2.7, max(1.26, 0.42 * height)
    bottom, body = 0.42 / (tall + 0.85), tall / (tall + 0.85)
    figure = Picture(figsize=(total, tall + 0.85))
    left = figure.add_axes((1.55 / total, bottom, table / total, body))
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
    right = figure.add_axes(((table + 2.0) / total, bottom, grid / total, body))
    placed = written(trace, answer.placement)
    draw_cells(right, [[Cell(code) for code in row] for row in placed.symbols.tolist()], 12, trace.alphabet)
    right.set_anchor("NW")
    shared = "\n?: several symbols share the cell" if (placed.symbols == SHARED).any() else ""
    right.set_title(f"The grid it makes ({answer.placement}){shared}")
    return figure


@styled
def plot_steps(trace: "Trace", answer: "Answer") -> Picture:
    """The grid before any step and after every step that changed a symbol, up to the answer."""
    check_size(trace)
    readings = cells_of(trace)
    shown = [n for n, cells in enumerate(readings) if n == 0 or any(cell.changed for row in cells for cell in row)]
    last = len(readings) - 1
    if shown[-1] != last:
        shown.append(last)
    height, width = trace.grids.shape[1:3]
    columns = min(_PANELS_A_ROW, len(shown))
    rows = -(-len(shown) // columns)
    panel_width, panel_height = max(_CELL * width, 1.35) + 0.3, _CELL * height + 0.75
    total_width, total_height = max(panel_width * columns + 0.2, 6.5), panel_height * rows + 0.85
    figure = Picture(figsize=(total_width, total_height))
    figure.text(0.15 / total_width, 1 - 0.22 / total_height, verdict(answer), fontsize=11, va="center")
    figure.text(0.15 / total_width, 1 - 0.53 / total_height, _LEGEND, fontsize=7, color=QUIET, va="center")
    for index, n in enumerate(shown):
        row, column = divmod(index, columns)
        left = (0.15 + column * panel_width) / total_width
        bottom = 1 - (0.85 + row * panel_height + 0.42 + _CELL * height) / total_height
        axes = figure.add_axes((left, bottom, _CELL * width / total_width, _CELL * height / total_height))
        draw_cells(axes, readings[n], 11, trace.alphabet)
        axes.set_anchor("NW")
        name = "before any step" if n == 0 else f"step {n}" + (": halts" if n == last else "")
        halting = "" if trace.halting is None else f"  λ = {float(trace.halting[n]):.2f}"
        read = spelled(readings[n][0], trace.alphabet) or "nothing"
        top = bottom + _CELL * height / total_height
        figure.text(left, top + 0.25 / total_height, name, fontsize=8, fontweight="bold")
        figure.text(left, top + 0.08 / total_height, f"reads {read}{halting}", fontsize=7, color=QUIET)
    return figure


def cells_of(trace: "Trace") -> list[list[list[Cell]]]:
    """What every cell reads at each n, and whether that has changed."""
    confidence, codes = trace.decoded.max(-1)
    changed = torch.cat((torch.zeros_like(codes[:1], dtype=torch.bool), codes[1:] != codes[:-1]))
    return [
        [[Cell(*cell) for cell in zip(*rows, strict=True)] for rows in zip(*planes, strict=True)]
        for planes in zip(codes.tolist(), changed.tolist(), confidence.tolist(), strict=True)
    ]


def verdict(answer: "Answer") -> str:
    """The expression, the answer, and whether it is right."""
    said = answer.answer or "nothing"
    end = f"right, after {steps_of(answer)}" if answer.correct else f"wrong: it is {answer.expected}"
    return f"{answer.expression}{said}   {'✓' if answer.correct else '✗'} {end}"


def steps_of(answer: "Answer") -> str:
    return f"{answer.steps} step{'' if answer.steps == 1 else 's'}"


def check_size(trace: "Trace") -> None:
    height, width = trace.grids.shape[1:3]
    if height * width > MOST_CELLS or width > _MOST_COLUMNS:
        raise FigureError(
            f"a grid of {height} × {width} cells is too large for a picture; choose a sum of at most "
            f"{_MOST_COLUMNS - 1} digits and {MOST_CELLS} cells"
        )
