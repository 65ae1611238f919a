"""One way to measure: whatever answers gets the problems of a suite, and a record is kept for each of its runs.

A subject says who it is and what it answers to a batch of problems. Which problems, what is right and what is recorded
stands here once.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from gridsum.automaton.solve import solve_many
from gridsum.automaton.table import RuleTable
from gridsum.data.answers import FIXED_POINT, HaltingRule, PlacementRule
from gridsum.data.problems import Batch, Space
from gridsum.data.streams import Stream
from gridsum.evaluation.records import EXTERNAL, NOTHING, OnGrid, Record
from gridsum.evaluation.solving import choose_placement, infer_in_parts
from gridsum.evaluation.suites import BATCH, Suite
from gridsum.io.version import __version__
from gridsum.model.inference import Outcome, check_rule, default_rule
from gridsum.model.store import Model
from gridsum.ops.grids import GridSize
from gridsum.tasks import PAD, Task, find

Grids = Literal["every", "published"]
"""Every size that training draws from, as often as any other; or the five that the published test code draws. A network
may add on one grid and fail on one that is a column narrower."""
PUBLISHED = ((0, 3), (3, 3), (3, 1), (2, 1), (1, 3))
"""R_H and R_W of the published code's five test batches: Python's `random`, seeded with 0, after 128 numbers each."""
# What an evaluation's random numbers are for, beside its problems.
_HALTING = 3
# So many cells of a single run keep a machine busy.
_CELLS_OF_A_RUN = 1 << 15

Part = tuple[int, tuple[int, int]]
"""So many problems that follow each other in a suite, and R_H and R_W of the grid that they share."""


class Asked(NamedTuple):
    """A part of a suite, by its number: all runs get the same problems, which lie in the suite's space."""

    space: Space
    batch: Batch
    drawn: tuple[int, int]
    number: int
    seed: int


@dataclass(frozen=True)
class Answers:
    """What R runs said to the B problems of a part."""

    predicted: Tensor
    """Symbols [R,B,W], the last column that of the units; -1 for what is no symbol."""
    steps: Tensor | None = None
    """[R,B]; fractions where only means are known."""
    grid: GridSize | None = None
    placement: str = NOTHING
    texts: tuple[str, ...] | None = None
    """The answers as they were written, where a single run wrote them."""

    @classmethod
    def written(cls, texts: Sequence[str], batch: Batch, **others: Any) -> "Answers":
        """Answers in writing: what they lack is wrong, and so is what they have too much."""
        codes = {symbol: code for code, symbol in enumerate(batch.task.alphabet.symbols) if code != PAD}
        width = max(batch.targets.shape[-1], *map(len, texts))
        rows = [[PAD] * (width - len(text)) + [codes.get(symbol, -1) for symbol in text] for text in texts]
        return cls(torch.tensor([rows]), texts=tuple(texts), **others)

    def said(self, run: int, task: Task) -> Sequence[str]:
        return self.texts or [task.decode(row) for row in self.predicted[run].tolist()]


@dataclass(frozen=True)
class Subject:
    """What can be measured: who it is, and what it answers."""

    name: str
    variant: str
    seeds: Sequence[int | None]
    """Of training, run by run."""
    task: Task
    answer: Callable[[Asked], Answers]
    halting: str = NOTHING
    grids: str = NOTHING
    device: torch.device | str = "cpu"
    fits: Callable[[Space], bool] = lambda _: True
    """Whether it can be given such problems at all."""
    parts: Callable[[Suite, int], list[Part]] = lambda _, total: [
        (min(BATCH, total - first), (0, 0)) for first in range(0, total, BATCH)
    ]
    """How many problems of so many it is asked at a time, and on which grids."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of its records."""


def evaluate(
    subject: Subject,
    suite: Suite,
    samples: int | None = None,
    seed: int = 0,
    commit: str | None = None,
    report: Callable[[int, int], None] | None = None,
    only: Collection[int] | None = None,
) -> list[Record]:
    """A record for each run; none where the subject cannot be given such problems. `report` hears how many of how many
    problems are done. `only` leaves out all parts of the suite but these, by their number."""
    if not subject.fits(suite.space):
        return []
    found, counted, last, total = list[Answers](), list[list[list[int]]](), 0, suite.size(samples)
    for index, (problems, drawn) in enumerate(subject.parts(suite, total)):
        first, last = last, last + problems
        if only is not None and index not in only:
            continue
        batch = suite.problems(first, last, seed, subject.device, subject.task)
        answers = subject.answer(Asked(suite.space, batch, drawn, index, seed))
        right, valid, whole = count(answers.predicted, batch.targets_for(answers.predicted.shape[-1]))
        summed = (torch.ones_like(whole), whole, right, valid, right * right, right * valid, valid * valid)
        counted.append(torch.stack([one.sum(-1) for one in summed], -1).tolist())  # as `OnGrid` names them, by run
        # What is counted is not kept, unless it is told.
        found.append(answers if suite.expressions else replace(answers, predicted=answers.predicted.new_empty(0)))
        if report is not None:
            report(last, total)
    records = []
    for run, run_seed in enumerate(subject.seeds):
        sums = [part[run] for part in counted]
        problems, whole, right, valid, *_ = map(sum, zip(*sums, strict=True))
        steps = [answers.steps[run] for answers in found if answers.steps is not None]
        taken = torch.cat(steps) if steps else None
        sizes = [answers.grid for answers in found]
        grids = [OnGrid(size.height, size.width, *part) for size, part in zip(sizes, sums, strict=True) if size]
        record = Record(
            model=subject.name,
            variant=subject.variant,
            seed=run_seed,
            suite=suite.name,
            halting=subject.halting,
            placement=found[-1].placement,
            samples=problems,
            chars_right=right,
            chars_valid=valid,
            sequences_right=whole,
            steps_mean=None if taken is None else float(taken.double().mean()),
            steps_max=None if taken is None or taken.is_floating_point() else int(taken.max()),
            evaluation_seed=seed,
            version=__version__,
            commit=commit,
            answers=tuple(t for part in found for t in part.said(run, subject.task)) if suite.expressions else None,
            grids=subject.grids,
            batches=tuple(grids) or None,
            **subject.about,
        )
        records.append(record)
    return records


def count(predicted: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Compare symbols [..., B, W]: by problem, characters right, those that count, and whether the whole is right. A
    position counts where the prediction or the target is not PAD, so that rows of blanks earn nothing."""
    assert predicted.shape[-2:] == target.shape[-2:], "a prediction for every position of every problem"
    right = predicted == target
    valid = (predicted != PAD) | (target != PAD)
    return (right & valid).sum(-1), valid.sum(-1), right.all(-1).long()


def paper_subject(
    model: Model, halting: HaltingRule | None = None, placement: PlacementRule = "auto", grids: Grids = "every"
) -> Subject:
    """The paper's networks: all runs of a model, on grids of chosen sizes."""
    network, task, device = model.network, model.config.task, next(model.network.parameters()).device
    rule = halting or default_rule(network)
    check_rule(network, rule)

    def parts(suite: Suite, problems: int) -> list[Part]:
        """Equally many problems for each size; of fewer problems than sizes, one each."""
        if suite.expressions:  # on the smallest grid, together
            return [(problems, (0, 0))]
        # All sizes, in an order in which the first few differ in both rows and columns.
        rows, columns = task.random_rows + 1, task.random_columns + 1
        every = tuple((row, (row + shift) % columns) for shift in range(columns) for row in range(rows))
        sizes = PUBLISHED if grids == "published" else every
        each, more = divmod(problems, len(sizes))
        return [(each + (index < more), size) for index, size in enumerate(sizes) if each or index < more]

    def answer(asked: Asked) -> Answers:
        problems, size = asked.batch.symbols.shape[1], GridSize(*task.grid(asked.space, *asked.drawn))
        symbols = asked.batch.symbols.expand(network.runs, -1, -1)
        stream = Stream.of_seeds(model.seeds, device).fold(asked.seed).fold(_HALTING).fold(asked.number)
        draws = stream.uniform(problems, network.config.max_evaluation_steps)
        chosen = choose_placement(placement, symbols.shape[-1], size)
        # Runs go one after the other where one is work enough: each is done when its own last sample halts.
        apart = network.runs > 1 and problems * size.height * size.width >= _CELLS_OF_A_RUN
        networks = [network.alone(run) for run in range(network.runs)] if apart else [network]
        given = zip(networks, symbols.chunk(len(networks)), draws.chunk(len(networks)), strict=True)
        outcomes = [infer_in_parts(some, of, size, rule, drawn, chosen == "hard", None) for some, of, drawn in given]
        outcome = Outcome.joined(outcomes, 0)
        return Answers(outcome.predicted, outcome.steps, size, chosen)

    return Subject(model.name, model.config.variant, model.seeds, task.task, answer, rule, grids, device, parts=parts)


def rule_subject(name: str, table: RuleTable, seed: int | None) -> Subject:
    """A rule, which runs until it is at rest."""

    def answer(asked: Asked) -> Answers:
        found = list(solve_many(table, map(table.task.parse, asked.batch.expressions())))
        steps = torch.tensor([[one.steps for one in found]])
        return Answers.written([one.answer for one in found], asked.batch, steps=steps, placement="hard")

    return Subject(name, "exact", (seed,), table.task, answer, FIXED_POINT)


def function_subject(name: str, solver: Callable[[str], Any]) -> Subject:
    """Any function of the user from `12+34=` to `46`."""

    def answer(asked: Asked) -> Answers:
        given = list(map(solver, asked.batch.expressions()))
        for other in (one for one in given if not isinstance(one, str | int)):
            raise TypeError(f"{name} gave {type(other).__name__}; it must return text such as '46'")
        return Answers.written([str(one).strip() for one in given], asked.batch)

    return Subject(name, EXTERNAL, (None,), find(), answer)
