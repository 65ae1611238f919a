"""The rings of digits, a panel for each."""

from collections.abc import Sequence
from colorsys import hls_to_rgb
from itertools import zip_longest

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from gridsum.analysis.ring import DIGITS, Ring
from gridsum.figures.style import INK, QUIET, Picture, styled, write

_PANELS_A_ROW = 5
_MOST_POINTS = 3000
"""Drawn in a row of panels; the planes and the centroids are of all."""
# Around the colour circle as around the ring: neighbours look alike, and so do 9 and 0. The digits are written too.
COLOURS = [hls_to_rgb(digit / DIGITS, 0.45, 0.6) for digit in range(DIGITS)]


@styled()
def plot_rings(rings: Sequence[Ring]) -> Picture:
    """Digit vectors on two principal components, the digits' means joined in counting order (the paper's Fig. 6)."""
    columns = min(_PANELS_A_ROW, len(rings))
    rows = -(-len(rings) // columns)
    side = 2.1 if columns > 2 else 3.3
    size = max(columns * side, 4.2) + 0.3, rows * (side + 0.45) + 0.35
    figure = Picture(figsize=size, layout="constrained")
    for axes, ring in zip_longest(figure.subplots(rows, columns, squeeze=False).flat, rings):
        if ring is None:
            axes.remove()
        else:
            _draw_ring(axes, ring, _MOST_POINTS // columns)
    return figure


def _draw_ring(axes: Axes, ring: Ring, most: int) -> None:
    chosen = np.linspace(0, len(ring.points) - 1, min(most, len(ring.points))).astype(int)
    points, digits = ring.points[chosen], ring.digits[chosen]
    colours = [COLOURS[digit] for digit in digits]
    axes.scatter(points[:, 0], points[:, 1], s=3, c=colours, alpha=0.5, linewidths=0, rasterized=True)
    known = np.flatnonzero(~np.isnan(ring.centroids[:, 0]))
    joined = ring.centroids[[*known, known[0]]]
    axes.plot(joined[:, 0], joined[:, 1], color=INK, linewidth=0.9, alpha=0.8)
    for digit in known:
        x, y = ring.centroids[digit]
        stroke = withStroke(linewidth=3, foreground="white")
        write(axes, x, y, str(digit), 11, fontweight="bold", path_effects=[stroke])
    first, second = ring.plane.components
    axes.set_xlabel(f"component {first} ({ring.plane.explained[0]:.0%})", fontsize=7, color=QUIET, labelpad=1)
    axes.set_ylabel(f"component {second} ({ring.plane.explained[1]:.0%})", fontsize=7, color=QUIET, labelpad=1)
    axes.set_aspect("equal", adjustable="datalim")
    axes.tick_params(labelbottom=False, labelleft=False, length=0)
    if found := ring.roundness:
        times = {1: "once", 2: "twice"}.get(found.winding, f"{found.winding} times")
        pairs = f"{round(found.adjacent * DIGITS)} of {DIGITS} pairs adjacent"
        told = f"winds {times} (fit {found.phase:.2f})\n{pairs}"
    else:
        told = f"never reads {', '.join(str(digit) for digit in range(DIGITS) if digit not in known)}"
    axes.set_title(f"seed {ring.seed}: {told}", fontsize=7)
