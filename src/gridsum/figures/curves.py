"""Curves: scores against the number of terms, steps over a training run."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from gridsum.evaluation.intervals import Measure, interval
from gridsum.evaluation.paper import LONG_TERMS
from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import arrange
from gridsum.figures.style import DASHES, INK, LINE_OF_LABELS, MARKERS, SERIES, FigureError, Picture, styled
from gridsum.training.folders import read_setup, read_steps

_LABELS_INSIDE = 2
"""Of more curves than this, labels would cover some."""
_REGULARISERS = {"explore-reinforce": "Explore-Reinforce", "kl": "KL to a geometric", "none": "no regulariser"}
_DASHES: dict[Measure, str] = {"char": "-", "seq": "--"}
_UNITS = {"char": "characters", "seq": "whole answers"}


@dataclass(frozen=True)
class TermsCurve:
    """One model on sums of more and more terms of five digits."""

    label: str
    variant: str
    records: dict[int, Record]
    """By the number of terms, in order."""


def terms_curves(records: Iterable[Record]) -> list[TermsCurve]:
    """A curve for each model that has records on two suites or more of the collection `terms`. Where a run was measured
    on several choices of grids, those on every size are shown alone."""
    terms = {suite.name: suite.space.terms[0] for suite in COLLECTIONS["terms"]}
    cells = {row: found for row, found in arrange(records, terms).items() if len(found) > 1}
    every = {(row.model, row.seed) for row in cells if row.grids == "every"}
    rows = [row for row in cells if row.grids == "every" or (row.model, row.seed) not in every]
    if not rows:
        raise FigureError(
            "the records hold no model on sums of different numbers of terms of five digits (2x5, 3x5, …); "
            "evaluate these first: gridsum evaluate --suite terms --out records.jsonl"
        )
    of_models = len({row.model for row in rows}) == len(rows)
    found = []
    for row in rows:
        label = row.model if of_models else f"{row.model} seed {row.seed}"
        by_terms = sorted((terms[name], record) for name, record in cells[row].items())
        found.append(TermsCurve(label, row.variant, dict(by_terms)))
    return found


@styled()
def plot_terms(records: Iterable[Record]) -> Picture:
    """Accuracy, and mean number of steps, against the number of terms (the paper's Fig. 2); crosses are the paper's."""
    curves = terms_curves(records)
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
    title = "Sums of more and more terms of 5 digits; bands: Wilson 95%"
    accuracy.set(ylim=(-0.03, 1.03), ylabel="accuracy", title=title)
    if len(curves) == 1:
        accuracy.legend(fontsize=7.5)
    else:
        figure.set_figheight(figure.get_figheight() + LINE_OF_LABELS * len(curves))
        figure.legend(*accuracy.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=7.5)
    steps.set(ylim=(0, None), ylabel="mean recurrent steps", xlabel="terms")
    steps.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


@dataclass(frozen=True)
class TrainingCurve:
    """The mean recurrent steps of a training folder's seeds over the epochs."""

    label: str
    regulariser: str
    epochs: np.ndarray  # [T]
    mean: np.ndarray
    """[T], over the seeds that reached the epoch."""
    sd: np.ndarray
    """[T], the sample's (n − 1); 0 for a single seed."""
    seeds: int


def training_curve(folder: Path) -> TrainingCurve:
    """Of all seeds of a training folder, from their logs or its summary."""
    if not (folder / "config.json").exists():
        why = "is not a training folder (it has no config.json); name one that gridsum train made"
        raise FigureError(f"{folder} {why}")
    config, seeds = read_setup(folder)
    runs = read_steps(folder).values()
    reached = [[steps for steps in of_all if steps is not None] for of_all in zip_longest(*runs)]
    if not reached:
        raise FigureError(f"no epoch is finished in {folder} yet; train it first")
    epochs = np.arange(1, len(reached) + 1)
    means = np.array([statistics.fmean(values) for values in reached])
    sds = np.array([statistics.stdev(values) if len(values) > 1 else 0.0 for values in reached])
    return TrainingCurve(folder.resolve().name, config.objective.regulariser, epochs, means, sds, len(seeds))


@styled()
def plot_training(folders: Sequence[Path]) -> Picture:
    """The mean number of recurrent steps over the epochs, one curve for each training (the paper's Fig. 3)."""
    figure = Picture(figsize=(6.4, 3.6), layout="constrained")
    axes: Axes = figure.subplots()
    for number, curve in enumerate(map(training_curve, folders)):
        colour, dash = SERIES[number % len(SERIES)], DASHES[number % len(DASHES)]
        seeds = f"{curve.seeds} seed{'' if curve.seeds == 1 else 's'}"
        label = f"{curve.label}: {_REGULARISERS[curve.regulariser]} ({seeds})"
        axes.plot(curve.epochs, curve.mean, color=colour, linestyle=dash, linewidth=1.3, label=label)
        low, high = curve.mean - curve.sd, curve.mean + curve.sd
        axes.fill_between(curve.epochs, low, high, color=colour, alpha=0.18, linewidth=0)
    title = "Mean over training seeds; bands: ± standard deviation"
    axes.set(ylim=(0, None), xlim=(0, None), xlabel="epoch", ylabel="mean recurrent steps in training", title=title)
    if len(folders) <= _LABELS_INSIDE:
        axes.legend()
    else:
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure
