"""How far baselines extrapolate, side by side."""

import re
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from matplotlib.ticker import FuncFormatter, NullLocator

from gridsum.evaluation.records import Record
from gridsum.evaluation.tables import by_line
from gridsum.figures.style import DASHES, INK, LINE_OF_LABELS, MARKERS, SERIES, FigureError, Picture, styled

_TITLES = {"digits": "two terms, more and more digits", "terms": "more and more terms of 5 digits"}
_GROWING = {"digits": re.compile(r"2x([0-9]+)"), "terms": re.compile(r"([0-9]+)x5")}
_SETTINGS = {"matched": "trained as ours", "native": "trained as in their papers"}
_COLOURS = tuple(colour for colour in SERIES if colour != "#000000")
"""Black is left for ours."""


class Curve(NamedTuple):
    """One baseline, or one of ours, on problems that grow."""

    axis: str
    setting: str
    is_baseline: bool
    name: str
    sizes: dict[int, list[float]]
    """Whole results right of every seed."""


def curves(records: Sequence[Record]) -> list[Curve]:
    """A curve for each that has been measured along an axis at two sizes or more."""
    found, lines = list[Curve](), by_line(records)
    for axis, pattern in _GROWING.items():
        for label, suites in lines.items():
            is_baseline = next(iter(suites.values()))[0].given is not None
            name, _, setting = label.partition("/") if is_baseline else (label, "", "matched")
            found_at = {suite: pattern.fullmatch(suite) for suite in suites}
            sizes = {int(at[1]): [record.seq for record in suites[suite]] for suite, at in found_at.items() if at}
            if len(sizes) > 1:
                found.append(Curve(axis, setting, is_baseline, name, dict(sorted(sizes.items()))))
    if not found:
        raise FigureError(
            "the records hold no baseline at two sizes, such as 2x15 and 2x100; evaluate it there: "
            "gridsum evaluate --model FOLDER --suite comparison --out records.jsonl"
        )
    return found


@styled()
def plot_baselines(records: Sequence[Record]) -> Picture:
    """Whole results right against digits and against terms: the best seed of each baseline, its median as a thin line.

    Those that were trained as ours have a row above those that were trained as in their own papers. Ours are black.
    """
    every = curves(records)
    axes_shown = [axis for axis in _TITLES if any(curve.axis == axis for curve in every)]
    settings = [setting for setting in _SETTINGS if any(curve.setting == setting for curve in every)]
    ours = list(dict.fromkeys(curve.name for curve in every if not curve.is_baseline))
    baselines = list(dict.fromkeys(curve.name for curve in every if curve.is_baseline))
    names = ours + baselines
    height = 3.0 * len(settings) + 0.4 + LINE_OF_LABELS * len(names) / 2
    figure = Picture(figsize=(4.4 * len(axes_shown), height), layout="constrained")
    handles = {}
    panels = [(setting, axis) for setting in settings for axis in axes_shown]
    grid = figure.subplots(len(settings), len(axes_shown), squeeze=False)
    for axes, (setting, axis) in zip(grid.flat, panels, strict=True):
        shown = [curve for curve in every if (curve.setting, curve.axis) == (setting, axis)]
        axes.set_title(_TITLES[axis] + (f", {_SETTINGS[setting]}" if len(settings) > 1 else ""), fontsize=8)
        if not shown:
            axes.set_axis_off()
            axes.text(0.5, 0.5, "none is measured at two sizes", ha="center", transform=axes.transAxes, fontsize=8)
            continue
        for curve in shown:
            number = (baselines if curve.is_baseline else ours).index(curve.name)
            times, place = divmod(number, len(_COLOURS))
            colour, dash = (_COLOURS[place], times) if curve.is_baseline else (INK, number)
            style = {"color": colour, "linestyle": DASHES[dash % len(DASHES)]}
            sizes, marker = list(curve.sizes), MARKERS[number % len(MARKERS)]
            (line,) = axes.plot(sizes, list(map(max, curve.sizes.values())), marker=marker, markersize=4, **style)
            axes.plot(sizes, list(map(median, curve.sizes.values())), linewidth=0.7, alpha=0.7, **style)
            handles[curve.name] = line
        if axis == "digits":
            axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        sizes = sorted({size for curve in shown for size in curve.sizes})
        axes.set_xticks(sizes, [str(size) for size in sizes], fontsize=6.5)
        axes.set(ylim=(-0.03, 1.03), xlabel=axis, ylabel="whole results right")
    shown = [name for name in names if name in handles]
    figure.legend([handles[name] for name in shown], shown, loc="outside lower center", ncols=3, fontsize=7)
    return figure
