"""A learned rule: what a column adds up to, and the states as bit patterns."""

from colorsys import hls_to_rgb

from matplotlib.axes import Axes
from matplotlib.gridspec import GridSpec
from matplotlib.patches import Rectangle

from gridsum.automaton.meaning import Meaning, State
from gridsum.automaton.table import RuleTable
from gridsum.figures.style import INK, LINE, QUIET, Picture, square, styled, write

_CARRY, _OFF, _UNKNOWN = "#D55E00", "#eef1f4", "#ffffff"
_MOST_COLUMNS = 60
"""States beyond so many are not drawn: a bit would be smaller than a millimetre."""


@styled
def plot_rule(table: RuleTable, meaning: Meaning) -> Picture:
    """What a cell becomes for its own digit, the digit below and the carry from the right; and what the states are."""
    columns = _ordered(meaning)
    side = 3.55
    bits_height = 0.21 * table.bits + 1.1
    figure = Picture(figsize=(2 * side + 0.9, side + bits_height + 0.75), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08, hspace=0.04)  # type: ignore[union-attr]
    layout = GridSpec(2, 2, figure, height_ratios=[side + 0.4, bits_height])
    for carry, title in enumerate(("no carry from the right", "a carry from the right")):
        _draw_columns(figure.add_subplot(layout[0, carry]), meaning, carry, title)
    _draw_states(figure.add_subplot(layout[1, :]), table, meaning, columns)
    return figure


def _draw_columns(axes: Axes, meaning: Meaning, carry: int, title: str) -> None:
    carried: set[tuple[int, int]] = set()
    # Around the colour circle, as 9 + 1 is 0 again; the digits are written too.
    tints = [hls_to_rgb(digit / meaning.base, 0.84, 0.62) for digit in range(meaning.base)]
    for x in range(meaning.base):
        for below in range(meaning.base):
            found = meaning.sums.get((x, below, carry), set())
            value = min(found) if len(found) == 1 else None
            fill = _UNKNOWN if value is None else tints[value.digit]
            square(axes, below, x, 1, fill, "white", 1.2)
            write(axes, below + 0.54, x + 0.53, "?" if value is None else str(value.digit), 10.5)
            if value is not None and value.carry:
                carried.add((x, below))
                write(axes, below + 0.2, x + 0.28, "1", 6.5, color=_CARRY, fontweight="bold")
    for x, below in carried:  # a line where the carry begins
        if below and (x, below - 1) not in carried:
            axes.plot([below, below], [x, x + 1], color=_CARRY, linewidth=1.8, solid_capstyle="round")
        if x and (x - 1, below) not in carried:
            axes.plot([below, below + 1], [x, x], color=_CARRY, linewidth=1.8, solid_capstyle="round")
    axes.set_xlim(-0.05, meaning.base + 0.05)
    axes.set_ylim(meaning.base + 0.05, -0.05)
    axes.set_aspect("equal")
    axes.grid(False)
    axes.spines[:].set_visible(False)
    for set_ticks in (axes.set_xticks, axes.set_yticks):
        set_ticks([digit + 0.5 for digit in range(meaning.base)], [str(digit) for digit in range(meaning.base)])
    axes.tick_params(length=0, pad=2)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("digit below", color=QUIET, fontsize=8)
    axes.set_ylabel("own digit", color=QUIET, fontsize=8)
    if carry:
        note = "¹ and a carry to the left"
        axes.text(1, 1.118, note, ha="right", fontsize=8, color=_CARRY, transform=axes.transAxes)
    axes.set_title(title, fontsize=9.5, fontweight="bold", pad=8)


def _ordered(meaning: Meaning) -> list[State]:
    """Digits in order, without a carry before with one; then blanks, then all that is neither."""

    def place(state: State) -> tuple[int, int, int]:
        if state.value is not None:
            return 0, state.value.digit, state.value.carry
        return (2 if state.meaning == "on the way" else 1), 0, state.number

    return sorted(meaning.states, key=place)[:_MOST_COLUMNS]


def _draw_states(axes: Axes, table: RuleTable, meaning: Meaning, states: list[State]) -> None:
    carry_bits = {found.bit for found in meaning.carry_bits}
    at, gap = 0.0, 0.55
    before: tuple[int, object] | None = None
    spans: dict[str, list[float]] = {}
    for state in states:
        group = (0, state.value.digit) if state.value is not None else (1, state.meaning)
        at += gap if before is not None and group != before else 0
        before = group
        name = table.task.alphabet.digits[state.value.digit] if state.value is not None else state.meaning
        spans.setdefault(name, []).append(at)
        for bit in range(table.bits):
            on = state.pattern >> bit & 1
            colour = (_CARRY if bit in carry_bits else INK) if on else _OFF
            row = table.bits - 1 - bit
            square(axes, at + 0.06, row + 0.06, 0.88, colour, "none")
        if state.value is not None:
            colour = _CARRY if state.value.carry else QUIET
            write(axes, at + 0.5, table.bits + 0.5, str(state.value.carry), 7, color=colour)
        at += 1
    for name, places in spans.items():
        start, stop = places[0], places[-1] + 1
        axes.plot([start + 0.1, stop - 0.1], [-0.3, -0.3], color=LINE, linewidth=1)
        if name in table.task.alphabet.digits:
            write(axes, (start + stop) / 2, -0.45, name, 10.5, va="bottom")
        else:
            words = name.replace("on the", "on\nthe").replace(", ", ",\n")
            axes.text(start + 0.1, -0.5, words, va="bottom", fontsize=7, color=QUIET)
    for bit in range(table.bits):
        row = table.bits - 1 - bit + 0.5
        mine = bit in carry_bits
        marked = {"color": _CARRY, "fontweight": "bold"} if mine else {"color": QUIET}
        write(axes, -0.35, row, f"bit {bit}", 7, ha="right", **marked)
        if mine:
            axes.add_patch(Rectangle((-0.12, row - 0.56), at + 0.24, 1.12, fill=False, edgecolor=_CARRY, linewidth=1.3))
            write(axes, at + 0.3, row, "the carry", 7.5, ha="left", **marked)
    write(axes, -0.35, table.bits + 0.5, "carry", 7, ha="right", color=QUIET)
    axes.set_xlim(-2.2, at + (3.4 if carry_bits else 1.2))
    axes.set_ylim(table.bits + 1.1, -1.9)
    axes.set_axis_off()
    title = f"{len(table.states)} states of {table.bits} bits, by digit and carry"
    axes.set_title(title, fontsize=9.5, fontweight="bold")
