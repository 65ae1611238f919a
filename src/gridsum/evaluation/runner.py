"""Evaluation of our models: all runs of a model on a suite at once, one record a run."""

from collections.abc import Callable

import torch

from gridsum.evaluation.metrics import Counts, count
from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import Suite, problems_of
from gridsum.model.inference import HaltingRule, check_rule, default_rule
from gridsum.model.paper import GridSize
from gridsum.solving import PlacementRule, choose_placement, infer_in_parts
from gridsum.store import Model
from gridsum.streams import Stream
from gridsum.version import __version__

# What an evaluation's random numbers are for, beside its problems.
_ROWS, _COLUMNS, _HALTING = 1, 2, 3


def evaluate(
    model: Model,
    suite: Suite,
    samples: int | None = None,
    seed: int = 0,
    halting: HaltingRule | None = None,
    placement: PlacementRule = "auto",
    commit: str | None = None,
    report: Callable[[int, int], None] | None = None,
) -> list[Record]:
    """A record for each run of `model`; every run is given the same problems and grids.

    `report` hears how many of how many problems are done.
    """
    network = model.network
    rule = halting or default_rule(network)
    check_rule(network, rule)
    device = next(network.parameters()).device
    batches = suite.batches(samples)
    counts: Counts | None = None
    steps, capped, used, predictions = [], [], "", []
    for index, problems in enumerate(batches):
        batch = problems_of(suite, index, problems, seed, device, model.config.task.task)
        size = _grid(model, suite, index, seed)
        symbols = batch.symbols.expand(network.runs, -1, -1)
        stream = Stream.of_seeds(model.seeds, device).fold(seed).fold(_HALTING).fold(index)
        draws = stream.uniform(problems, network.config.max_evaluation_steps)
        used = choose_placement(placement, symbols.shape[-1], size)
        outcome = infer_in_parts(network, symbols, size, rule, draws, used == "hard")
        counted = count(outcome.predicted, batch.targets_for(size.width))
        counts = counted if counts is None else counts + counted
        steps.append(outcome.steps)
        capped.append(outcome.capped)
        predictions.append(outcome.predicted)
        if report is not None:
            report(sum(batches[: index + 1]), sum(batches))
    assert counts is not None, "a suite has at least one problem"
    taken, ended = torch.cat(steps, 1), torch.cat(capped, 1)
    return [
        Record(
            model=model.name,
            variant=model.config.variant,
            seed=run_seed,
            suite=suite.name,
            halting=rule,
            placement=used,
            samples=int(counts.sequences[run]),
            chars_right=int(counts.chars_right[run]),
            chars_valid=int(counts.chars_valid[run]),
            sequences_right=int(counts.sequences_right[run]),
            steps_mean=float(taken[run].double().mean()),
            steps_max=int(taken[run].max()),
            evaluation_seed=seed,
            version=__version__,
            commit=commit,
            answers=_answers(model, predictions, run) if suite.expressions else None,
            capped=int(ended[run].sum()),
        )
        for run, run_seed in enumerate(model.seeds)
    ]


def _answers(model: Model, predictions: list[torch.Tensor], run: int) -> tuple[str, ...]:
    decode = model.config.task.task.decode
    return tuple(decode(row.tolist()) for part in predictions for row in part[run])


def _grid(model: Model, suite: Suite, index: int, seed: int) -> GridSize:
    """A grid size drawn as in training, but never too narrow for the result."""
    task = model.config.task
    stream = Stream.of_seeds([seed]).fold(index)
    rows = int(stream.fold(_ROWS).integers(0, task.random_rows))
    columns = int(stream.fold(_COLUMNS).integers(0, task.random_columns))
    return GridSize(*task.grid(suite.space, rows, columns))
