"""What training and solving cost, from the records of `gridsum bench`."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from gridsum.figures.style import DASHES, INK, MARKERS, SERIES, FigureError, Picture, styled

Records = Sequence[dict[str, Any]]
_plain = FuncFormatter(lambda value, _: f"{value:,.10g}")


@styled
def plot_costs(records: Records) -> Picture:
    """A run's share of a training step against the size of the fleet; the time of a sum against its size."""
    training = [record for record in records if record["measure"] == "training"]
    solving = [record for record in records if record["measure"] == "solving"]
    panels = [(draw, chosen) for draw, chosen in ((_training, training), (_solving, solving)) if chosen]
    if not panels:
        raise FigureError("the records hold neither training nor solving; make some with: gridsum bench --out FILE")
    figure = Picture(figsize=(4.2 * len(panels), 3.6), layout="constrained")
    for axes, (draw, chosen) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        axes.set_xscale("log")
        axes.set_yscale("log")
        draw(axes, chosen)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(_plain)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_locator(NullLocator())
        axes.legend(fontsize=7.5)
    return figure


def _training(axes: Axes, records: Records) -> None:
    for number, variant in enumerate(dict.fromkeys(record["variant"] for record in records)):
        points = [(record["runs"], record["ms_per_step_and_run"]) for record in records if record["variant"] == variant]
        _draw(axes, points, variant, number)
    runs = sorted({record["runs"] for record in records})
    axes.set_xticks(runs, [str(count) for count in runs])
    axes.set_xlabel("runs of a fleet")
    axes.set_title("ms of a training step for each run")


def _solving(axes: Axes, records: Records) -> None:
    short = min(record["digits"] for record in records)
    # A size may have been measured for either line, or twice: as in the tables, the last time counts.
    digits = {record["digits"]: record for record in records if record["terms"] == 2}
    terms = {record["terms"]: record for record in records if record["digits"] == short}
    lines = ((digits, "2 terms, against digits"), (terms, f"{short} digits, against terms"))
    wrong = []
    for number, (solved, label) in enumerate(lines):
        if solved:
            _draw(axes, [(size, record["seconds"]) for size, record in solved.items()], label, number)
            wrong += [(size, record["seconds"]) for size, record in solved.items() if not record["right"]]
    if wrong:
        x, y = zip(*wrong, strict=True)
        axes.scatter(x, y, s=75, facecolor="none", edgecolor=INK, linewidth=1.2, label="wrong answer", zorder=3)
    axes.xaxis.set_major_formatter(_plain)
    axes.set_xlabel("digits, or terms")
    axes.set_title("seconds of one sum")


def _draw(axes: Axes, points: list[tuple[float, float]], label: str, number: int) -> None:
    x, y = zip(*sorted(points), strict=True)
    style = {"color": SERIES[number % len(SERIES)], "linestyle": DASHES[number % len(DASHES)]}
    axes.plot(x, y, marker=MARKERS[number % len(MARKERS)], markersize=4.5, label=label, **style)
