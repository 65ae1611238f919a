"""Models as they are held in Python: let one solve, look inside.

A model answers by a rule that it learned (`exact`) or by a network of the paper's. Torch is imported only where a
network is asked.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from gridsum.api.asking import How, ModelError, read_expression, read_expressions
from gridsum.api.traces import Trace
from gridsum.data.answers import Answer
from gridsum.tasks import Task

if TYPE_CHECKING:
    from torch import Tensor

    from gridsum.api.terminal import Line
    from gridsum.automaton.table import RuleTable
    from gridsum.evaluation.solving import PlacementRule
    from gridsum.model.inference import HaltingRule
    from gridsum.model.inside import Trace as Inside
    from gridsum.model.rollout import Change, Network
    from gridsum.model.rule import RuleNetwork
    from gridsum.model.store import Model as Runs

# The states of a rule are kept for a trace while they are so many codes at most.
_MOST_CODES = 5 * 10**7

Patch = Mapping[tuple[int, int, int], Any]
"""(n, row, column) → the state that the cell is to have after n steps: a vector, or the number of a code."""
Between = Callable[[], None]
"""Is called between recurrent steps, and may raise to end the work."""


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
    has_rule = False
    """Whether it answers by a rule, a short sum in about a millisecond, and not by its network."""

    @property
    @abstractmethod
    def task(self) -> Task:
        """What it was trained to answer."""

    @property
    @abstractmethod
    def network(self) -> "Network | RuleNetwork":
        """The torch module."""

    @property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Its name, variant, seed, parameters and epochs."""

    @property
    @abstractmethod
    def halting_rules(self) -> dict[str, str]:
        """The rules that it can follow, its own first, and what each means."""

    @overload
    def solve(  # type: ignore[overload-overlap]
        self, expressions: str, *, halting: "HaltingRule | None" = None, placement: "PlacementRule" = "auto",
        seed: int = 0, network: bool = False,
    ) -> Answer: ...  # fmt: skip

    @overload
    def solve(
        self, expressions: Iterable[str], *, halting: "HaltingRule | None" = None, placement: "PlacementRule" = "auto",
        seed: int = 0, network: bool = False,
    ) -> list[Answer]: ...  # fmt: skip

    def solve(
        self,
        expressions: str | Iterable[str],
        *,
        halting: "HaltingRule | None" = None,
        placement: "PlacementRule" = "auto",
        seed: int = 0,
        network: bool = False,
    ) -> Answer | list[Answer]:
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
        answers = list(self.answers(terms, _how(halting, placement, seed, network)))
        return answers[0] if one else answers

    def trace(
        self,
        expression: str,
        patch: Patch | None = None,
        *,
        halting: "HaltingRule | None" = None,
        placement: "PlacementRule" = "auto",
        seed: int = 0,
    ) -> Trace:
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
        return self.traced(self.read(expression), _how(halting, placement, seed), _checked(patch))

    def run_with_cache(
        self,
        expression: str,
        names: str | Iterable[str] | None = None,
        *,
        halting: "HaltingRule | None" = None,
        placement: "PlacementRule" = "auto",
        seed: int = 0,
    ) -> "tuple[Answer, dict[str, Any]]":
        """The answer of the network, and what its parts put out, by their names in `network.named_modules()`.

        The outputs of a part are stacked, [calls,...]: one for each recurrent step where it is a part of that. Runs
        and problems, of which there is one each, are left out. Outputs that differ in shape stay a list. `names` are
        the parts to keep (default: all that are called).

        Examples:
            >>> import gridsum
            >>> model = gridsum.load("base")
            >>> answer, cache = model.run_with_cache("58+67", ["step", "step.attention"])
            >>> cache["step"].shape == (answer.steps, 3, 5, 64)
            True
        """
        from gridsum.model.inside import recorded

        with recorded(self.network, names) as found:
            (answer,) = self.answers([self.read(expression)], _how(halting, placement, seed, self.has_rule))
        if names is not None and (silent := [name for name, outputs in found.items() if not outputs]):
            raise ModelError(f"{', '.join(silent)} was not called for this sum; name a part of the computation")
        return answer, {name: _stacked(outputs) for name, outputs in found.items() if outputs}

    def read(self, expression: str) -> tuple[str, ...]:
        """The terms of an expression, as this model's task has them."""
        return read_expression(expression, self.task)

    def __call__(self, expression: str) -> str:
        """A model is a function from text to text, as a solver of your own may be."""
        return self.solve(expression).answer

    @abstractmethod
    def check(self, how: How) -> None:
        """Refuse what this model cannot do."""

    @abstractmethod
    def answers(
        self, expressions: Sequence[tuple[str, ...]], how: How, between: Between | None = None
    ) -> Iterator[Answer]:
        """The answers to sums given as their terms, as they come."""

    @abstractmethod
    def traced(
        self, terms: tuple[str, ...], how: How, patch: Patch | None = None, between: Between | None = None
    ) -> Trace:
        """As `trace`, of terms."""

    def answer_lines(self, lines: Sequence[bytes], how: How) -> bytes | None:  # noqa: ARG002
        """What is answered to lines of a file, a line each, where that is quicker than one by one; None elsewhere."""
        return None

    @abstractmethod
    def size(self, terms: tuple[str, ...]) -> tuple[int, int]:
        """The rows and columns of the grid that a sum is worked out on."""

    @abstractmethod
    def most_steps(self, terms: tuple[str, ...]) -> int:
        """No more are taken for a sum."""

    @abstractmethod
    def drawing(self, terms: tuple[str, ...], answer: Answer, how: How, states: Any = None) -> "list[Line]":
        """How a sum was worked out, for a terminal; `states`, as a trace keeps them, spare doing it again."""


class PaperModel(Model):
    """A network of the paper's: vectors in its cells, and it decides when to halt."""

    def __init__(self, runs: "Runs") -> None:
        self.name, self.runs = runs.name, runs

    def __repr__(self) -> str:
        return f"<gridsum model {self.name}: {self.about['variant']}, {self.about['parameters']:,} parameters>"

    @property
    def network(self) -> "Network":
        return self.runs.network

    @property
    def task(self) -> Task:
        return self.runs.config.task.task

    @property
    def about(self) -> dict[str, Any]:
        from gridsum.model.store import facts

        return facts(self.runs)

    @property
    def halting_rules(self) -> dict[str, str]:
        from gridsum.model.inference import rules_of

        return rules_of(self.network)

    def check(self, how: How) -> None:
        from gridsum.model.inference import check_rule

        if how.network:
            raise ModelError(
                f"network is for models that answer by a rule, such as exact; {self.name} is a network already"
            )
        if how.halting is not None:
            try:
                check_rule(self.network, how.halting)
            except ValueError as error:
                raise ModelError(f"{self.name}: {error}") from None

    def answers(
        self, expressions: Sequence[tuple[str, ...]], how: How, between: Between | None = None
    ) -> Iterator[Answer]:
        from gridsum.evaluation.solving import solve

        self.check(how)
        watch = None if between is None else lambda _: between()
        return solve(self.runs, expressions, how.halting, how.seed, how.placement, watch)

    def traced(
        self, terms: tuple[str, ...], how: How, patch: Patch | None = None, between: Between | None = None
    ) -> Trace:
        from gridsum.evaluation.solving import solve_watched

        self.check(how)
        watch = (lambda _: None) if between is None else lambda _: between()
        change = None if patch is None else _change(patch)
        answer, inside = solve_watched(self.runs, terms, watch, how.halting, how.seed, how.placement, change)
        late = next((place for place in patch or () if place[0] > answer.steps), None)
        if late is not None:
            raise ModelError(f"the patch at {late} comes too late: the network halts after {answer.steps} steps")
        return Trace(self, terms, answer, how, inside)

    def attention_of(self, inside: "Inside") -> "Tensor":
        """What each cell pays to its neighbours [N,k²,H,W,h]."""
        from gridsum.ops.sizes import check_memory, trace_bytes

        steps, (height, width) = len(inside.grids) - 1, inside.grids.shape[1:3]
        what = f"the attention of {steps:,} steps on {height:,} rows × {width:,} columns"
        check_memory(what, trace_bytes(self.network.config, height * width, steps), inside.grids.device)
        return self.network.step.attention.weights(inside.grids[None, :-1])[:, 0].transpose(0, 1)

    def size(self, terms: tuple[str, ...]) -> tuple[int, int]:
        return self.runs.config.task.solving_grid(len(terms), max(map(len, terms)))

    def most_steps(self, terms: tuple[str, ...]) -> int:  # noqa: ARG002
        from gridsum.model.inference import step_cap

        return step_cap(self.network.config)

    def drawing(self, terms: tuple[str, ...], answer: Answer, how: How, states: Any = None) -> "list[Line]":
        from gridsum.api.terminal import draw_trace

        return draw_trace(answer, states or self.traced(terms, how).inside, self.name)


class RuleModel(Model):
    """A run of `exact`: bits in its cells, and a rule that is a finite table."""

    has_rule = True

    def __init__(self, name: str, weights: Path | None, table: "RuleTable | None" = None) -> None:
        """`table` is the rule, where it lies in a file of its own; else it is taken from the network."""
        self.name, self._weights = name, weights
        if table is not None:
            self.table = table

    @property
    def weights(self) -> Path:
        """The file of the network."""
        if self._weights is None:
            raise ModelError(f"{self.name} is a rule without its network; load the model that it was taken from")
        return self._weights

    def __repr__(self) -> str:
        return f"<gridsum model {self.name}: a rule of {len(self.table.codes)} codes>"

    @cached_property
    def table(self) -> "RuleTable":
        """The rule."""
        from gridsum.automaton.rule import LearnedRule

        return LearnedRule(self.network).table()

    @cached_property
    def network(self) -> "RuleNetwork":  # type: ignore[override]
        from gridsum.model.store import load_runs

        return load_runs(self.name, [self.weights]).network

    @property
    def task(self) -> Task:
        return self.table.task

    @property
    def about(self) -> dict[str, Any]:
        from gridsum.model.store import facts, load_runs

        return facts(load_runs(self.name, [self.weights]))

    @property
    def halting_rules(self) -> dict[str, str]:
        from gridsum.automaton.run import FIXED_POINT

        return {FIXED_POINT: "halt when a step changes nothing"}

    def check(self, how: How) -> None:
        if how.halting is not None or how.placement != "auto":
            raise ModelError(
                f"{self.name} always halts at a fixed point and uses hard placement; leave halting and placement out"
            )

    def answers(
        self,
        expressions: Sequence[tuple[str, ...]],
        how: How,
        between: Between | None = None,  # noqa: ARG002
    ) -> Iterator[Answer]:
        self.check(how)
        if how.network:
            from gridsum.automaton.rule import LearnedRule

            return map(LearnedRule(self.network).answer, expressions)
        from gridsum.automaton.solve import answers_by_rule

        return answers_by_rule(self.table, expressions)

    def answer_lines(self, lines: Sequence[bytes], how: How) -> bytes | None:
        if how.network or not lines:
            return None
        from gridsum.automaton.solve import answer_lines

        self.check(how)
        return answer_lines(self.table, lines)

    def traced(
        self,
        terms: tuple[str, ...],
        how: How,
        patch: Patch | None = None,
        between: Between | None = None,  # noqa: ARG002
    ) -> Trace:
        import numpy as np

        from gridsum.automaton.run import patched, states

        self.check(how)
        if patch is not None:
            answer, grids = patched(self.table, terms, {place: _code(code) for place, code in patch.items()})
            return Trace(self, terms, answer, how, np.stack(grids))
        (answer,) = self.answers([terms], how)
        height, width = self.size(terms)
        if (answer.steps + 1) * height * width > _MOST_CODES:
            raise ModelError(
                f"{answer.steps + 1:,} grids of {height:,} × {width:,} cells are too many to keep; trace a shorter sum"
            )
        return Trace(self, terms, answer, how, np.stack(list(states(self.table, terms, answer.steps))))

    def attention_of(self, inside: "Inside") -> "Tensor":
        """What each bit takes from left, right and below [N,3,H,W,E]."""
        from gridsum.automaton.rule import LearnedRule, cells

        rule = LearnedRule(self.network)
        held = cells(inside.symbols[None], rule.actions(), *inside.grids.shape[1:3])
        return self.network.attention(rule.prepare()[1][:, held], inside.grids[None, :-1])[:, 0].transpose(0, 1)

    def size(self, terms: tuple[str, ...]) -> tuple[int, int]:
        from gridsum.automaton.run import size_of

        return size_of(terms, self.task)

    def most_steps(self, terms: tuple[str, ...]) -> int:
        """Exactly as many as it takes: the rule is quick enough to be asked."""
        return next(self.answers([terms], How())).steps

    def drawing(
        self,
        terms: tuple[str, ...],
        answer: Answer,
        how: How,  # noqa: ARG002
        states: Any = None,
    ) -> "list[Line]":
        from gridsum.api.terminal import draw_rule

        return draw_rule(answer, self.table, terms, self.name, grids=states)


def _how(halting: Any, placement: Any, seed: Any, network: bool = False) -> How:
    if not isinstance(seed, int):
        raise ModelError(f"{seed!r} is no seed; write a whole number")
    return How(halting, placement, seed, network)


def _checked(patch: Patch | None) -> Patch | None:
    if patch is None:
        return None
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


def _change(patch: Patch) -> "Change":
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


def _stacked(outputs: "list[Tensor]") -> Any:
    """The outputs of a part for one problem of one run, call after call."""
    import torch

    # What is the same for all problems, such as the placement of each symbol, has no place for them.
    single = [output[0, 0] if output.shape[1:2] == (1,) else output[0] for output in outputs]
    return torch.stack(single) if len({output.shape for output in single}) == 1 else single
