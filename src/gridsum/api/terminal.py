"""The column method, drawn in a terminal step by step.

Colour comes from `rich`, which is imported only where a terminal can show it. Without it, or into a file, the
same is written as plain lines: nothing is said by colour alone.
"""

import os
import re
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from gridsum.data.answers import shortened
from gridsum.tasks import FIRST_DIGIT, PAD

if TYPE_CHECKING:
    from gridsum.automaton.table import RuleTable
    from gridsum.evaluation.solving import Answer
    from gridsum.model.rollout import Trace

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
_MOST_ROWS = 16
_MOST_STEPS = 41


def draw_trace(answer: "Answer", trace: "Trace", model: str, width: int | None = None) -> list[Line]:
    """The grid as placed, then what every cell reads after each step; changed symbols stand in brackets."""
    width, alphabet = width or shutil.get_terminal_size().columns, trace.alphabet
    readings = trace.decoded.argmax(-1).tolist()
    height, columns = trace.decoded.shape[1:3]
    rows = _kept(height, _MOST_ROWS)
    shown = _kept(columns, max(3, (width - _MARGIN) // _CELL))
    placed = _placed(answer, trace)
    lines = _heading(answer, model, width)
    if any(UNSURE in row for row in placed):
        lines.append([(f"{UNSURE} several symbols share the cell", "quiet")])
    lines += _left_out(rows, shown, height, columns)
    lines += [[], [("placed on the grid", "title")], *_grid(placed, None, rows, shown, alphabet)]
    before = None
    drawn = True
    for n, symbols in enumerate(readings):
        title = _step_title(n, trace)
        unchanged = symbols == before
        lines += [] if unchanged and not drawn else [[]]
        if unchanged:
            lines.append([*title, ("no symbol has changed", "quiet")])
        else:
            room = width - sum(len(text) for text, _ in title) - len("reads ")
            read = "".join(alphabet[code] for code in symbols[0] if code != PAD)
            title.append((f"reads {shortened(read or 'nothing', room)}", "answer"))
            lines += [title, *_grid(symbols, before, rows, shown, alphabet)]
        before, drawn = symbols, not unchanged
    return [*lines, [], *_verdict(answer, width), []]


def draw_rule(
    answer: "Answer",
    table: "RuleTable",
    terms: Sequence[str],
    model: str,
    width: int | None = None,
    grids: Sequence[Any] | None = None,
) -> list[Line]:
    """As `draw_trace`, for a rule; of many steps, the first and the last ones.

    `grids` are the codes after each step, where they are at hand; else the rule is run.
    """
    from gridsum.automaton.run import Run, read

    width, alphabet = width or shutil.get_terminal_size().columns, table.task.alphabet.symbols
    run = Run(table, terms)
    rows = _kept(run.size.height, _MOST_ROWS)
    shown = _kept(run.size.width, max(3, (width - _MARGIN) // _CELL))
    columns = [column for column in shown if column is not None]
    places = [place for place, column in enumerate(shown) if column is not None]

    def after(n: int) -> Any:
        if grids is not None:
            return grids[n]
        run.advance(n)
        return run.grid

    def visible(grid: Any, symbols: Sequence[int]) -> list[list[int | str]]:
        """The symbols of the columns that are shown; of the others nothing is looked at."""
        drawn: list[list[int | str]] = []
        for row in grid[:, columns].tolist():
            line: list[int | str] = [ELIDED] * len(shown)
            for place, code in zip(places, row, strict=True):
                line[place] = symbols[code]
            drawn.append(line)
        return drawn

    gaps = [None if column is None else place for place, column in enumerate(shown)]
    lines = _heading(answer, model, width) + _left_out(rows, shown, *run.size)
    lines += [
        [],
        [("placed on the grid", "title")],
        *_grid(visible(run.symbols, _held(table)), None, rows, gaps, alphabet),
    ]
    before, last = visible(after(0), table.reading), 0
    for n in _kept(answer.steps + 1, _MOST_STEPS):
        if n is None:
            lines += [[], [(f"{ELIDED_ROWS}  {answer.steps + 1 - (_MOST_STEPS - 1)} steps are left out", "quiet")]]
            continue
        if n > last + 1:
            before = visible(after(n - 1), table.reading)
        grid = after(n)
        symbols = visible(grid, table.reading)
        title: Line = [(f"step {n}" if n else "before any step", "title"), ("   ", "")]
        room = width - sum(len(text) for text, _ in title) - len("reads ")
        title.append((f"reads {shortened(read(table, grid[0].tobytes()) or 'nothing', room)}", "answer"))
        lines += [[], title, *_grid(symbols, before, rows, gaps, alphabet)]
        before, last = symbols, n
    return [*lines, [], *_verdict(answer, width), []]


def _held(table: "RuleTable") -> list[int]:
    """The symbols of Σ that the cells of a rule's grid hold, in the order of their numbers."""
    return [*range(FIRST_DIGIT, table.task.alphabet.sign_code + 1), PAD]


def _heading(answer: "Answer", model: str, width: int) -> list[Line]:
    rules = f"{answer.halting} halting, {answer.placement} placement, model "
    return [
        [(shortened(answer.expression, width), "title")],
        [(rules + _end_of(model, max(width - len(rules), _MODEL_NAME)), "quiet")],
        [(f"{BLANK} blank   > row of the answer   [ ] changed in this step", "quiet")],
    ]


def _left_out(rows: list[int | None], shown: list[int | None], height: int, columns: int) -> list[Line]:
    if None not in rows and None not in shown:
        return []
    return [[(f"{ELIDED} and {ELIDED_ROWS} stand for what is left out of {height} rows × {columns} columns", "quiet")]]


def _placed(answer: "Answer", trace: "Trace") -> list[list[int | str]]:
    """Which symbol of the input each cell received; under soft placement, which one more than half."""
    from gridsum.analysis.placement import SHARED, written

    symbols = written(trace, answer.placement).symbols.tolist()
    return [[UNSURE if code == SHARED else code for code in row] for row in symbols]


def _step_title(n: int, trace: "Trace") -> Line:
    title: Line = [(f"step {n}" if n else "before any step", "title"), ("   ", "")]
    if trace.halting is not None and trace.probability is not None:
        halting, cumulated = float(trace.halting[n]), float(trace.probability[: n + 1].sum())
        title.append((f"λ {halting:.3f}   halted by now {min(cumulated, 1):.3f}   ", "quiet"))
    return title


def _verdict(answer: "Answer", width: int) -> list[Line]:
    steps = f"{answer.steps} step{'' if answer.steps == 1 else 's'}"
    end = f"stopped by the limit of {steps}" if answer.capped else f"halted after {steps}"
    said = shortened(answer.answer or "nothing", width - len(end) - len(", answer , which is right"))
    start = f"{end}, answer {said}, which is "
    if answer.correct:
        return [[(start, ""), ("right", "right")]]
    truth = shortened(answer.exact, width - len("the sum is "))
    return [[(start, ""), ("wrong", "wrong")], [(f"the sum is {truth}", "")]]


def _grid(
    symbols: Sequence[Sequence[int | str]],
    before: Sequence[Sequence[int | str]] | None,
    rows: list[int | None],
    columns: list[int | None],
    alphabet: Sequence[str],
) -> list[Line]:
    lines: list[Line] = []
    for row in rows:
        if row is None:
            lines.append([(" " * _MARGIN + f" {ELIDED_ROWS}", "quiet")])
            continue
        line: Line = [("  > " if row == 0 else " " * _MARGIN, "quiet")]
        for column in columns:
            if column is None:
                line.append((f" {ELIDED} ", "quiet"))
                continue
            symbol = symbols[row][column]
            changed = before is not None and before[row][column] != symbol
            line.append(_cell(symbol, changed, row == 0, alphabet))
        lines.append(line)
    return lines


def _cell(symbol: int | str, changed: bool, in_answer: bool, alphabet: Sequence[str]) -> tuple[str, str]:
    text = symbol if isinstance(symbol, str) else BLANK if symbol == PAD else alphabet[symbol]
    if changed:
        return f"[{text}]", "changed"
    return f" {text} ", "quiet" if text == BLANK else "answer" if in_answer else ""


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
    if stream.isatty():
        width = shutil.get_terminal_size().columns
        lines = [part for line in lines for part in _folded(line, width)]
    colours = rich_console(stream) if stream.isatty() or "FORCE_COLOR" in os.environ else None
    if colours is None:
        return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines)
    from rich.text import Text

    with colours.capture() as captured:
        for line in lines:
            styled = Text.assemble(*((text, _STYLES.get(style, "")) for text, style in line))
            colours.print(styled, soft_wrap=True)
    return captured.get()


def _folded(line: Line, width: int) -> list[Line]:
    """A line that is too wide, broken at spaces."""
    if sum(len(text) for text, _ in line) <= width:
        return [line]
    lines: list[Line] = [[]]
    room = width
    for text, style in line:
        for word in re.findall(r"\s*\S+|\s+", text):
            if len(word.rstrip()) > room and lines[-1]:
                lines.append([])
                word, room = word.lstrip(), width
            lines[-1].append((word, style))
            room -= len(word)
    return lines


def rich_console(stream: TextIO) -> Any:
    """A console of rich on `stream`, or None where rich is not installed."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=stream, highlight=False)
