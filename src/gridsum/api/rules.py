"""A run of `exact` as a model: bits in its cells, and a rule that is a finite table."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gridsum.api.models import Between, Model, ModelError, Sums
from gridsum.api.traces import Trace
from gridsum.data.answers import Answer, SolveOptions
from gridsum.tasks import Task

if TYPE_CHECKING:
    from gridsum.automaton.proof import Proof
    from gridsum.automaton.table import RuleTable
    from gridsum.model.store import Model as Runs

# The frames of a rule are kept for a trace while they have so many cells at most.
_MOST_CELLS = 10**8


class RuleModel(Model):
    """A rule, and the network that it was taken from where that is at hand."""

    has_rule = True

    def __init__(self, name: str, weights: Path | None, table: "RuleTable | None" = None) -> None:
        """`table` is the rule, where it lies in a file of its own; else it is taken from the network."""
        self.name, self.weights = name, weights
        if table is not None:
            self.table = table

    def __repr__(self) -> str:
        return f"<gridsum model {self.name}: a rule of {len(self.table.states)} states>"

    @cached_property
    def table(self) -> "RuleTable":
        from gridsum.automaton.rule import LearnedRule

        return LearnedRule(self.network).table()

    @cached_property
    def runs(self) -> "Runs":  # type: ignore[override]
        from gridsum.model.store import load_runs

        if self.weights is None:
            raise ModelError(
                f"{self.name} is a rule without its network; gridsum solve, evaluate, rule, prove and export --to json "
                "take it"
            )
        return load_runs(self.name, [self.weights])

    @property
    def task(self) -> Task:
        return self.table.task

    @property
    def seed(self) -> int | None:
        """Of its training, where its network is at hand."""
        return None if self.weights is None else self.runs.seeds[0]

    def prove(self) -> "Proof":
        """Whether its rule is right for any number of terms of any length (`gridsum.prove`)."""
        from gridsum.automaton.proof import prove

        if self.task.row is None:
            raise ModelError(
                f"nothing can be proved of {self.name}: its task, {self.task.name}, has no row rule. Measure it "
                "instead: gridsum.evaluate"
            )
        return prove(self.table)

    def answers(self, expressions: Sums, options: SolveOptions, between: Between | None = None) -> Iterator[Answer]:
        if options.halting is not None or options.placement != "auto":
            why = f"{self.name} always halts at a fixed point and uses hard placement; leave out halting and placement"
            raise ModelError(why)
        if options.network:
            from gridsum.automaton.rule import LearnedRule

            return map(LearnedRule(self.network).answer, expressions)
        from gridsum.automaton.solve import solve_many

        return solve_many(self.table, expressions)

    def answer_lines(self, lines: Sequence[bytes], options: SolveOptions) -> bytes | None:
        if not lines or options != SolveOptions(seed=options.seed):
            return None
        from gridsum.automaton.solve import answer_lines

        return answer_lines(self.table, lines)

    def traced(self, terms: tuple[str, ...], options: SolveOptions) -> Trace:
        import numpy as np

        from gridsum.automaton.run import frames

        (answer,) = self.answers([terms], options)
        height, width = self.size(terms)
        if (answer.steps + 1) * height * width > _MOST_CELLS:
            raise ModelError(
                f"{answer.steps + 1:,} grids of {height:,} × {width:,} cells are too many to keep; trace a shorter sum"
            )
        return Trace(self, terms, answer, np.stack(list(frames(self.table, terms, answer.steps))))

    def size(self, terms: tuple[str, ...]) -> tuple[int, int]:
        from gridsum.automaton.run import size_of

        return size_of(terms, self.task)
