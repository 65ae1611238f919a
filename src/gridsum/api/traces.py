"""A computation to look at: every grid, what it reads as, and what made the network go on or halt; and as text."""

import base64
import html
import shutil
import sys
import textwrap
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridsum.data.answers import Answer, shortened
from gridsum.io.names import did_you_mean
from gridsum.tasks import FIRST_DIGIT, PAD

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from gridsum.api.models import Model
    from gridsum.model.inside import Trace as Inside

_PLOTS = ("steps", "placement")
_BLANK, _UNSURE, _ELIDED, _ELIDED_ROWS = "·", "?", "…", "⋮"
_MARGIN, _CELL, _MODEL_NAME = 4, 3, 16
_MOST_ROWS, _MOST_STEPS = 16, 41


class Trace:
    """How a model worked out one sum. It has `len(trace)` grids: the first before any step.

    Examples:
        >>> import gridsum
        >>> trace = gridsum.trace("99+1")
        >>> trace
        <trace of 99+1=100: ... grids of 3 × 4 cells, model exact>
        >>> for row in trace.text[-1]: print(row)
        ·100
        ··99
        ····
    """

    def __init__(self, model: "Model", terms: tuple[str, ...], answer: Answer, states: Any) -> None:
        """`states` are the internals of a network, or the states [N+1,H,W] of a rule."""
        self.model, self.terms, self.answer = model, terms, answer
        self.states: np.ndarray | None = None if hasattr(states, "decoded") else states
        """Of a rule, the number of every cell's state [N+1,H,W]; None for a network of vectors."""
        if self.states is None:
            self.inside = states

    @cached_property
    def inside(self) -> "Inside":
        """Every internal as tensors: grids, actions, output symbols (those of a rule are certain), λ_n and p_n."""
        from gridsum.automaton.rule import trace_of_rule

        assert self.states is not None
        return trace_of_rule(self.model.table, self.terms, self.states)  # type: ignore[attr-defined]

    @property
    def grids(self) -> "Tensor":
        """What every cell holds [N+1,H,W,E]: a vector, or bits as ±1."""
        return self.inside.grids

    @cached_property
    def text(self) -> list[list[str]]:
        """What the output layer reads at every n: a line for each row of the grid, a dot for a blank."""
        grids, letters = self.frames
        return [["".join(letters[code] for code in row) for row in grid] for grid in grids.tolist()]

    @cached_property
    def frames(self) -> "tuple[np.ndarray, list[str]]":
        """The number of what every cell reads as, or of its state, at every n [N+1,H,W]; and the symbol of each."""
        letters = self._letters
        if self.states is not None:
            return self.states, [letters[symbol] for symbol in self.model.table.outputs]  # type: ignore[attr-defined]
        return self.inside.decoded.argmax(-1).cpu().numpy(), letters

    @property
    def placed(self) -> "tuple[np.ndarray, list[str]]":
        """The number of what is placed in every cell [H,W], and the symbol of each; ? where several share a cell."""
        letters = self._letters
        if self.states is not None:
            from gridsum.automaton.run import Run

            symbols = Run.of(self.model.table, self.terms).symbols  # type: ignore[attr-defined]
            return symbols, [*letters[FIRST_DIGIT : self.model.task.alphabet.equals_symbol], _BLANK]
        # Under soft placement a cell that several symbols share has the number −1: the last letter.
        return self.inside.written(self.answer.placement).cpu().numpy(), [*letters, _UNSURE]

    @property
    def _letters(self) -> list[str]:
        return [_BLANK if code == PAD else symbol for code, symbol in enumerate(self.model.task.alphabet.symbols)]

    def __len__(self) -> int:
        return self.answer.steps + 1

    def __repr__(self) -> str:
        height, width = len(self.text[0]), len(self.text[0][0])
        said = f"{self.answer.expression}{self.answer.answer}"
        return f"<trace of {said}: {len(self)} grids of {height} × {width} cells, model {self.model.name}>"

    def __str__(self) -> str:
        return _drawn(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def show(self) -> None:
        """Print every step, as `gridsum solve --show` does."""
        sys.stdout.write(str(self))

    def plot(self, what: str = "steps") -> Any:
        """A matplotlib figure: "steps" or "placement"."""
        if what not in _PLOTS:
            mend = did_you_mean(str(what), _PLOTS, f"use {', '.join(_PLOTS)}")
            raise ValueError(f"unknown plot {what!r}; {mend}")
        from gridsum import figures

        return getattr(figures, f"plot_{what}")(self.inside, self.answer)

    def film(self, path: str | Path | None = None) -> "Film":
        """A film, which shows itself in a notebook; with `path` (.gif) it is written there, too."""
        from gridsum.figures import animation, style
        from gridsum.io.disk import write_atomically

        if path is not None:
            style.check_format(path, (".gif",))
        film = Film(animation.to_gif(list(animation.animation_frames(self.inside, self.answer))))
        if path is not None:
            write_atomically(Path(path).resolve(), film)
        return film


class Film(bytes):
    """The content of a GIF."""

    def __repr__(self) -> str:
        return f"<film: {len(self):,} bytes>"

    def _repr_html_(self) -> str:
        return f'<img alt="a sum being worked out" src="data:image/gif;base64,{base64.b64encode(self).decode()}">'


def _drawn(trace: Trace) -> str:
    """The grid as placed, then what every cell reads after each step, no wider than the terminal. Of many rows,
    columns or steps, the first and the last ones are shown."""
    answer, (frames, letters), (placed, placed_letters) = trace.answer, trace.frames, trace.placed
    width, (height, columns) = shutil.get_terminal_size().columns, placed.shape
    rows, shown = _kept(height, _MOST_ROWS), _kept(columns, max(3, (width - _MARGIN) // _CELL))

    def seen(grid: "np.ndarray", letters: Sequence[str]) -> list[list[str]]:
        def row(number: int) -> list[str]:
            return [_ELIDED if column < 0 else letters[int(grid[number, column])] for column in shown]

        return [[_ELIDED_ROWS] if number < 0 else row(number) for number in rows]

    start, rules = seen(placed, placed_letters), f"{answer.halting} halting, {answer.placement} placement, model "
    lines = [
        shortened(answer.expression, width),
        rules + shortened(trace.model.name, max(width - len(rules), _MODEL_NAME)),
        f"{_BLANK} blank   > row of the answer   [ ] changed in this step",
    ]
    if any(_UNSURE in row for row in start):
        lines.append(f"{_UNSURE} several symbols share the cell")
    if min(*rows, *shown) < 0:
        lines.append(f"{_ELIDED} and {_ELIDED_ROWS} stand for what is left out of {height} rows × {columns} columns")
    lines += ["", "placed on the grid", *_grid(start, start)]
    still = False
    for n in _kept(answer.steps + 1, _MOST_STEPS):
        if n < 0:
            lines += ["", f"{_ELIDED_ROWS}  {answer.steps + 1 - (_MOST_STEPS - 1)} steps are left out"]
            continue
        grid, before = frames[n], frames[max(n - 1, 0)]
        title = f"{f'step {n}' if n else 'before any step'}   {_halting(trace, n)}"
        if n and (grid == before).all():
            lines += [*[""] * (not still), f"{title}no symbol has changed"]
            still = True
            continue
        still = False
        top: list[int] = grid[0].tolist()
        read = "".join(letters[code] for code in top).replace(_BLANK, "")
        title += f"reads {shortened(read or 'nothing', width - len(title) - len('reads '))}"
        lines += ["", title, *_grid(seen(grid, letters), seen(before, letters))]
    end = f"stopped by the limit of {answer.taken}" if answer.capped else f"halted after {answer.taken}"
    said = shortened(answer.answer or "nothing", width - len(end) - len(", answer , which is right"))
    lines += ["", f"{end}, answer {said}, which is {'right' if answer.correct else 'wrong'}"]
    if not answer.correct:
        lines.append(f"the sum is {shortened(answer.expected, width - 11)}")
    return "\n".join(textwrap.fill(line, width) for line in lines) + "\n\n"


def _halting(trace: Trace, n: int) -> str:
    if trace.states is not None or trace.inside.halting is None or trace.inside.probability is None:
        return ""
    halted = min(float(trace.inside.probability[: n + 1].sum()), 1)
    return f"λ {float(trace.inside.halting[n]):.3f}   halted by now {halted:.3f}   "


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
