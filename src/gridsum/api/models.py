"""Models as they are held in Python: networks of the paper's here, learned rules in `gridsum.api.rules`.

Torch is imported only where a network is asked.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from gridsum.api.traces import Trace
from gridsum.data.answers import Answer, HaltingRule, PlacementRule, SolveOptions
from gridsum.io.names import MODELS
from gridsum.tasks import ExpressionError, Task

if TYPE_CHECKING:
    from torch import Tensor

    from gridsum.model.store import Model as Runs

Sums = Sequence[tuple[str, ...]]
"""Several sums, each as its terms."""
Between = Callable[[], None]
"""Is called between recurrent steps, and may raise to end the work."""


class ModelError(ValueError):
    """A model that cannot be had or cannot do as asked; the message says what to do."""


class Model(ABC):
    """One trained run. It answers sums and shows how it does.

    Examples:
        >>> import gridsum
        >>> model = gridsum.load("exact")
        >>> model
        <gridsum model exact: a rule of ... states>
        >>> model.solve("999 + 1")
        <999+1=1000, right, ... steps>
    """

    name: str
    runs: "Runs"
    """The network with its configuration and seed, as it is kept on disk."""
    has_rule = False
    """Whether it answers by a rule, a short sum in about a millisecond, and not by its network."""

    @property
    def task(self) -> Task:
        """What it was trained to answer."""
        return self.runs.task

    @property
    def network(self) -> Any:
        """The torch module: `network(symbols)` reads every step, with gradients."""
        return self.runs.network

    @property
    def config(self) -> Any:
        """What it was trained with, as frozen dataclasses: `config.training.epochs`."""
        return self.runs.config

    @property
    def about(self) -> dict[str, Any]:
        """Its name, variant, seed, parameters and epochs."""
        from gridsum.model.store import facts

        return facts(self.runs)

    @overload
    def solve(  # type: ignore[overload-overlap]
        self, expressions: str, *, halting: HaltingRule | None = None, placement: PlacementRule = "auto",
        seed: int = 0, network: bool = False,
    ) -> Answer: ...  # fmt: skip

    @overload
    def solve(
        self, expressions: Iterable[str], *, halting: HaltingRule | None = None, placement: PlacementRule = "auto",
        seed: int = 0, network: bool = False,
    ) -> list[Answer]: ...  # fmt: skip

    def solve(
        self,
        expressions: str | Iterable[str],
        *,
        halting: HaltingRule | None = None,
        placement: PlacementRule = "auto",
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
        terms = [self.read(expressions)] if one else self.read_all(expressions)
        answers = list(self.answers(terms, SolveOptions(halting, placement, seed, network)))
        return answers[0] if one else answers

    def trace(
        self, expression: str, *, halting: HaltingRule | None = None, placement: PlacementRule = "auto", seed: int = 0
    ) -> Trace:
        """All that happens inside while a sum is worked out; takes what `solve` takes.

        Examples:
            >>> import gridsum
            >>> gridsum.load("exact").trace("58+67").text[-1][0]
            '·125'
        """
        return self.traced(self.read(expression), SolveOptions(halting, placement, seed))

    def run_with_cache(
        self, expression: str, names: str | Iterable[str] | None = None
    ) -> "tuple[Answer, dict[str, Any]]":
        """The answer of the network, and what its parts put out, by their names in `network.named_modules()`.

        The outputs of a part are stacked, [calls,...]: one for each recurrent step where it is a part of that. Runs
        and problems, of which there is one each, are left out. A part that puts out several tensors has a tuple of
        them; outputs that differ in shape stay a list. `names` are the parts to keep (default: all that are called).

        Examples:
            >>> import gridsum
            >>> model = gridsum.load("base")
            >>> answer, cache = model.run_with_cache("58+67", ["step", "step.attention"])
            >>> cache["step"].shape == (answer.steps, 3, 5, 64)
            True
        """
        from gridsum.model.inside import recorded, stacked

        terms, options = self.read(expression), SolveOptions(network=self.has_rule)
        with recorded(self.network, names) as found:
            (answer,) = self.answers([terms], options)
        if names is not None and (silent := [name for name, outputs in found.items() if not outputs]):
            raise ModelError(f"{', '.join(silent)} was not called for this sum; name a part of the computation")
        return answer, {name: stacked(outputs) for name, outputs in found.items() if outputs}

    def encode(self, expressions: str | Iterable[str]) -> "Tensor":
        """Sums as the symbols [B,S] that the network takes, where it lies: `model.network(model.encode("58+67"))`."""
        from gridsum.data.problems import batch_of

        listed = [expressions] if isinstance(expressions, str) else expressions
        device = next(self.network.parameters()).device
        return batch_of(self.read_all(listed), device, self.task).symbols[0]

    def to(self, device: str) -> "Model":
        """Move its network to a device: "cpu", "cuda" or "auto"."""
        from gridsum.ops.devices import pick_device

        self.network.to(pick_device(device))
        return self

    def save(self, path: str | Path) -> None:
        """Write its network, as it is now, for `gridsum.load`: into a folder, or to a file NAME.safetensors."""
        from gridsum.model.store import WEIGHTS, save_run

        file = Path(path) if str(path).endswith(".safetensors") else Path(path) / WEIGHTS
        save_run(file, self.network, 0, self.config, self.runs.seeds[0])

    def read(self, expression: str) -> tuple[str, ...]:
        """The terms of an expression, as this model's task has them."""
        if expression in MODELS:
            mend = f"the sum comes first: gridsum.solve('58+67', {expression!r})"
            raise ExpressionError(f"{expression!r} is a model, not a sum; {mend}")
        return self.task.parse(expression)

    def read_all(self, expressions: Iterable[str]) -> list[tuple[str, ...]]:
        """The terms of several; a message says which of them cannot be read."""
        found = []
        for number, expression in enumerate(expressions, 1):
            try:
                found.append(self.read(expression))
            except ExpressionError as error:
                raise ExpressionError(f"expression {number}: {error}") from None
        return found

    @abstractmethod
    def answers(self, expressions: Sums, options: SolveOptions, between: Between | None = None) -> Iterator[Answer]:
        """The answers to sums, as they come."""

    @abstractmethod
    def traced(self, terms: tuple[str, ...], options: SolveOptions) -> Trace:
        """As `trace`, of terms."""

    def answer_lines(self, lines: Sequence[bytes], options: SolveOptions) -> bytes | None:
        """What is answered to lines of a file, a line each, where that is quicker than one by one; None elsewhere."""
        return None

    @abstractmethod
    def size(self, terms: tuple[str, ...]) -> tuple[int, int]:
        """The rows and columns of the grid that a sum is worked out on."""


class PaperModel(Model):
    def __init__(self, runs: "Runs") -> None:
        self.name, self.runs = runs.name, runs

    def __repr__(self) -> str:
        return f"<gridsum model {self.name}: {self.about['variant']}, {self.about['parameters']:,} parameters>"

    def answers(self, expressions: Sums, options: SolveOptions, between: Between | None = None) -> Iterator[Answer]:
        from gridsum.evaluation.solving import solve

        if options.network:
            why = f"{self.name} is a network already; the option network is for models with a rule, such as exact"
            raise ModelError(why)
        watch = None if between is None else lambda _: between()
        return solve(self.runs, expressions, options, watch)

    def traced(self, terms: tuple[str, ...], options: SolveOptions) -> Trace:
        from gridsum.evaluation.solving import solve_traced

        return Trace(self, terms, *solve_traced(self.runs, terms, options))

    def size(self, terms: tuple[str, ...]) -> tuple[int, int]:
        return self.config.task.solving_grid(len(terms), self.task.longest(terms))
