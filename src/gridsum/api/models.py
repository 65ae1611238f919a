"""Models as they are held in Python: let one solve, look inside.

A model answers by a rule that it learned (`exact`) or by a network of the paper's. Torch is imported only where a
network is asked.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from gridsum.api.asking import How, ModelError, how_of, read_expression, read_expressions
from gridsum.data.answers import Answer
from gridsum.tasks import Task

if TYPE_CHECKING:
    from torch import Tensor

    from gridsum.api.terminal import Line
    from gridsum.api.traces import Trace
    from gridsum.automaton.table import RuleTable
    from gridsum.model.paper import Network
    from gridsum.model.rule import RuleNetwork
    from gridsum.model.store import Model as Runs
    from gridsum.model.unroll import Change

# The states of a rule are kept for a trace while they are so many codes at most.
_MOST_CODES = 5 * 10**7


Patch = Mapping[tuple[int, int, int], Any]
"""(n, row, column) → the state that the cell is to have after n steps: a vector, or the number of a code."""


class Model(ABC):
    """One trained run. It answers sums and shows how it does.

    Examples:
        >>> import gridsum
        >>> model = gridsum.load("exact")
        >>> model
        <gridsum model exact: a rule of ... codes>
        >>> model.solve("999 + 1")
        <999+1=1000, right, ... steps>
    """

    name: str

    @property
    @abstractmethod
    def task(self) -> Task:
        """What it was trained to answer."""

    @overload
    def solve(self, expressions: str, **how: Any) -> Answer: ...  # type: ignore[overload-overlap]

    @overload
    def solve(self, expressions: Iterable[str], **how: Any) -> list[Answer]: ...

    def solve(self, expressions: str | Iterable[str], **how: Any) -> Answer | list[Answer]:
        """The answer to a sum, or a list of answers to several.

        The paper's models take `halting` ("sampled", "median", "fixed"), `placement` ("auto", "soft", "hard") and
        `seed`; `exact` takes `network=True` to let its network answer instead of its rule.

        Examples:
            >>> import gridsum
            >>> [str(answer) for answer in gridsum.load("exact").solve(["58+67", "0+9999"])]
            ['125', '9999']
        """
        one = isinstance(expressions, str)
        terms = [self.read(expressions)] if one else read_expressions(expressions, self.task)
        answers = list(self.answers(terms, how_of(how)))
        return answers[0] if one else answers

    def read(self, expression: str) -> tuple[str, ...]:
        """The terms of an expression, as this model's task has them."""
        return read_expression(expression, self.task)

    def __call__(self, expression: str) -> str:
        """A model is a function from text to text, as a solver of your own may be."""
        return self.solve(expression).answer

    @abstractmethod
    def trace(self, expression: str, patch: "Patch | None" = None, **how: Any) -> "Trace":
        """All that happens inside while a sum is worked out; takes what `solve` takes.

        `patch` changes the state of cells on the way: {(n, row, column): state} puts a vector, or a code of a rule,
        into a cell of the grid after n steps, and the computation goes on from there.

        Examples:
            >>> import gridsum
            >>> model = gridsum.load("exact")
            >>> trace = model.trace("58+67")
            >>> trace.readings[-1][0]
            '·125'
            >>> patched = model.trace("58+67", patch={(1, 0, 3): trace.codes[-1, 0, 1]})
            >>> patched.readings[1][0][3], patched.answer.answer
            ('1', '125')
        """

    @abstractmethod
    def run_with_cache(
        self, expression: str, names: "Iterable[str] | None" = None, **how: Any
    ) -> "tuple[Answer, dict[str, Tensor]]":
        """The answer of the network, and what its parts put out, by their names in `network.named_modules()`.

        A part that is called once a recurrent step has its outputs stacked, [calls,...]; runs and problems, of which
        there is one each, are left out. `names` are the parts to keep (default: all).

        Examples:
            >>> import gridsum
            >>> answer, cache = gridsum.load("base").run_with_cache("58+67", ["step", "step.attention"])
            >>> len(cache["step"]) == answer.steps
            True
        """

    @abstractmethod
    def answers(self, expressions: Sequence[tuple[str, ...]], how: How) -> Iterator[Answer]:
        """The answers to sums given as their terms, as they come."""

    def answer_lines(self, lines: Sequence[bytes], how: How) -> bytes | None:  # noqa: ARG002
        """What is answered to lines of a file, a line each, where that is quicker than one by one; None elsewhere."""
        return None

    @abstractmethod
    def drawing(self, terms: tuple[str, ...], answer: Answer, how: How, states: Any = None) -> "list[Line]":
        """How a sum was worked out, for a terminal; `states`, as a trace keeps them, spare doing it again."""

    @property
    @abstractmethod
    def network(self) -> "Network | RuleNetwork":
        """The torch module."""


class PaperModel(Model):
    """A network of the paper's: vectors in its cells, and it decides when to halt."""

    def __init__(self, runs: "Runs") -> None:
        self.name, self.runs = runs.name, runs

    def __repr__(self) -> str:
        from gridsum.model.store import facts

        about = facts(self.runs)
        return f"<gridsum model {self.name}: {about['variant']}, {about['parameters']:,} parameters>"

    @property
    def network(self) -> "Network":
        return self.runs.network

    @property
    def task(self) -> Task:
        return self.runs.config.task.task

    def answers(self, expressions: Sequence[tuple[str, ...]], how: How) -> Iterator[Answer]:
        from gridsum.evaluation.solving import solve

        self.check(how)
        return solve(self.runs, expressions, how.halting, how.seed, how.placement)

    def check(self, how: How) -> None:
        """Refuse what this network cannot do."""
        from gridsum.model.inference import check_rule

        if how.network:
            raise ModelError(f"network is for models that answer by a rule, such as exact; {self.name} is one already")
        if how.halting is not None:
            try:
                check_rule(self.network, how.halting)
            except ValueError as error:
                raise ModelError(f"{self.name}: {error}") from None

    def trace(self, expression: str, patch: "Patch | None" = None, **how: Any) -> "Trace":
        from gridsum.api.traces import Trace
        from gridsum.evaluation.solving import solve, trace_expression

        terms, chosen = self.read(expression), how_of(how)
        self.check(chosen)
        change = None if patch is None else _change(_checked(patch))
        (answer,) = solve(
            self.runs, [terms], chosen.halting, chosen.seed, chosen.placement, change=change
        )  # fmt: skip
        late = next((place for place in patch or () if place[0] > answer.steps), None)
        if late is not None:
            raise ModelError(f"the patch at {late} comes too late: the network halts after {answer.steps} steps")
        inside = trace_expression(self.runs, terms, answer.steps, chosen.placement, change)
        return Trace(self, terms, answer, chosen, inside)

    def run_with_cache(
        self, expression: str, names: "Iterable[str] | None" = None, **how: Any
    ) -> "tuple[Answer, dict[str, Tensor]]":
        from gridsum.model.inside import recorded

        with recorded(self.network, names) as found:
            answer = self.solve(expression, **how)
        return answer, _stacked(found)

    def drawing(self, terms: tuple[str, ...], answer: Answer, how: How, states: Any = None) -> "list[Line]":
        from gridsum.api.terminal import draw_trace
        from gridsum.evaluation.solving import trace_expression

        if states is None:
            states = trace_expression(self.runs, terms, answer.steps, how.placement)
        return draw_trace(answer, states, self.name)


class RuleModel(Model):
    """A run of `exact`: bits in its cells, and a rule that is a finite table."""

    def __init__(self, name: str, weights: Path, table: "RuleTable | None" = None) -> None:
        """`table` is the rule, where it lies in a file of its own; else it is taken from the network."""
        self.name, self.weights = name, weights
        if table is not None:
            self.table = table

    def __repr__(self) -> str:
        return f"<gridsum model {self.name}: a rule of {len(self.table.codes)} codes>"

    @cached_property
    def table(self) -> "RuleTable":
        """The rule."""
        from gridsum.automaton.rule import LearnedRule

        return LearnedRule(self.network).table()

    @property
    def network(self) -> "RuleNetwork":
        return self._network

    @property
    def task(self) -> Task:
        return self.table.task

    @cached_property
    def _network(self) -> "RuleNetwork":
        from gridsum.model.store import load_exact

        return load_exact(self.weights)[0]

    def answers(self, expressions: Sequence[tuple[str, ...]], how: How) -> Iterator[Answer]:
        self.check(how)
        if how.network:
            from gridsum.automaton.rule import LearnedRule

            learned = LearnedRule(self.network)
            return (learned.answer(terms) for terms in expressions)
        from gridsum.automaton.many import answers_by_rule

        return answers_by_rule(self.table, expressions)

    def answer_lines(self, lines: Sequence[bytes], how: How) -> bytes | None:
        if how.network or not lines:
            return None
        from gridsum.automaton.many import answer_lines

        self.check(how)
        return answer_lines(self.table, lines)

    def check(self, how: How) -> None:
        """Refuse what a rule cannot do."""
        if how.halting is not None or how.placement != "auto":
            raise ModelError(
                f"{self.name} halts at rest and places by certain actions; leave halting and placement out"
            )

    def trace(self, expression: str, patch: "Patch | None" = None, **how: Any) -> "Trace":
        import numpy as np

        from gridsum.api.traces import Trace
        from gridsum.automaton.run import patched, size_of, states

        terms, chosen = self.read(expression), how_of(how)
        self.check(chosen)
        if patch is not None:
            codes = {place: _code(code) for place, code in _checked(patch).items()}
            answer, grids = patched(self.table, terms, codes)
            return Trace(self, terms, answer, chosen, np.stack(grids))
        (answer,) = self.answers([terms], chosen)
        height, width = size_of(terms, self.task)
        if (answer.steps + 1) * height * width > _MOST_CODES:
            raise ModelError(
                f"{answer.steps + 1:,} grids of {height:,} × {width:,} cells are too many to keep; trace a shorter sum"
            )
        codes = np.stack(list(states(self.table, terms, answer.steps)))
        return Trace(self, terms, answer, chosen, codes)

    def run_with_cache(
        self, expression: str, names: "Iterable[str] | None" = None, **how: Any
    ) -> "tuple[Answer, dict[str, Tensor]]":
        from gridsum.model.inside import recorded

        with recorded(self.network, names) as found:
            answer = self.solve(expression, **{**how, "network": True})
        return answer, _stacked(found)

    def drawing(
        self,
        terms: tuple[str, ...],
        answer: Answer,
        how: How,  # noqa: ARG002
        states: Any = None,
    ) -> "list[Line]":
        from gridsum.api.terminal import draw_rule

        return draw_rule(answer, self.table, terms, self.name, grids=states)


def _checked(patch: "Patch") -> "Patch":
    if not isinstance(patch, Mapping):
        raise ModelError(f"{patch!r} is no patch; write {{(n, row, column): state}}")
    for place in patch:
        if not isinstance(place, tuple) or len(place) != 3 or not all(isinstance(index, int) for index in place):
            raise ModelError(f"{place!r} is no place for a patch; write (n, row, column): state")
    return patch


def _code(state: Any) -> int:
    try:
        return operator.index(state)
    except TypeError:
        raise ModelError(f"{state!r} is no code of a rule; a cell holds the number of one, such as 1") from None


def _change(patch: "Patch") -> "Change":
    """A patch of cells as `unroll` takes it."""

    def change(n: int, grid: "Tensor") -> "Tensor":
        import torch

        here = {place: state for place, state in patch.items() if place[0] == n}
        if here:
            grid = grid.clone()
        for (_, row, column), state in here.items():
            try:
                grid[0, 0, row, column] = torch.as_tensor(state, dtype=grid.dtype, device=grid.device)
            except (IndexError, RuntimeError, TypeError) as error:
                raise ModelError(
                    f"the patch at {(n, row, column)} does not fit a grid {list(grid.shape)}: {error}"
                ) from None
        return grid

    return change


def _stacked(found: "dict[str, list[Tensor]]") -> "dict[str, Tensor]":
    """One run's outputs for one problem, call after call; those of different shapes stay with the last."""
    import torch

    stacked = {}
    for name, outputs in found.items():
        if not outputs:
            continue
        alike = [output for output in outputs if output.shape == outputs[-1].shape]
        stacked[name] = torch.stack(alike)[:, 0]
    return stacked
