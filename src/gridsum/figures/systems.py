"""How far systems extrapolate, side by side."""

from collections.abc import Sequence

from matplotlib.ticker import FuncFormatter, NullLocator

from gridsum.evaluation.systems import Curve
from gridsum.figures.style import DASHES, MARKERS, SERIES, Picture, styled

_TITLES = {"digits": "two terms, more and more digits", "terms": "more and more terms of 5 digits"}
_LINE_OF_LABELS = 0.16
"""Inches."""


@styled
def plot_systems(curves: Sequence[Curve]) -> Picture:
    """Whole results right against digits and against terms: the best seed of each system, its median as a thin line."""
    axes_shown = [axis for axis in _TITLES if any(curve.axis == axis for curve in curves)]
    labels = list(dict.fromkeys(curve.label for curve in curves))
    figure = Picture(figsize=(4.4 * len(axes_shown), 3.4 + _LINE_OF_LABELS * len(labels) / 2), layout="constrained")
    handles = {}
    for axes, axis in zip(figure.subplots(1, len(axes_shown), squeeze=False)[0], axes_shown, strict=True):
        for curve in (curve for curve in curves if curve.axis == axis):
            number = labels.index(curve.label)
            colour, marker = SERIES[number % len(SERIES)], MARKERS[number % len(MARKERS)]
            sizes = [point.size for point in curve.points]
            style = {"color": colour, "linestyle": DASHES[number // len(SERIES) % len(DASHES)]}
            (line,) = axes.plot(sizes, [point.best for point in curve.points], marker=marker, markersize=4, **style)
            axes.plot(sizes, [point.median for point in curve.points], linewidth=0.7, alpha=0.7, **style)
            handles[curve.label] = line
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        sizes = sorted({point.size for curve in curves if curve.axis == axis for point in curve.points})
        axes.set_xticks(sizes, [str(size) for size in sizes], fontsize=6.5)
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel(axis)
        axes.set_ylabel("whole results right")
        axes.set_title(_TITLES[axis])
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=7)
    return figure
