"""One way to measure: whatever answers gets the problems of a suite, and a record is kept for each of its runs.

A subject is anything that answers: networks of the paper, a rule, a baseline, a function of the user. It says who it is
and what it answers to a batch of problems. All else (which problems, what is right, what is recorded) stands here once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gridsum.automaton.run import FIXED_POINT
from gridsum.automaton.solve import solve_many
from gridsum.automaton.table import RuleTable
from gridsum.data.answers import shortened
from gridsum.data.problems import Batch, Space
from gridsum.data.streams import Stream
from gridsum.evaluation.grids import DEFAULT, Grids, Part, parts_of
from gridsum.evaluation.records import EXTERNAL, NOTHING, OnGrid, Record
from gridsum.evaluation.solvers import NoAnswer, Solver, SolverProcess, ask, takes_list
from gridsum.evaluation.solving import PlacementRule, choose_placement, infer_in_parts
from gridsum.evaluation.suites import Suite, in_parts
from gridsum.io.version import __version__
from gridsum.model.inference import HaltingRule, Outcome, check_rule, default_rule
from gridsum.model.store import Model
from gridsum.ops.grids import GridSize
from gridsum.tasks import PAD, Task, find

# What an evaluation's random numbers are for, beside its problems.
_HALTING = 3
# So many cells of a single run keep a machine busy.
_CELLS_OF_A_RUN = 1 << 15


@dataclass(frozen=True)
class Asked:
    """A part of a suite: problems that follow each other and, where there are grids, share one."""

    space: Space
    """Which all problems of the suite lie in."""
    batch: Batch
    """Of one run: all runs get the same."""
    drawn: tuple[int, int]
    """The rows and columns that the grid has beyond the fewest."""
    index: int
    """The part's number."""
    seed: int
    """The evaluation's."""


@dataclass(frozen=True)
class Answers:
    """What R runs said to the B problems of a part."""

    predicted: Tensor
    """Symbols [R,B,W], the last column that of the units; -1 for what is no symbol."""
    steps: Tensor | None = None
    """[R,B]; fractions where only means are known."""
    capped: Tensor | None = None
    """[R,B]: whether the largest number of steps ended it."""
    grid: GridSize | None = None
    placement: str = NOTHING
    texts: tuple[str, ...] | None = None
    """The answers as they were written, where a single run wrote them."""
    failures: tuple[str, ...] | None = None
    """Why problems have no answer, each; None where that cannot be."""

    @classmethod
    def written(cls, texts: Sequence[str], batch: Batch, **others: Any) -> "Answers":
        """Answers in writing: what they lack is wrong, and so is what they have too much."""
        codes = {symbol: code for code, symbol in enumerate(batch.task.alphabet.symbols) if code != PAD}
        width = max(batch.targets.shape[-1], *map(len, texts))
        rows = [[PAD] * (width - len(text)) + [codes.get(symbol, -1) for symbol in text] for text in texts]
        return cls(torch.tensor([rows]), texts=tuple(texts), **others)


class Subject(ABC):
    """What can be measured."""

    name: str
    variant: str
    seeds: Sequence[int | None]
    """Of training, run by run."""
    task: Task
    halting: str = NOTHING
    grids: str = NOTHING
    device: torch.device | str = "cpu"

    @abstractmethod
    def answer(self, asked: Asked) -> Answers: ...

    def fits(self, space: Space) -> bool:  # noqa: ARG002
        """Whether it can be given such problems at all."""
        return True

    def parts(self, suite: Suite, samples: int | None) -> list[Part]:
        """How many problems it is asked at a time, and on which grids."""
        return [Part(problems, (0, 0)) for problems in suite.batches(samples)]

    def about(self, run: int) -> dict[str, Any]:  # noqa: ARG002
        """Further fields of a run's records."""
        return {}


def evaluate(
    subject: Subject,
    suite: Suite,
    samples: int | None = None,
    seed: int = 0,
    commit: str | None = None,
    report: Callable[[int, int], None] | None = None,
    only: Collection[int] | None = None,
) -> list[Record]:
    """A record for each run; none where the subject cannot be given such problems.

    `report` hears how many of how many problems are done. `only` leaves out all parts of the suite but these, by their
    number: what a record says of a part can be looked at again alone.
    """
    if not subject.fits(suite.space):
        return []
    parts = subject.parts(suite, samples)
    sizes = [part.problems for part in parts]
    found, counted, said = list[Answers](), list[list[list[int]]](), list[Sequence[tuple[str, ...]]]()
    for index, batch in enumerate(in_parts(suite, sizes, seed, subject.device, subject.task)):
        if only is not None and index not in only:
            continue
        answers = subject.answer(Asked(suite.space, batch, parts[index].drawn, index, seed))
        counted.append(_sums(answers.predicted, batch))
        if suite.expressions:
            said.append([answers.texts] if answers.texts else _decoded(answers.predicted, subject.task))
        found.append(replace(answers, predicted=answers.predicted.new_empty(0)))  # it is counted
        if report is not None:
            report(sum(sizes[: index + 1]), sum(sizes))
    assert found, "a suite has at least one problem"
    return [
        Record(
            model=subject.name,
            variant=subject.variant,
            seed=run_seed,
            suite=suite.name,
            halting=subject.halting,
            evaluation_seed=seed,
            version=__version__,
            commit=commit,
            answers=tuple(text for part in said for text in part[run]) if said else None,
            grids=subject.grids,
            **_summed(run, found, [sums[run] for sums in counted]),
            **subject.about(run),
        )
        for run, run_seed in enumerate(subject.seeds)
    ]


class Counts(NamedTuple):
    """By problem [..., B]: characters right, characters that count, and whether the whole result is right."""

    chars_right: Tensor
    chars_valid: Tensor
    sequences_right: Tensor


def count(predicted: Tensor, target: Tensor) -> Counts:
    """Compare symbols [..., B, W] problem by problem.

    A position counts where the prediction or the target is not PAD, so that rows of blanks earn nothing. A result is
    right when none of its positions is wrong.
    """
    assert predicted.shape[-2:] == target.shape[-2:], "a prediction for every position of every problem"
    right = predicted == target
    valid = (predicted != PAD) | (target != PAD)
    return Counts((right & valid).sum(-1), valid.sum(-1), (right | ~valid).all(-1).long())


def _sums(predicted: Tensor, batch: Batch) -> list[list[int]]:
    """By run: the number of problems, and the sums over them that `OnGrid` names."""
    right, valid, whole = count(predicted, batch.targets_for(predicted.shape[-1]))
    columns = (torch.ones_like(whole), whole, right, valid, right * right, right * valid, valid * valid)
    return torch.stack([column.sum(-1) for column in columns], -1).tolist()


def _decoded(predicted: Tensor, task: Task) -> list[tuple[str, ...]]:
    return [tuple(task.decode(row) for row in rows) for rows in predicted.tolist()]


def _summed(run: int, found: list[Answers], sums: list[list[int]]) -> dict[str, Any]:
    """The fields of a run's record that are sums over the parts."""
    samples, whole, right, valid, *_ = map(sum, zip(*sums, strict=True))
    steps = [answers.steps[run] for answers in found if answers.steps is not None]
    taken = torch.cat(steps) if steps else None
    capped = [int(answers.capped[run].sum()) for answers in found if answers.capped is not None]
    failures = [reason for answers in found for reason in answers.failures or ()]
    sizes = [answers.grid for answers in found]
    grids = tuple(OnGrid(size.height, size.width, *part) for size, part in zip(sizes, sums, strict=True) if size)
    return {
        "placement": found[-1].placement,
        "samples": samples,
        "chars_right": right,
        "chars_valid": valid,
        "sequences_right": whole,
        "steps_mean": None if taken is None else float(taken.double().mean()),
        "steps_max": None if taken is None or taken.is_floating_point() else int(taken.max()),
        "capped": sum(capped) if capped else None,
        "failed": None if found[0].failures is None else len(failures),
        "failure": failures[0] if failures else None,
        "batches": grids or None,
    }


class PaperSubject(Subject):
    """The paper's networks: all runs of a model, on grids of chosen sizes."""

    def __init__(
        self,
        model: Model,
        halting: HaltingRule | None = None,
        placement: PlacementRule = "auto",
        grids: Grids = DEFAULT,
    ) -> None:
        self.model, self.config, self.task = model, model.config.task, model.config.task.task
        self.name, self.variant, self.seeds = model.name, model.config.variant, model.seeds
        self.rule: HaltingRule = halting or default_rule(model.network)
        self.placement: PlacementRule = placement
        self.sizes: Grids = grids
        check_rule(model.network, self.rule)
        self.halting, self.grids, self.device = self.rule, grids, next(model.network.parameters()).device

    def parts(self, suite: Suite, samples: int | None) -> list[Part]:
        return parts_of(self.sizes, suite, samples, self.config)

    def answer(self, asked: Asked) -> Answers:
        network, problems = self.model.network, asked.batch.symbols.shape[1]
        size = GridSize(*self.config.grid(asked.space, *asked.drawn))
        symbols = asked.batch.symbols.expand(network.runs, -1, -1)
        stream = Stream.of_seeds(self.model.seeds, self.device).fold(asked.seed).fold(_HALTING).fold(asked.index)
        draws = stream.uniform(problems, network.config.max_evaluation_steps)
        placement = choose_placement(self.placement, symbols.shape[-1], size)
        # Runs go one after the other where one is work enough: each is done when its own last sample halts.
        apart = network.runs > 1 and problems * size.height * size.width >= _CELLS_OF_A_RUN
        networks = [network.alone(run) for run in range(network.runs)] if apart else [network]
        given = zip(networks, symbols.chunk(len(networks)), draws.chunk(len(networks)), strict=True)
        outcomes = [infer_in_parts(some, of, size, self.rule, drawn, placement == "hard") for some, of, drawn in given]
        outcome = Outcome.joined(outcomes, 0)
        return Answers(outcome.predicted, outcome.steps, outcome.capped, size, placement)


class RuleSubject(Subject):
    """A rule, which runs until it is at rest."""

    variant, halting = "exact", FIXED_POINT

    def __init__(self, name: str, table: RuleTable, seed: int | None) -> None:
        self.name, self.table, self.seeds, self.task = name, table, (seed,), table.task

    def answer(self, asked: Asked) -> Answers:
        problems = [self.task.parse(text) for text in asked.batch.expressions()]
        found = list(solve_many(self.table, problems))
        steps, capped = ([[getattr(one, name) for one in found]] for name in ("steps", "capped"))
        said = {"steps": torch.tensor(steps), "capped": torch.tensor(capped), "placement": "hard"}
        return Answers.written([one.answer for one in found], asked.batch, **said)


class FunctionSubject(Subject):
    """A function of the user, asked problem by problem or, if it takes lists, batch by batch."""

    variant, seeds = EXTERNAL, (None,)

    def __init__(self, name: str, solver: Solver | SolverProcess, task: Task | None = None) -> None:
        self.name, self.task = name, task or find()
        if isinstance(solver, SolverProcess):
            self.batched, self.ask = solver.batched, solver.ask
        else:
            self.batched = takes_list(solver)
            self.ask = partial(ask, solver, batched=self.batched)

    def answer(self, asked: Asked) -> Answers:
        expressions, texts, failures = asked.batch.expressions(), list[str](), list[str]()
        for group in [expressions] if self.batched else [[expression] for expression in expressions]:
            try:
                texts += self.ask(group)
            except NoAnswer as reason:
                texts += [""] * len(group)
                failures += [f"{shortened(group[0], 80)} {reason}"] * len(group)
        return Answers.written(texts, asked.batch, failures=tuple(failures))
