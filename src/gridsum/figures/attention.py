"""Attention rules: where a head looks on average, where each cell looks at one step, and what decides it."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from torch import Tensor

from gridsum.analysis.attention import TERMS, HeadRule, clearest
from gridsum.figures.steps import check_size
from gridsum.figures.style import INK, LINE, QUIET, SERIES, Picture, bare, square, styled, write
from gridsum.tasks import PAD

if TYPE_CHECKING:
    from gridsum.model.inside import Trace

_MAP = colormaps["Blues"]
_LABELS = ("position-based", "content-based", "mixed", "unselective")
# Of one cell, so many steps are drawn at most.
_PANELS, _PANELS_A_ROW = 24, 6


@styled
def plot_attention(trace: "Trace", rules: Sequence[HeadRule]) -> Picture:
    """The clearest position-based and the clearest content-based rule of one computation (the paper's Fig. 5).

    `rules` are those that `gridsum.analysis.attention.head_rules` finds in this trace.
    """
    check_size(trace)
    kernel = math.isqrt(len(rules[0].mean_attention))
    height, width = trace.grids.shape[1:3]
    grid_width, row_height = max(3.0, 0.62 * width), max(1.9, 0.62 * height)
    figure = Picture(figsize=(grid_width + 6.0, 2 * (row_height + 0.95) + 0.55), layout="constrained")
    labels = [rule.label for rule in rules]
    counted = ", ".join(f"{labels.count(label)} {label}" for label in _LABELS if label in labels)
    figure.suptitle(f"{len(rules)} heads: {counted}", x=0.01, ha="left", fontsize=10)
    panels = figure.subplots(2, 3, width_ratios=(1.9, grid_width, 2.1))
    for row, rule in zip(panels, (clearest(rules, "position"), clearest(rules, "content")), strict=True):
        _draw_mean(row[0], rule, kernel)
        _draw_field(row[1], trace, rule, kernel)
        _draw_parts(row[2], rule)
    return figure


@styled
def plot_cell(
    trace: "Trace", attention: Tensor, neighbours: Sequence[tuple[int, int]], cell: tuple[int, int], head: int | None
) -> Picture:
    """What one cell looks at, step by step: the share of its attention that each neighbour has, and what that reads as.

    `attention` is [N,K,H,W,h], for K neighbours at so many rows down and columns to the right; without a `head`, it is
    the mean of all.
    """
    (row, column), (height, width) = cell, trace.grids.shape[1:3]
    weights = attention[:_PANELS, :, row, column]
    weights = weights.mean(-1) if head is None else weights[..., head]
    reach = max(max(abs(down), abs(right)) for down, right in neighbours)
    side, across = 2 * reach + 1, min(len(weights), _PANELS_A_ROW)
    rows = -(-len(weights) // across)
    size = max(across * (0.5 * side + 0.3) + 0.3, 5.5), rows * (0.5 * side + 0.4) + 0.8
    figure = Picture(figsize=size, layout="constrained")
    whose = f"all {attention.shape[-1]} heads, on average" if head is None else f"head {head}"
    figure.suptitle(f"Where the cell in row {row}, column {column} looks: {whose}", x=0.01, ha="left", fontsize=10)
    told = "Large: what a neighbour reads as. Small: its share of the attention. Hatched: outside the grid."
    figure.supxlabel(told, x=0.01, ha="left", fontsize=7, color=QUIET)
    symbols = ["" if code == PAD else symbol for code, symbol in enumerate(trace.alphabet)]
    codes = trace.decoded.argmax(-1).tolist()
    for n, axes in enumerate(figure.subplots(rows, across, squeeze=False).flat):
        if n >= len(weights):
            axes.remove()
            continue
        for (down, right), weight in zip(neighbours, weights[n].tolist(), strict=True):
            i, j = row + down, column + right
            inside = 0 <= i < height and 0 <= j < width
            x, y = reach + right, reach + down
            square(axes, x, y, fill=_shade(weight), hatch="" if inside else "///")
            colour = "white" if weight > 0.45 else INK
            write(axes, x + 0.5, y + 0.4, symbols[codes[n][i][j]] if inside else "", 11, color=colour)
            write(axes, x + 0.5, y + 0.8, f"{weight:.2f}".lstrip("0"), 6.5, color=colour)
        if (0, 0) not in neighbours:
            write(axes, reach + 0.5, reach + 0.4, symbols[codes[n][row][column]], 11)
        square(axes, reach, reach, edge=SERIES[1], thick=2)
        bare(axes, side, side)
        axes.set_title(f"step {n} to {n + 1}", fontsize=8)
    return figure


def _shade(weight: float) -> tuple[float, ...]:
    """Not linear, so that small differences between small weights can be seen."""
    return _MAP(weight**0.6)


def _draw_mean(axes: Axes, rule: HeadRule, kernel: int) -> None:
    for neighbour, weight in enumerate(rule.mean_attention):
        row, column = divmod(neighbour, kernel)
        square(axes, column, row, fill=_shade(weight))
        colour = "white" if weight > 0.45 else INK
        write(axes, column + 0.5, row + 0.5, f"{weight:.2f}".lstrip("0"), 8, color=colour)
    middle = kernel // 2
    square(axes, middle, middle, edge=INK, thick=1.6)
    bare(axes, kernel, kernel)
    axes.set_anchor("NW")
    axes.set_title(f"head {rule.head}: {rule.label}\non average, mostly {_direction(rule, kernel)}")


def _direction(rule: HeadRule, kernel: int) -> str:
    """The way to the neighbour that gets most, in words."""
    row, column = divmod(max(range(kernel**2), key=rule.mean_attention.__getitem__), kernel)
    ways = ((row - kernel // 2, "down", "up"), (column - kernel // 2, "right", "left"))
    words = [(ahead if by > 0 else back) + (f" {abs(by)}" if abs(by) > 1 else "") for by, ahead, back in ways if by]
    return " ".join(words) or "on itself"


def _draw_field(axes: Axes, trace: "Trace", rule: HeadRule, kernel: int) -> None:
    """Every cell with its own attention inside it, as a small map of its neighbourhood."""
    height, width = trace.grids.shape[1:3]
    step = rule.example.step
    weights = trace.attention[step, :, :, :, rule.head]
    codes = trace.decoded[step].argmax(-1).tolist()
    gap, part = 0.07, (1 - 2 * 0.07) / kernel
    for i in range(height):
        for j in range(width):
            for neighbour, weight in enumerate(weights[:, i, j].tolist()):
                row, column = divmod(neighbour, kernel)
                square(axes, j + gap + column * part, i + gap + row * part, part, _shade(weight), "none")
            here = (i, j) == (rule.example.row, rule.example.column)
            edge, thick = (SERIES[1], 2.2) if here else (LINE, 0.8)
            square(axes, j + gap, i + gap, 1 - 2 * gap, edge=edge, thick=thick)
            symbol = "" if codes[i][j] == PAD else trace.alphabet[codes[i][j]]
            text = write(axes, j + 0.5, i + 0.52, symbol, 12)
            text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
    bare(axes, height, width, room=0)
    axes.set_anchor("NW")
    shows = "most like" if rule.label == "position-based" else "least like"
    axes.set_title(f"where each cell looks, from step {step} to {step + 1}\n(thick frame: {shows} the average)")


def _draw_parts(axes: Axes, rule: HeadRule) -> None:
    parts = {"position": rule.position, "border": rule.border, "content": rule.content}
    for place, (value, hatch) in enumerate(zip(parts.values(), ("", "////", ".."), strict=True)):
        axes.barh(place, value, color=SERIES[4], edgecolor=INK, hatch=hatch, linewidth=0.7, height=0.6)
        axes.text(value, place, f" {value:.2f}", va="center", fontsize=7.5)
    axes.set_yticks(range(len(parts)), parts)
    axes.invert_yaxis()
    axes.set_xlim(0, max(*parts.values(), 0.1) * 1.3)
    axes.set_title("what decides it, in bits")
    shares = ", ".join(f"{name} {share:.2f}" for name, share in zip(TERMS, rule.term_shares, strict=True))
    axes.set_xlabel(f"shares in the score:\n{shares}", fontsize=7, color=QUIET, loc="left")
    axes.tick_params(labelsize=7.5)
