"""Attention rules: where a head looks on average, where each cell looks at one step, and what decides it."""

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from gridsum.analysis.attention import HeadRule, clearest, head_rules
from gridsum.figures.steps import check_size
from gridsum.figures.style import INK, LINE, SERIES, Picture, bare, square, styled, write
from gridsum.model.inside import Trace
from gridsum.model.paper import LocalAttention
from gridsum.tasks import PAD

_MAP = colormaps["Blues"]
_LABELS = ("position-based", "content-based", "mixed", "unselective")


@styled()
def plot_attention(trace: Trace, attention: LocalAttention) -> Picture:
    """The clearest position-based and the clearest content-based rule of one computation (the paper's Fig. 5)."""
    check_size(trace)
    rules = head_rules(attention, [trace])
    height, width = trace.grids.shape[1:3]
    grid_width, row_height = max(3.0, 0.62 * width), max(1.9, 0.62 * height)
    figure = Picture(figsize=(grid_width + 6.0, 2 * (row_height + 0.95) + 0.55), layout="constrained")
    labels = [rule.label for rule in rules]
    counted = ", ".join(f"{labels.count(label)} {label}" for label in _LABELS if label in labels)
    figure.suptitle(f"{len(rules)} heads: {counted}", x=0.01, ha="left", fontsize=10)
    panels = figure.subplots(2, 3, width_ratios=(1.9, grid_width, 2.1))
    for row, rule in zip(panels, (clearest(rules, "position"), clearest(rules, "content")), strict=True):
        _draw_mean(row[0], rule, attention.kernel)
        _draw_field(row[1], trace, rule, attention)
        _draw_parts(row[2], rule)
    return figure


def _shade(weight: float) -> tuple[float, ...]:
    """Not linear, so that small differences between small weights can be seen."""
    return _MAP(weight**0.6)


def _draw_mean(axes: Axes, rule: HeadRule, kernel: int) -> None:
    for neighbour, weight in enumerate(rule.mean_attention):
        row, column = divmod(neighbour, kernel)
        square(axes, column, row, fill=_shade(weight))
        colour = "white" if weight > 0.45 else INK
        write(axes, column + 0.5, row + 0.5, f"{weight:.2f}".lstrip("0"), 8, color=colour)
    middle = kernel // 2
    square(axes, middle, middle, edge=INK, thick=1.6)
    bare(axes, kernel, kernel)
    axes.set_anchor("NW")
    # The way to the neighbour that gets most, in words.
    row, column = divmod(max(range(kernel**2), key=rule.mean_attention.__getitem__), kernel)
    ways = ((row - middle, "down", "up"), (column - middle, "right", "left"))
    words = [(ahead if by > 0 else back) + (f" {abs(by)}" if abs(by) > 1 else "") for by, ahead, back in ways if by]
    axes.set_title(f"head {rule.head}: {rule.label}\non average, mostly {' '.join(words) or 'on itself'}")


def _draw_field(axes: Axes, trace: Trace, rule: HeadRule, attention: LocalAttention) -> None:
    """Every cell with its own attention inside it, as a small map of its neighbourhood."""
    height, width = trace.grids.shape[1:3]
    step, kernel = rule.example.step, attention.kernel
    weights = attention.weights(trace.grids[None, step : step + 1])[:, 0, 0, ..., rule.head]
    codes = trace.decoded[step].argmax(-1).tolist()
    gap, part = 0.07, (1 - 2 * 0.07) / kernel
    for i in range(height):
        for j in range(width):
            for neighbour, weight in enumerate(weights[:, i, j].tolist()):
                row, column = divmod(neighbour, kernel)
                square(axes, j + gap + column * part, i + gap + row * part, part, _shade(weight), "none")
            here = (i, j) == (rule.example.row, rule.example.column)
            edge, thick = (SERIES[1], 2.2) if here else (LINE, 0.8)
            square(axes, j + gap, i + gap, 1 - 2 * gap, edge=edge, thick=thick)
            symbol = "" if codes[i][j] == PAD else trace.alphabet[codes[i][j]]
            write(axes, j + 0.5, i + 0.52, symbol, 12, path_effects=[withStroke(linewidth=2.5, foreground="white")])
    bare(axes, height, width, room=0)
    axes.set_anchor("NW")
    shows = "most like" if rule.label == "position-based" else "least like"
    axes.set_title(f"where each cell looks, from step {step} to {step + 1}\n(thick frame: {shows} the average)")


def _draw_parts(axes: Axes, rule: HeadRule) -> None:
    parts = {"position": rule.position, "border": rule.border, "content": rule.content}
    for place, (value, hatch) in enumerate(zip(parts.values(), ("", "////", ".."), strict=True)):
        axes.barh(place, value, color=SERIES[4], edgecolor=INK, hatch=hatch, linewidth=0.7, height=0.6)
        axes.text(value, place, f" {value:.2f}", va="center", fontsize=7.5)
    axes.set_yticks(range(len(parts)), parts)
    axes.invert_yaxis()
    axes.set(xlim=(0, max(*parts.values(), 0.1) * 1.3), title="what decides it, in bits")
    axes.tick_params(labelsize=7.5)
