"""Sums in, answers out."""

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Literal
from zlib import crc32

import torch
from torch import Tensor

from gridsum.data.answers import AS_TRAINED, PLACEMENT_RULES, Answer, HaltingRule, PlacementRule, SolveOptions, answered
from gridsum.data.problems import batch_of
from gridsum.data.streams import Stream
from gridsum.model.inference import Outcome, Watch, default_rule, infer
from gridsum.model.inside import Trace, trace_of
from gridsum.model.rollout import Moment, Network
from gridsum.model.store import Model
from gridsum.ops.costs import check_memory
from gridsum.ops.devices import on_gpu
from gridsum.ops.grids import GridSize

# Soft placement costs symbols × cells. Up to here that is about a second on one CPU core.
_SOFT_WORK = 2 * 10**8
# Problems are computed together while their grids hold at most so many cells. A GPU is slow where that is few, so
# there it is what its free memory is sure to be enough for, up to a limit beyond which nothing is gained.
_CELLS_AT_ONCE = 1 << 18
_CELLS_AT_ONCE_ON_GPU = 1 << 21
_BYTES_PER_CELL = 1 << 14
# Bytes that a recurrent step takes at least of a cell, for each feature of the cell or of FFN_3.
_BYTES_PER_FEATURE = 20
# Nor more than so many.
_TOGETHER = 64
# A trace keeps every grid: once in so many steps, whether there is memory for as many more is asked.
_LOOK_AT_MEMORY = 16


def solve(
    model: Model, expressions: Sequence[tuple[str, ...]], options: SolveOptions = AS_TRAINED, watch: Watch | None = None
) -> Iterator[Answer]:
    """The answers of a model of one run, in order; those of equal shape that follow each other go together."""
    network, task = model.network, model.task
    rule = options.halting or default_rule(network)
    for shape, alike in groupby(expressions, lambda terms: (len(terms), max(map(len, terms)))):
        size = GridSize(*model.config.task.solving_grid(*shape))
        while some := list(islice(alike, _TOGETHER)):
            batch = batch_of(some, network.embedding.weight.device, task)
            chosen = choose_placement(options.placement, batch.symbols.shape[-1], size)
            # A sum has draws of its own: an answer does not depend on what else is asked, nor a score on one draw.
            labels = torch.tensor([crc32(task.render(terms).encode()) for terms in some], device=batch.symbols.device)
            stream = Stream.of_seeds([options.seed] * len(some), batch.symbols.device).fold(labels)
            draws = stream.uniform(network.config.max_evaluation_steps)[None]
            outcome = infer_in_parts(network, batch.symbols, size, rule, draws, chosen == "hard", watch)
            said = map(task.decode, outcome.predicted[0].tolist())
            for one in zip(some, said, outcome.steps[0].tolist(), outcome.capped[0].tolist(), strict=True):
                yield answered(task, *one, rule, chosen)


def solve_traced(model: Model, terms: tuple[str, ...], options: SolveOptions = AS_TRAINED) -> tuple[Answer, Trace]:
    """The answer to one expression, and what led to it."""
    moments: list[Moment] = []

    def keep(moment: Moment) -> None:
        if moment.n % _LOOK_AT_MEMORY == 0:
            what = f"a trace of more than {moment.n:,} steps on {moment.grid[0, 0, ..., 0].numel():,} cells"
            check_memory(what, _LOOK_AT_MEMORY * moment.grid.nbytes, moment.grid.device)
        moments.append(moment)

    (answer,) = solve(model, [terms], options, keep)
    symbols = batch_of([terms], model.network.embedding.weight.device, model.task).symbols[0, 0]
    return answer, trace_of(model.network, symbols, moments)


def choose_placement(rule: PlacementRule, symbols: int, size: GridSize) -> Literal["soft", "hard"]:
    if rule not in PLACEMENT_RULES:
        raise ValueError(f"unknown placement {rule!r}; use {', '.join(PLACEMENT_RULES)}")
    if rule != "auto":
        return rule
    return "soft" if symbols * size.height * size.width <= _SOFT_WORK else "hard"


def infer_in_parts(
    network: Network, symbols: Tensor, size: GridSize, rule: HaltingRule, draws: Tensor, hard: bool, watch: Watch | None
) -> Outcome:
    """`infer` over as many problems at a time as memory is meant for."""
    runs, problems = symbols.shape[:2]
    cells = runs * size.height * size.width
    cells_at_once = _CELLS_AT_ONCE
    if on_gpu(symbols.device):
        free, _ = torch.cuda.mem_get_info(symbols.device)
        cells_at_once = max(cells_at_once, min(_CELLS_AT_ONCE_ON_GPU, free // _BYTES_PER_CELL))
    at_once = max(1, min(problems, cells_at_once // cells))
    what = f"a grid of {size.height:,} rows × {size.width:,} columns"
    features = network.config.width + network.config.step_hidden
    check_memory(what, _BYTES_PER_FEATURE * features * at_once * cells, symbols.device)
    given = zip(symbols.split(at_once, 1), draws.split(at_once, 1), strict=True)
    return Outcome.joined([infer(network, some, size, rule, drawn, hard, watch) for some, drawn in given], 1)
