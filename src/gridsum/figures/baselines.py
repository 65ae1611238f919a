"""How far baselines extrapolate, side by side, and how they learned."""

from collections.abc import Mapping, Sequence

from matplotlib.ticker import FuncFormatter, NullLocator

from gridsum.baselines.learning import Learned
from gridsum.evaluation.baselines import Curve
from gridsum.figures.style import DASHES, INK, MARKERS, SERIES, Picture, styled

_TITLES = {"digits": "two terms, more and more digits", "terms": "more and more terms of 5 digits"}
_SETTINGS = {"matched": "trained as ours", "native": "trained as in their papers"}
_LINE_OF_LABELS = 0.16
"""Inches."""
_COLOURS = tuple(colour for colour in SERIES if colour != "#000000")
"""Black is left for ours."""


@styled
def plot_baselines(curves: Sequence[Curve]) -> Picture:
    """Whole results right against digits and against terms: the best seed of each baseline, its median as a thin line.

    Those that were trained as ours have a row of their own, above those that were trained as in their own papers.
    Beside others, ours are black. Each other one has a colour and a mark of its own; without others, each of ours has.
    """
    axes_shown = [axis for axis in _TITLES if any(curve.axis == axis for curve in curves)]
    settings = [setting for setting in _SETTINGS if any(curve.setting == setting for curve in curves)]
    ours = list(dict.fromkeys(curve.label for curve in curves if curve.ours))
    others = list(dict.fromkeys(curve.label for curve in curves if not curve.ours))
    labels = ours + others
    height = 3.0 * len(settings) + 0.4 + _LINE_OF_LABELS * len(labels) / 2
    figure = Picture(figsize=(4.4 * len(axes_shown), height), layout="constrained")
    handles = {}
    panels = [(setting, axis) for setting in settings for axis in axes_shown]
    grid = figure.subplots(len(settings), len(axes_shown), squeeze=False)
    for axes, (setting, axis) in zip(grid.flat, panels, strict=True):
        shown = [curve for curve in curves if (curve.setting, curve.axis) == (setting, axis)]
        axes.set_title(_TITLES[axis] + (f", {_SETTINGS[setting]}" if len(settings) > 1 else ""), fontsize=8)
        if not shown:
            axes.set_axis_off()
            axes.text(0.5, 0.5, "none is measured at two sizes", ha="center", transform=axes.transAxes, fontsize=8)
            continue
        for curve in shown:
            number = (ours if curve.ours else others).index(curve.label)
            sizes, marker = [point.size for point in curve.points], MARKERS[number % len(MARKERS)]
            times, place = divmod(number, len(_COLOURS))
            black = curve.ours and others
            style = {
                "color": INK if black else _COLOURS[place],
                "linestyle": DASHES[(number if black else times) % len(DASHES)],
            }
            (line,) = axes.plot(sizes, [point.best for point in curve.points], marker=marker, markersize=4, **style)
            axes.plot(sizes, [point.median for point in curve.points], linewidth=0.7, alpha=0.7, **style)
            handles[curve.label] = line
        if axis == "digits":
            axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        sizes = sorted({point.size for curve in shown for point in curve.points})
        axes.set_xticks(sizes, [str(size) for size in sizes], fontsize=6.5)
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel(axis)
        axes.set_ylabel("whole results right")
    shown = [label for label in labels if label in handles]
    figure.legend([handles[label] for label in shown], shown, loc="outside lower center", ncols=3, fontsize=7)
    return figure


@styled
def plot_learning(baselines: Mapping[str, Sequence[Learned]]) -> Picture:
    """Characters right in training, and whole results right on held-out problems, against the problems seen."""
    figure = Picture(figsize=(8.8, 3.4), layout="constrained")
    shown = {"accuracy": "characters right in training", "held_out": "held-out results right"}
    panels = figure.subplots(1, len(shown))
    for axes, (name, words) in zip(panels, shown.items(), strict=True):
        for number, (variant, epochs) in enumerate(baselines.items()):
            points = [(one.problems_seen, getattr(one, name)) for one in epochs]
            points = [point for point in points if point[1] is not None]
            style = {"color": _COLOURS[number % len(_COLOURS)], "linestyle": DASHES[number % len(DASHES)]}
            marks = {"marker": MARKERS[number % len(MARKERS)], "markersize": 3.5, "markevery": 0.12}
            axes.plot([seen for seen, _ in points], [value for _, value in points], label=variant, **style, **marks)
        axes.set_ylim(-0.03, 1.03)
        axes.set_xscale("log")
        axes.set_xlabel("problems that a run has seen")
        axes.set_ylabel(words)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=7)
    return figure
