"""The paper's numbers among those of our replications."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from gridsum.figures.style import INK, LINE, QUIET, RIGHT, WRONG, FigureError, Picture, styled

_ROW = 0.19
"""Inches."""
_MEANS = {"char": "share of characters right", "seq": "share of whole sums right"}
_VERDICTS = {"inside": ("D", INK), "above": ("v", RIGHT), "below": ("^", WRONG)}
"""How the paper's number is marked: a triangle points to where ours lie."""


@styled
def plot_numbers(numbers: Sequence[Any]) -> Picture:
    """Every number of Tables III and IV on a line of its own: the paper's, and those of the replications
    (`gridsum.study.tables.Number`)."""
    if not numbers:
        raise FigureError("no replication is measured yet; do that first: gridsum reproduce --only measure")
    rows = list(dict.fromkeys((number.variant, number.suite) for number in numbers))
    figure = Picture(figsize=(7.4, 1.2 + _ROW * len(rows)), layout="constrained")
    panels: dict[str, Axes] = dict(zip(_MEANS, figure.subplots(1, 2, sharey=True), strict=True))
    for number in numbers:
        axes, row = panels[number.measure], rows.index((number.variant, number.suite))
        marker, colour = _VERDICTS[number.verdict]
        axes.hlines(row, min(number.found), max(number.found), color=LINE, linewidth=3)
        axes.plot(number.found, [row] * len(number.found), "|", color=QUIET, markersize=7)
        axes.plot(number.known, row, marker, markersize=5, markerfacecolor="none", markeredgecolor=colour)
    for measure, axes in panels.items():
        axes.set_xlim(-0.04, 1.04)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(_MEANS[measure])
        axes.set_yticks(range(len(rows)), [f"{variant} {suite}" for variant, suite in rows], fontsize=7)
    handles = [panels["seq"].plot([], [], "|-", color=QUIET)[0]]
    handles += [
        panels["seq"].plot([], [], marker, markerfacecolor="none", markeredgecolor=colour)[0]
        for marker, colour in _VERDICTS.values()
    ]
    labels = ["ours", "the paper's, inside", "the paper's, ours above", "the paper's, ours below"]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=7.5)
    return figure
