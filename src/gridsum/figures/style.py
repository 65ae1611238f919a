"""How all figures look, and how they become files."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gridsum.analysis import FigureError
from gridsum.io.disk import write_atomically

INK, QUIET, LINE = "#1b1f24", "#5f6a75", "#aeb6bf"
# Okabe and Ito's colours, which people with any colour vision can tell apart; wine for yellow, too pale for lines.
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#882255")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
RIGHT, WRONG = "#0072B2", "#D55E00"

LINE_OF_LABELS = 0.16
"""Inches that a line of a legend takes."""
FORMATS = (".svg", ".png", ".pdf")
_DPI = 160
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e9ed",
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "legend.frameon": False,
    # The same picture is the same file.
    "svg.hashsalt": "gridsum",
}


class Picture(Figure):
    """A figure that belongs to no window, and that a notebook shows without further ado."""

    def _repr_png_(self) -> bytes:
        return to_bytes(self, ".png")


@contextmanager
def styled() -> Iterator[None]:
    """Draw in this package's style, and leave the settings of whoever calls as they are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def bare(axes: Axes, height: int, width: int, room: float = 0.05) -> None:
    """A place to draw a grid on, one unit a cell, row 0 at the top: no frame, no ticks."""
    axes.set(xlim=(-room, width + room), ylim=(height + room, -room), aspect="equal")
    axes.set_axis_off()


def write(axes: Axes, x: float, y: float, text: str, size: float, **style: Any) -> None:
    """Text with its middle at a point."""
    axes.text(x, y, text, **{"ha": "center", "va": "center", "fontsize": size, **style})


def square(
    axes: Axes, x: float, y: float, side: float = 1, fill: Any = "none", edge: str = LINE, thick: float = 0.7
) -> None:
    """A cell with its upper left corner at a point; without a fill, its frame alone."""
    axes.add_patch(Rectangle((x, y), side, side, facecolor=fill, edgecolor=edge, linewidth=thick))


def check_format(name: str | Path, formats: tuple[str, ...] = FORMATS) -> str:
    suffix = Path(name).suffix.lower()
    if suffix not in formats:
        ends = " or ".join(filter(None, (", ".join(formats[:-1]), formats[-1])))
        raise FigureError(f"cannot write {name}: use a name that ends in {ends}")
    return suffix


@styled()
def to_bytes(figure: Figure, suffix: str) -> bytes:
    """The figure as a file of this kind; without a date, so that the same figure is the same bytes."""
    buffer = BytesIO()
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {"Software": None}}
    figure.savefig(buffer, format=suffix[1:], dpi=_DPI, metadata=undated[suffix])
    return buffer.getvalue()


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure as SVG, PNG or PDF, as the name ends; whole or not at all."""
    suffix = check_format(path)
    write_atomically(Path(path).resolve(), to_bytes(figure, suffix))
