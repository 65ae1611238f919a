"""A network of the paper's as a model: vectors in its cells, and it decides when to halt."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gridsum.api.models import Between, Model
from gridsum.api.options import ModelError, SolveOptions
from gridsum.api.traces import Trace
from gridsum.data.answers import Answer

if TYPE_CHECKING:
    from gridsum.model.store import Model as Runs


class PaperModel(Model):
    """One of the paper's variants."""

    def __init__(self, runs: "Runs") -> None:
        self.name, self.runs = runs.name, runs

    def __repr__(self) -> str:
        return f"<gridsum model {self.name}: {self.about['variant']}, {self.about['parameters']:,} parameters>"

    def answers(
        self, expressions: Sequence[tuple[str, ...]], options: SolveOptions, between: Between | None = None
    ) -> Iterator[Answer]:
        from gridsum.evaluation.solving import solve

        if options.network:
            raise ModelError(
                f"{self.name} is a network already; the option network is for models with a rule, such as exact"
            )
        watch = None if between is None else lambda _: between()
        return solve(self.runs, expressions, options.halting, options.seed, options.placement, watch)

    def traced(self, terms: tuple[str, ...], options: SolveOptions) -> Trace:
        from gridsum.evaluation.solving import solve_traced

        return Trace(self, terms, *solve_traced(self.runs, terms, options.halting, options.seed, options.placement))

    def size(self, terms: tuple[str, ...]) -> tuple[int, int]:
        return self.config.task.solving_grid(len(terms), self.task.longest(terms))
