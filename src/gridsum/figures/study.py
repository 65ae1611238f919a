"""What many runs came to: the paper's numbers among ours, and carries through more and more columns."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from gridsum.evaluation.records import Record
from gridsum.figures.style import DASHES, INK, LINE, MARKERS, QUIET, RIGHT, SERIES, WRONG, FigureError, Picture, styled

_ROW = 0.19  # inches
_MEANS = {"char": "share of characters right", "seq": "share of whole sums right"}
_VERDICTS = {"inside": ("D", INK), "above": ("v", RIGHT), "below": ("^", WRONG)}
"""How the paper's number is marked: a triangle points to where ours lie."""


@styled()
def plot_numbers(numbers: Sequence[Any]) -> Picture:
    """Every number of Tables III and IV (`gridsum.study.tables.Number`) on a line: the paper's, the replications'."""
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
        axes.set(xlim=(-0.04, 1.04), ylim=(len(rows) - 0.4, -0.6), xlabel=_MEANS[measure])
        axes.set_yticks(range(len(rows)), [f"{variant} {suite}" for variant, suite in rows], fontsize=7)
    handles = [panels["seq"].plot([], [], "|-", color=QUIET)[0]]
    handles += [
        panels["seq"].plot([], [], marker, markerfacecolor="none", markeredgecolor=colour)[0]
        for marker, colour in _VERDICTS.values()
    ]
    labels = ["ours", "the paper's, inside", "the paper's, ours above", "the paper's, ours below"]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=7.5)
    return figure


@styled()
def plot_carries(records: Sequence[Record]) -> Picture:
    """Whole sums right, and steps, by the columns a carry crosses: the median over runs, as a band the middle half."""
    found: dict[str, dict[int, list[Record]]] = {}
    for record in records:
        family, _, _ = record.suite.partition(":")
        if family.startswith("carry-"):
            lengths = found.setdefault(PurePath(record.model).name, {})
            lengths.setdefault(int(family.removeprefix("carry-")), []).append(record)
    if not found:
        raise FigureError(
            "the records hold no carries of a known length; evaluate them first: "
            "gridsum evaluate --suite structured --out records.jsonl"
        )
    figure = Picture(figsize=(7.4, 3.2), layout="constrained")
    right, steps = figure.subplots(1, 2, sharex=True)
    for index, (model, lengths) in enumerate(sorted(found.items())):
        colour, marker, dash = (styles[index % len(styles)] for styles in (SERIES, MARKERS, DASHES))
        style = {"color": colour, "marker": marker, "linestyle": dash, "markersize": 4}
        runs = max(map(len, lengths.values()))
        _band(right, {n: [one.seq for one in lengths[n]] for n in sorted(lengths)}, f"{model} ({runs})", style)
        _band(steps, {n: [one.steps_mean or 0.0 for one in lengths[n]] for n in sorted(lengths)}, "", style)
    right.set(ylim=(-0.03, 1.03), ylabel="share of whole sums right")
    steps.set(ylim=(0, None), ylabel="mean steps until halting")
    for axes in (right, steps):
        axes.set_xlabel("columns that one carry crosses, in sums of 2x10")
        axes.set_xticks(sorted({n for lengths in found.values() for n in lengths}))
    title = "median over (so many) runs; bands: the middle half"
    figure.legend(loc="outside lower center", ncols=4, fontsize=7.5, title=title)
    return figure


def _band(axes: Axes, values: Mapping[int, Sequence[float]], label: str, style: dict[str, Any]) -> None:
    low, middle, high = np.array([np.quantile(found, (0.25, 0.5, 0.75)) for found in values.values()]).T
    axes.plot(list(values), middle, label=label, **style)
    axes.fill_between(list(values), low, high, color=style["color"], alpha=0.12, linewidth=0)
