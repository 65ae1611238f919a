"""The column method, drawn as text step by step."""

import shutil
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gridsum.data.answers import shortened

if TYPE_CHECKING:
    import numpy as np

    from gridsum.api.traces import Trace
    from gridsum.data.answers import Answer

BLANK, UNSURE, ELIDED, ELIDED_ROWS = "·", "?", "…", "⋮"
_MARGIN, _CELL, _MODEL_NAME = 4, 3, 16
_MOST_ROWS, _MOST_STEPS = 16, 41


def draw(trace: "Trace", width: int | None = None) -> str:
    """The grid as placed, then what every cell reads after each step, no wider than the terminal. Of many rows,
    columns or steps, the first and the last ones are shown."""
    answer, (frames, letters), (placed, placed_letters) = trace.answer, trace.frames, trace.placed
    width = width or shutil.get_terminal_size().columns
    height, columns = placed.shape
    rows, shown = _kept(height, _MOST_ROWS), _kept(columns, max(3, (width - _MARGIN) // _CELL))

    def seen(grid: "np.ndarray", letters: Sequence[str]) -> list[list[str]]:
        def row(number: int) -> list[str]:
            return [ELIDED if column < 0 else letters[int(grid[number, column])] for column in shown]

        return [[ELIDED_ROWS] if number < 0 else row(number) for number in rows]

    start, rules = seen(placed, placed_letters), f"{answer.halting} halting, {answer.placement} placement, model "
    lines = [
        shortened(answer.expression, width),
        rules + shortened(trace.model.name, max(width - len(rules), _MODEL_NAME)),
        f"{BLANK} blank   > row of the answer   [ ] changed in this step",
    ]
    if any(UNSURE in row for row in start):
        lines.append(f"{UNSURE} several symbols share the cell")
    if min(*rows, *shown) < 0:
        lines.append(f"{ELIDED} and {ELIDED_ROWS} stand for what is left out of {height} rows × {columns} columns")
    lines += ["", "placed on the grid", *_grid(start, start)]
    still = False
    for n in _kept(answer.steps + 1, _MOST_STEPS):
        if n < 0:
            lines += ["", f"{ELIDED_ROWS}  {answer.steps + 1 - (_MOST_STEPS - 1)} steps are left out"]
            continue
        grid, before = frames[n], frames[max(n - 1, 0)]
        title = f"{f'step {n}' if n else 'before any step'}   {_halting(trace, n)}"
        if n and (grid == before).all():
            lines += [*[""] * (not still), f"{title}no symbol has changed"]
            still = True
            continue
        still = False
        top: list[int] = grid[0].tolist()
        read = "".join(letters[code] for code in top).replace(BLANK, "")
        title += f"reads {shortened(read or 'nothing', width - len(title) - len('reads '))}"
        lines += ["", title, *_grid(seen(grid, letters), seen(before, letters))]
    return "\n".join(textwrap.fill(line, width) for line in [*lines, "", *_verdict(answer, width)]) + "\n\n"


def _halting(trace: "Trace", n: int) -> str:
    if trace.states is not None or trace.inside.halting is None or trace.inside.probability is None:
        return ""
    halted = min(float(trace.inside.probability[: n + 1].sum()), 1)
    return f"λ {float(trace.inside.halting[n]):.3f}   halted by now {halted:.3f}   "


def _verdict(answer: "Answer", width: int) -> list[str]:
    end = f"stopped by the limit of {answer.taken}" if answer.capped else f"halted after {answer.taken}"
    said = shortened(answer.answer or "nothing", width - len(end) - len(", answer , which is right"))
    verdict = f"{end}, answer {said}, which is {'right' if answer.correct else 'wrong'}"
    return [verdict] if answer.correct else [verdict, f"the sum is {shortened(answer.expected, width - 11)}"]


def _grid(symbols: list[list[str]], before: list[list[str]]) -> list[str]:
    """The rows, with brackets where a symbol is another than before."""
    lines: list[str] = []
    for cells in zip(symbols, before, strict=True):
        drawn = [f"[{text}]" if text != was else f" {text} " for text, was in zip(*cells, strict=True)]
        lines.append(f"{'' if lines else '  >':{_MARGIN}}{''.join(drawn)}")
    return lines


def _kept(count: int, most: int) -> list[int]:
    """All of 0 … count−1, or both ends with −1 between where they are more than `most`."""
    if count <= most:
        return list(range(count))
    first = (most - 1) // 2
    return [*range(first), -1, *range(count - (most - 1 - first), count)]
