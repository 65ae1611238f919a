"""Curves: scores against terms, steps over a training run."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gridsum.analysis.curves import TermsCurve, TrainingCurve
from gridsum.evaluation.intervals import Measure, interval
from gridsum.evaluation.paper import LONG_TERMS
from gridsum.figures.style import DASHES, INK, LINE_OF_LABELS, MARKERS, SERIES, Picture, styled

_LABELS_INSIDE = 2
"""Of more curves than this, labels would cover some."""
_REGULARISERS = {"explore-reinforce": "Explore-Reinforce", "kl": "KL to a geometric", "none": "no regulariser"}


@styled
def plot_terms(curves: Sequence[TermsCurve]) -> Picture:
    """Accuracy, and mean number of steps, against the number of terms (the paper's Fig. 2); crosses are the paper's."""
    figure = Picture(figsize=(6.4, 5.2), layout="constrained")
    accuracy, steps = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    crossed = set()
    for number, curve in enumerate(curves):
        colour, marker = SERIES[number % len(SERIES)], MARKERS[number % len(MARKERS)]
        terms, records = list(curve.records), curve.records.values()
        for name, dash in _DASHES.items():
            values = [getattr(record, name) for record in records]
            low, high = zip(*(interval(record, name) for record in records), strict=True)
            style = {"color": colour, "linestyle": dash, "marker": marker, "markersize": 4.5}
            hollow = {} if name == "char" else {"markerfacecolor": "white"}
            accuracy.plot(terms, values, label=f"{curve.label}, {_UNITS[name]}", **style, **hollow)
            accuracy.fill_between(terms, low, high, color=colour, alpha=0.15, linewidth=0)
        taken = [np.nan if record.steps_mean is None else record.steps_mean for record in records]
        steps.plot(terms, taken, color=colour, marker=marker, markersize=4.5, label=curve.label)
        scores = {} if curve.variant in crossed else LONG_TERMS.get(curve.variant, {})
        known = {count: scores[record.suite] for count, record in curve.records.items() if record.suite in scores}
        crossed.add(curve.variant)
        for name, cross in (("char", "x"), ("seq", "+")):
            if known:
                values = [getattr(score, name) for score in known.values()]
                label = f"{curve.variant} in the paper, {_UNITS[name]}"
                accuracy.plot(list(known), values, cross, color=INK, markersize=7, label=label)
    accuracy.set_ylim(-0.03, 1.03)
    accuracy.set_ylabel("accuracy")
    accuracy.set_title("Sums of more and more terms of 5 digits; bands: Wilson 95%")
    if len(curves) == 1:
        accuracy.legend(fontsize=7.5)
    else:
        figure.set_figheight(figure.get_figheight() + LINE_OF_LABELS * len(curves))
        figure.legend(*accuracy.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7.5)
    steps.set_ylim(0, None)
    steps.set_ylabel("mean recurrent steps")
    steps.set_xlabel("terms")
    steps.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


_DASHES: dict[Measure, str] = {"char": "-", "seq": "--"}
_UNITS = {"char": "characters", "seq": "whole answers"}


@styled
def plot_training(curves: Sequence[TrainingCurve]) -> Picture:
    """The mean number of recurrent steps over the epochs, one curve for each training (the paper's Fig. 3)."""
    figure = Picture(figsize=(6.4, 3.6), layout="constrained")
    axes: Axes = figure.subplots()
    for number, curve in enumerate(curves):
        colour, dash = SERIES[number % len(SERIES)], DASHES[number % len(DASHES)]
        seeds = f"{curve.seeds} seed{'' if curve.seeds == 1 else 's'}"
        label = f"{curve.label}: {_REGULARISERS[curve.regulariser]} ({seeds})"
        axes.plot(curve.epochs, curve.mean, color=colour, linestyle=dash, linewidth=1.3, label=label)
        low, high = curve.mean - curve.sd, curve.mean + curve.sd
        axes.fill_between(curve.epochs, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.set_ylim(0, None)
    axes.set_xlim(0, None)
    axes.set_xlabel("epoch")
    axes.set_ylabel("mean recurrent steps in training")
    axes.set_title("Mean over training seeds; bands: ± standard deviation")
    if len(curves) <= _LABELS_INSIDE:
        axes.legend()
    else:
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure
