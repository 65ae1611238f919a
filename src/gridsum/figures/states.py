"""States at rest on two principal components, the same for all panels, one for each problem space."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from gridsum.analysis.states import Study
from gridsum.figures.ring import COLOURS
from gridsum.figures.style import INK, QUIET, Picture, styled
from gridsum.symbols import ALPHABET, FIRST_DIGIT, PAD

_MOST_POINTS = 2500
"""Drawn in a panel; planes and means are of all."""
_MARKS = {0: "o", 1: "^"}


@styled
def plot_states(studies: Sequence[Study]) -> Picture:
    """Cells at rest, coloured and named by the digit of the sum so far, their marks by the carry into them."""
    figure = Picture(figsize=(3.7 * len(studies), 4.3), layout="constrained")
    panels = figure.subplots(1, len(studies), squeeze=False, sharex=True, sharey=True)[0]
    for axes, study in zip(panels, studies, strict=True):
        _draw(axes, study)
    kinds = {"no carry comes in": "o", "a carry comes in": "^", "another symbol is read": "x"}
    handles = [Line2D([], [], color=INK, marker=mark, linestyle="", markersize=4) for mark in kinds.values()]
    figure.legend(handles, list(kinds), loc="outside lower center", ncols=3, fontsize=7)
    return figure


def _draw(axes: Axes, study: Study) -> None:
    chosen = np.linspace(0, len(study.points) - 1, min(_MOST_POINTS, len(study.points))).astype(int)
    for carry, mark in _MARKS.items():
        here = chosen[study.carries[chosen] == carry]
        colours = [_colour(symbol) for symbol in study.digits[here]]
        axes.scatter(*study.points[here].T, s=7, c=colours, marker=mark, alpha=0.5, linewidths=0, rasterized=True)
    axes.scatter(*study.points[study.wrong].T, s=14, c=INK, marker="x", linewidths=0.8)
    for symbol in np.unique(study.digits):
        x, y = study.points[study.digits == symbol].mean(0)
        name = "blank" if symbol == PAD else ALPHABET[symbol]
        text = axes.text(x, y, name, ha="center", va="center", fontsize=10, fontweight="bold")
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])
    axes.set_xlabel("component 1", fontsize=7, color=QUIET, labelpad=1)
    axes.set_ylabel("component 2", fontsize=7, color=QUIET, labelpad=1)
    axes.tick_params(labelbottom=False, labelleft=False, length=0)
    explained = 1 - study.explained["digit, carry and own symbol"].within
    axes.set_title(
        f"{study.space}: {study.right:.2%} of the cells read the sum so far\n"
        f"digit, carry and own symbol explain {explained:.0%} of the variance",
        fontsize=7,
    )


def _colour(symbol: int) -> tuple[float, float, float]:
    return (0.6, 0.6, 0.6) if symbol == PAD else COLOURS[symbol - FIRST_DIGIT]
