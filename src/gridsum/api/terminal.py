"""The column method, drawn in a terminal step by step.

Colour comes from `rich`, which is imported only where it can be shown. Into a file, the same is written as plain lines:
nothing is said by colour alone.
"""

import os
import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from gridsum.data.answers import shortened
from gridsum.tasks import FIRST_DIGIT, PAD

if TYPE_CHECKING:
    import numpy as np

    from gridsum.automaton.table import RuleTable
    from gridsum.data.answers import Answer
    from gridsum.model.inside import Trace

Line = list[tuple[str, str]]
"""Pieces of text, each with its style (empty for none)."""
Frame = Callable[[int], "np.ndarray"]
"""From n to what every cell holds after n steps [H,W]."""

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


def draw_trace(answer: "Answer", trace: "Trace", model: str, width: int | None = None) -> list[Line]:
    """The grid as placed, then what every cell reads after each step; changed symbols stand in brackets."""
    from gridsum.analysis.placement import written

    grids, letters = trace.decoded.argmax(-1).cpu().numpy(), _letters(trace.alphabet, range(len(trace.alphabet)))
    # Under soft placement a cell that several symbols share has the number −1: the last letter.
    placed = written(trace, answer.placement).symbols.cpu().numpy()

    def note(n: int) -> str:
        if trace.halting is None or trace.probability is None:
            return ""
        halted = min(float(trace.probability[: n + 1].sum()), 1)
        return f"λ {float(trace.halting[n]):.3f}   halted by now {halted:.3f}   "

    return _draw(answer, model, width, placed, [*letters, UNSURE], grids.__getitem__, letters, note)


def draw_rule(
    answer: "Answer",
    table: "RuleTable",
    terms: Sequence[str],
    model: str,
    width: int | None = None,
    grids: Sequence[Any] | None = None,
) -> list[Line]:
    """The same for a rule. `grids` are the states after each step, where they are at hand; else the rule is run."""
    from gridsum.automaton.run import Run

    alphabet, run = table.task.alphabet, Run(table, terms)

    def after(n: int) -> "np.ndarray":
        if grids is not None:
            return grids[n]
        run.advance(n)
        return run.grid

    held = _letters(alphabet.symbols, [*range(FIRST_DIGIT, alphabet.sign_code + 1), PAD])
    return _draw(answer, model, width, run.symbols, held, after, _letters(alphabet.symbols, table.reading))


def _letters(alphabet: Sequence[str], codes: Sequence[int]) -> list[str]:
    return [BLANK if code == PAD else alphabet[code] for code in codes]


def _draw(
    answer: "Answer",
    model: str,
    width: int | None,
    placed: "np.ndarray",
    placed_letters: Sequence[str],
    frame: Frame,
    letters: Sequence[str],
    note: Callable[[int], str] = lambda _: "",
) -> list[Line]:
    """Of many rows, columns or steps, the first and the last ones."""
    width = width or shutil.get_terminal_size().columns
    height, columns = placed.shape
    rows, shown = _kept(height, _MOST_ROWS), _kept(columns, max(3, (width - _MARGIN) // _CELL))

    def seen(grid: "np.ndarray", letters: Sequence[str]) -> list[list[str]]:
        kept = grid[[row for row in rows if row is not None]][:, [column for column in shown if column is not None]]
        codes: list[list[int]] = kept.tolist()
        return [[letters[code] for code in row] for row in codes]

    start, rules = seen(placed, placed_letters), f"{answer.halting} halting, {answer.placement} placement, model "
    lines: list[Line] = [
        [(shortened(answer.expression, width), "title")],
        [(rules + _end_of(model, max(width - len(rules), _MODEL_NAME)), "quiet")],
        [(f"{BLANK} blank   > row of the answer   [ ] changed in this step", "quiet")],
    ]
    if any(UNSURE in row for row in start):
        lines.append([(f"{UNSURE} several symbols share the cell", "quiet")])
    if None in rows or None in shown:
        left_out = f"{ELIDED} and {ELIDED_ROWS} stand for what is left out of {height} rows × {columns} columns"
        lines.append([(left_out, "quiet")])
    lines += [[], [("placed on the grid", "title")], *_grid(start, start, rows, shown)]
    grid, last, drawn = None, -1, True
    for n in _kept(answer.steps + 1, _MOST_STEPS):
        if n is None:
            lines += [[], [(f"{ELIDED_ROWS}  {answer.steps + 1 - (_MOST_STEPS - 1)} steps are left out", "quiet")]]
            continue
        before = frame(n - 1) if n > last + 1 else grid
        grid, last = frame(n), n
        title: Line = [(f"step {n}" if n else "before any step", "title"), (f"   {note(n)}", "quiet")]
        if before is not None and (grid == before).all():
            lines += [[]] * drawn
            lines.append([*title, ("no symbol has changed", "quiet")])
            drawn = False
            continue
        top: list[int] = grid[0].tolist()
        read = "".join(letters[code] for code in top).replace(BLANK, "")
        room = width - sum(len(text) for text, _ in title) - len("reads ")
        title.append((f"reads {shortened(read or 'nothing', room)}", "answer"))
        now = seen(grid, letters)
        lines += [[], title, *_grid(now, now if before is None else seen(before, letters), rows, shown)]
        drawn = True
    return [*lines, [], *_verdict(answer, width), []]


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


def _grid(
    symbols: list[list[str]], before: list[list[str]], rows: list[int | None], columns: list[int | None]
) -> list[Line]:
    """The rows and columns that are kept, with a mark where others are left out."""
    lines: list[Line] = []
    kept = iter(zip(symbols, before, strict=True))
    for row in rows:
        if row is None:
            lines.append([(" " * _MARGIN + f" {ELIDED_ROWS}", "quiet")])
            continue
        cells = iter(zip(*next(kept), strict=True))
        line: Line = [("  > " if row == 0 else " " * _MARGIN, "quiet")]
        for column in columns:
            if column is None:
                line.append((f" {ELIDED} ", "quiet"))
                continue
            text, was = next(cells)
            plain = "quiet" if text == BLANK else "answer" if row == 0 else ""
            line.append((f"[{text}]", "changed") if text != was else (f" {text} ", plain))
        lines.append(line)
    return lines


def _kept(count: int, most: int) -> list[int | None]:
    """All of 0 … count−1, or both ends with None between where they are more than `most`."""
    if count <= most:
        return list(range(count))
    first = (most - 1) // 2
    return [*range(first), None, *range(count - (most - 1 - first), count)]


def _end_of(path: str, room: int) -> str:
    return path if len(path) <= room else ELIDED + path[len(path) - max(1, room - 1) :]


def render(lines: Sequence[Line], stream: TextIO) -> str:
    """The lines as text for `stream`, in colour where that is a terminal that has any, and folded to its width."""
    if not stream.isatty() and "FORCE_COLOR" not in os.environ:
        return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, width=shutil.get_terminal_size().columns)
    with console.capture() as captured:
        for line in lines:
            styled = Text.assemble(*((text, _STYLES.get(style, "")) for text, style in line))
            console.print(styled, soft_wrap=not stream.isatty())
    return captured.get()
