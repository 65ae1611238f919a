"""Evaluation of our models: all runs of a model on a suite at once, one record a run."""

from collections.abc import Callable, Collection

import torch

from gridsum.data.streams import Stream
from gridsum.evaluation.grids import DEFAULT, Grids, parts_of
from gridsum.evaluation.metrics import Counts, count
from gridsum.evaluation.records import OnGrid, Record
from gridsum.evaluation.solving import PlacementRule, choose_placement, infer_in_parts
from gridsum.evaluation.suites import Suite, in_parts
from gridsum.io.version import __version__
from gridsum.model.inference import HaltingRule, Outcome, check_rule, default_rule
from gridsum.model.paper import GridSize
from gridsum.model.store import Model

# What an evaluation's random numbers are for, beside its problems and grids.
_HALTING = 3
# So many cells of a single run keep a machine busy.
_CELLS_OF_A_RUN = 1 << 15


def evaluate(
    model: Model,
    suite: Suite,
    samples: int | None = None,
    seed: int = 0,
    halting: HaltingRule | None = None,
    placement: PlacementRule = "auto",
    grids: Grids = DEFAULT,
    commit: str | None = None,
    report: Callable[[int, int], None] | None = None,
    only: Collection[int] | None = None,
) -> list[Record]:
    """A record for each run of `model`; every run is given the same problems and grids.

    `report` hears how many of how many problems are done. `only` leaves out all parts of the suite but these, by their
    number: what a record says of a part can be looked at again alone.
    """
    network, task = model.network, model.config.task
    rule = halting or default_rule(network)
    check_rule(network, rule)
    device = next(network.parameters()).device
    parts = parts_of(grids, suite, samples, task, seed)
    total, done = sum(part.problems for part in parts), 0
    counted: list[list[OnGrid]] = [[] for _ in model.seeds]
    steps, capped, used, predictions = [], [], "", []
    sizes = [GridSize(*task.grid(suite.space, *part.drawn)) for part in parts]
    most = max(part.problems * size.height * size.width for part, size in zip(parts, sizes, strict=True))
    # Runs go one after the other where one is work enough: each is done when its own last sample halts.
    together = 1 if most >= _CELLS_OF_A_RUN else network.runs
    networks = [network] if together == network.runs else [network.alone(run) for run in range(network.runs)]
    problems_of_parts = in_parts(suite, [part.problems for part in parts], seed, device, task.task)
    for index, (part, size, batch) in enumerate(zip(parts, sizes, problems_of_parts, strict=True)):
        if only is not None and index not in only:
            continue
        symbols = batch.symbols.expand(network.runs, -1, -1)
        stream = Stream.of_seeds(model.seeds, device).fold(seed).fold(_HALTING).fold(index)
        draws = stream.uniform(part.problems, network.config.max_evaluation_steps)
        used = choose_placement(placement, symbols.shape[-1], size)
        given = zip(networks, symbols.split(together), draws.split(together), strict=True)
        outcomes = [infer_in_parts(some, asked, size, rule, drawn, used == "hard") for some, asked, drawn in given]
        outcome = Outcome.joined(outcomes, 0)
        for run, on_grid in enumerate(_on_grid(size, count(outcome.predicted, batch.targets_for(size.width)))):
            counted[run].append(on_grid)
        steps.append(outcome.steps)
        capped.append(outcome.capped)
        predictions.append(outcome.predicted)
        done += part.problems
        if report is not None:
            report(done, total)
    assert steps, "a suite has at least one problem"
    taken, ended = torch.cat(steps, 1), torch.cat(capped, 1)
    return [
        Record(
            model=model.name,
            variant=model.config.variant,
            seed=run_seed,
            suite=suite.name,
            halting=rule,
            placement=used,
            samples=sum(batch.problems for batch in batches),
            chars_right=sum(batch.chars_right for batch in batches),
            chars_valid=sum(batch.chars_valid for batch in batches),
            sequences_right=sum(batch.sequences_right for batch in batches),
            steps_mean=float(taken[run].double().mean()),
            steps_max=int(taken[run].max()),
            evaluation_seed=seed,
            version=__version__,
            commit=commit,
            answers=_answers(model, predictions, run) if suite.expressions else None,
            capped=int(ended[run].sum()),
            grids=grids,
            batches=tuple(batches),
        )
        for run, (run_seed, batches) in enumerate(zip(model.seeds, counted, strict=True))
    ]


def _on_grid(size: GridSize, counts: Counts) -> list[OnGrid]:
    """The counts [R,B] of every run, summed over its problems."""
    right, valid = counts.chars_right, counts.chars_valid
    columns = (counts.sequences_right, right, valid, right * right, right * valid, valid * valid)
    sums = torch.stack([column.sum(-1) for column in columns], -1).tolist()
    return [OnGrid(size.height, size.width, right.shape[-1], *run) for run in sums]


def _answers(model: Model, predictions: list[torch.Tensor], run: int) -> tuple[str, ...]:
    decode = model.config.task.task.decode
    return tuple(decode(row.tolist()) for part in predictions for row in part[run])
