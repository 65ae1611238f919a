"""The rings of digits, a panel for each, and how often each network's digits wind."""

from collections.abc import Sequence
from colorsys import hls_to_rgb

import numpy as np
from matplotlib.axes import Axes
from matplotlib.gridspec import GridSpec
from matplotlib.patheffects import withStroke

from gridsum.analysis.ring import DIGITS, Ring
from gridsum.figures.style import INK, QUIET, SERIES, Picture, styled, write

_PANELS_A_ROW = 5
_MOST_POINTS = 3000
"""Drawn in a row of panels; the planes and the centroids are of all."""
# Around the colour circle as around the ring: neighbours look alike, and so do 9 and 0. The digits are written too.
COLOURS = [hls_to_rgb(digit / DIGITS, 0.45, 0.6) for digit in range(DIGITS)]
_HATCHES = ("", "////", "....", "xxxx", "----")


@styled
def plot_rings(rings: Sequence[Ring]) -> Picture:
    """Vectors that read as digits on two principal components, the digits' means joined in counting order (the
    paper's Fig. 6); below, how the variance of the means divides into windings."""
    columns = min(_PANELS_A_ROW, len(rings))
    rows = -(-len(rings) // columns)
    spectra = {ring.seed: ring.spectrum for ring in rings if ring.spectrum is not None}
    below = 0.75 + 0.2 * len(spectra) if spectra else 0.0
    side = 2.1 if columns > 2 else 3.3
    width, height = max(columns * side, 4.2) + 0.3, rows * (side + 0.45) + below + 0.35
    figure = Picture(figsize=(width, height), layout="constrained")
    ratios = [side + 0.45] * rows + ([below] if spectra else [])
    layout = GridSpec(len(ratios), columns, figure, height_ratios=ratios)
    for index, ring in enumerate(rings):
        _draw_ring(figure.add_subplot(layout[divmod(index, columns)]), ring, _MOST_POINTS // columns)
    if spectra:
        _draw_spectra(figure.add_subplot(layout[rows, :]), spectra)
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
        text = write(axes, x, y, str(digit), 11, fontweight="bold")
        text.set_path_effects([withStroke(linewidth=3, foreground="white")])
    first, second = ring.plane.components
    axes.set_xlabel(f"component {first} ({ring.plane.explained[0]:.0%})", fontsize=7, color=QUIET, labelpad=1)
    axes.set_ylabel(f"component {second} ({ring.plane.explained[1]:.0%})", fontsize=7, color=QUIET, labelpad=1)
    axes.set_aspect("equal", adjustable="datalim")
    axes.tick_params(labelbottom=False, labelleft=False, length=0)
    axes.set_title(_title(ring), fontsize=7)


def _title(ring: Ring) -> str:
    found = ring.roundness
    if found is None:
        missing = [str(digit) for digit in range(DIGITS) if np.isnan(ring.centroids[digit, 0])]
        return f"seed {ring.seed}: never reads {', '.join(missing)}"
    times = {1: "once", 2: "twice"}.get(found.winding, f"{found.winding} times")
    probability = "p < .0001" if found.p_value < 1e-4 else f"p = {found.p_value:.2g}"
    return (
        f"seed {ring.seed}: winds {times} (fit {found.phase:.2f})\n"
        f"{round(found.adjacent * DIGITS)} of {DIGITS} pairs adjacent ({probability})"
    )


def _draw_spectra(axes: Axes, spectra: dict[int, tuple[float, ...]]) -> None:
    names = [f"seed {seed}" for seed in spectra]
    start = np.zeros(len(spectra))
    for index, hatch in enumerate(_HATCHES):
        shares = np.array([spectrum[index] for spectrum in spectra.values()])
        label = {0: "once", 1: "twice"}.get(index, f"{index + 1} times")
        style = {"color": SERIES[index], "alpha": 0.55, "hatch": hatch, "edgecolor": "white"}
        axes.barh(names, shares, left=start, label=label, **style)
        start += shares
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.grid(False)
    axes.tick_params(labelsize=7, length=0)
    axes.set_title("Share of the variance of the digits' means, in all features, that winds …", fontsize=8)
    axes.legend(fontsize=7, ncols=5, loc="upper left", bbox_to_anchor=(0, -0.12 if len(spectra) > 3 else -0.3))
