"""The column method, drawn in a terminal step by step.

Colour comes from `rich`, which is imported only where it can be shown. Into a file, the same is written as plain lines:
nothing is said by colour alone.
"""

import os
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from gridsum.data.answers import shortened

if TYPE_CHECKING:
    import numpy as np

    from gridsum.api.traces import Trace
    from gridsum.data.answers import Answer

Line = list[tuple[str, str]]
"""Pieces of text, each with its style (empty for none)."""

BLANK, UNSURE, ELIDED, ELIDED_ROWS = "·", "?", "…", "⋮"
_STYLES = {
    "title": "bold",
    "quiet": "dim",
    "changed": "bold yellow",
    "answer": "cyan",
    "right": "bold green",
    "wrong": "bold red",
}
_MARGIN, _CELL, _MODEL_NAME = 4, 3, 16
_MOST_ROWS, _MOST_STEPS = 16, 41


def draw(trace: "Trace", width: int | None = None) -> list[Line]:
    """The grid as placed, then what every cell reads after each step; changed symbols stand in brackets.

    Of many rows, columns or steps, the first and the last ones.
    """
    answer, (frames, letters), (placed, placed_letters) = trace.answer, trace.frames, trace.placed
    width = width or shutil.get_terminal_size().columns
    height, columns = placed.shape
    rows, shown = _kept(height, _MOST_ROWS), _kept(columns, max(3, (width - _MARGIN) // _CELL))

    def seen(grid: "np.ndarray", letters: Sequence[str]) -> list[list[str]]:
        def row(number: int) -> list[str]:
            return [ELIDED if column < 0 else letters[int(grid[number, column])] for column in shown]

        return [[ELIDED_ROWS] if number < 0 else row(number) for number in rows]

    start, rules = seen(placed, placed_letters), f"{answer.halting} halting, {answer.placement} placement, model "
    lines: list[Line] = [
        [(shortened(answer.expression, width), "title")],
        [(rules + _end_of(trace.model.name, max(width - len(rules), _MODEL_NAME)), "quiet")],
        [(f"{BLANK} blank   > row of the answer   [ ] changed in this step", "quiet")],
    ]
    if any(UNSURE in row for row in start):
        lines.append([(f"{UNSURE} several symbols share the cell", "quiet")])
    if min(*rows, *shown) < 0:
        left_out = f"{ELIDED} and {ELIDED_ROWS} stand for what is left out of {height} rows × {columns} columns"
        lines.append([(left_out, "quiet")])
    lines += [[], [("placed on the grid", "title")], *_grid(start, start)]
    still = False
    for n in _kept(answer.steps + 1, _MOST_STEPS):
        if n < 0:
            lines += [[], [(f"{ELIDED_ROWS}  {answer.steps + 1 - (_MOST_STEPS - 1)} steps are left out", "quiet")]]
            continue
        grid, before = frames[n], frames[max(n - 1, 0)]
        title: Line = [(f"step {n}" if n else "before any step", "title"), (f"   {_halting(trace, n)}", "quiet")]
        if n and (grid == before).all():
            lines += [[]] * (not still)
            lines.append([*title, ("no symbol has changed", "quiet")])
            still = True
            continue
        still = False
        top: list[int] = grid[0].tolist()
        read = "".join(letters[code] for code in top).replace(BLANK, "")
        room = width - sum(len(text) for text, _ in title) - len("reads ")
        title.append((f"reads {shortened(read or 'nothing', room)}", "answer"))
        lines += [[], title, *_grid(seen(grid, letters), seen(before, letters))]
    return [*lines, [], *_verdict(answer, width), []]


def _halting(trace: "Trace", n: int) -> str:
    if trace.states is not None or trace.halting is None or trace.probability is None:
        return ""
    halted = min(float(trace.probability[: n + 1].sum()), 1)
    return f"λ {float(trace.halting[n]):.3f}   halted by now {halted:.3f}   "


def _verdict(answer: "Answer", width: int) -> list[Line]:
    steps = f"{answer.steps} step{'' if answer.steps == 1 else 's'}"
    end = f"stopped by the limit of {steps}" if answer.capped else f"halted after {steps}"
    said = shortened(answer.answer or "nothing", width - len(end) - len(", answer , which is right"))
    start = f"{end}, answer {said}, which is "
    if answer.correct:
        return [[(start, ""), ("right", "right")]]
    return [
        [(start, ""), ("wrong", "wrong")],
        [(f"the sum is {shortened(answer.expected, width - len('the sum is '))}", "")],
    ]


def _grid(symbols: list[list[str]], before: list[list[str]]) -> list[Line]:
    """The rows, with brackets where a symbol is another than before."""
    lines: list[Line] = []
    for number, cells in enumerate(zip(symbols, before, strict=True)):
        line: Line = [(" " * _MARGIN if number else "  > ", "quiet")]
        for text, was in zip(*cells, strict=True):
            style = "quiet" if text in (BLANK, ELIDED, ELIDED_ROWS) else "" if number else "answer"
            line.append((f"[{text}]", "changed") if text != was else (f" {text} ", style))
        lines.append(line)
    return lines


def _kept(count: int, most: int) -> list[int]:
    """All of 0 … count−1, or both ends with −1 between where they are more than `most`."""
    if count <= most:
        return list(range(count))
    first = (most - 1) // 2
    return [*range(first), -1, *range(count - (most - 1 - first), count)]


def _end_of(path: str, room: int) -> str:
    return path if len(path) <= room else ELIDED + path[len(path) - max(1, room - 1) :]


def plain(lines: Sequence[Line]) -> str:
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)


def render(lines: Sequence[Line], stream: TextIO) -> str:
    """The lines as text for `stream`, in colour where that is a terminal that has any, and folded to its width."""
    if not stream.isatty() and "FORCE_COLOR" not in os.environ:
        return plain(lines)
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, width=shutil.get_terminal_size().columns)
    with console.capture() as captured:
        for line in lines:
            styled = Text.assemble(*((text, _STYLES.get(style, "")) for text, style in line))
            console.print(styled, soft_wrap=not stream.isatty())
    return captured.get()
