"""A computation to look at: every grid, what it reads as, and what made the network go on or halt."""

import base64
import html
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridsum.api.terminal import BLANK, UNSURE, draw
from gridsum.data.answers import Answer
from gridsum.io.names import did_you_mean
from gridsum.tasks import FIRST_DIGIT, PAD

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from gridsum.api.models import Model
    from gridsum.model.inside import Trace as Inside

_PLOTS = ("steps", "placement")


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
        self.states: np.ndarray | None = None
        """Of a rule, the number of every cell's state [N+1,H,W]; None for a network of vectors."""
        if hasattr(states, "decoded"):
            self.inside = states
        else:
            self.states = states

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
            return symbols, [*letters[FIRST_DIGIT : self.model.task.alphabet.equals_symbol], BLANK]
        # Under soft placement a cell that several symbols share has the number −1: the last letter.
        return self.inside.written(self.answer.placement).cpu().numpy(), [*letters, UNSURE]

    @property
    def _letters(self) -> list[str]:
        return [BLANK if code == PAD else symbol for code, symbol in enumerate(self.model.task.alphabet.symbols)]

    def __len__(self) -> int:
        return self.answer.steps + 1

    def __repr__(self) -> str:
        height, width = len(self.text[0]), len(self.text[0][0])
        said = f"{self.answer.expression}{self.answer.answer}"
        return f"<trace of {said}: {len(self)} grids of {height} × {width} cells, model {self.model.name}>"

    def __str__(self) -> str:
        return draw(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def show(self) -> None:
        """Print every step, as `gridsum solve --show` does."""
        sys.stdout.write(draw(self))

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
