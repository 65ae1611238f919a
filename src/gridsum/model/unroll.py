"""The loop over the recurrent step, and what is made of it: rollouts to train on, and traces to look at."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from gridsum.config.paper import ModelConfig
from gridsum.data.streams import Stream
from gridsum.model.engine import Engine, engine_of
from gridsum.model.engine.plain import Plain, Sites, Start
from gridsum.model.paper import GridSize, Network, halting_distribution, survival
from gridsum.tasks import find


class Moment(NamedTuple):
    """A computation after n steps."""

    n: int
    grid: Tensor
    """G_n [R,B,H,W,E]; in a truncated rollout, of the problems that are still computed."""
    top: Tensor
    """The top row [R,B,W,E], in which the answer is read."""
    halting: Tensor | None
    """λ_n [R,B]; None where the network does not decide when to halt."""


Going = Callable[[], Tensor | None]
"""Is asked before each step which of the problems that are still computed go on, bool [b]; None: all of them."""
Change = Callable[[int, Tensor], Tensor]
"""From n and G_n [R,B,H,W,E] to the grid to go on with: how the state of a cell is patched."""


def unroll(
    engine: Engine,
    symbols: Tensor,
    size: GridSize,
    steps: int,
    hard: bool = False,
    drops: Sites | None = None,
    epsilon: float | Tensor | None = None,
    exactly: bool = False,
    change: Change | None = None,
    going: Going | None = None,
) -> Iterator[Moment]:
    """Symbols [R,B,S] are placed, and then step follows step: the moments n = 0 … `steps`, one after the other.

    Whoever has seen enough stops asking for more. With `epsilon`, the rollout ends when every sample is truncated (see
    `Start`), unless `exactly` so many steps are to be taken. `change` makes another grid of each one, and the
    computation goes on with that; it needs the plain engine. With `going`, moments are of the problems that go on.
    """
    course = engine.begin(Start(symbols, size, steps, hard, drops, epsilon, exactly))
    for n in range(steps + 1):
        if n:
            if going is not None and (problems := going()) is not None:
                course.select(problems)
            course.advance(n)
        if change is not None:
            course.grid = change(n, course.grid)
        top, halting = course.look(n)
        yield Moment(n, course.grid, top, halting)
        if course.done:
            return


@dataclass(frozen=True)
class Rollout:
    """A computation, read at K of its steps.

    Shapes: R runs, B problems, W columns, 13 symbols.
    """

    steps: range
    """The n of each reading."""
    logits: Tensor
    """[K,R,B,W,13], the top row; without meaning past a sample's truncation."""
    halting: Tensor | None
    """λ_n, [K,R,B]; without meaning from a sample's truncation on. None where the network does not decide when to
    halt."""
    probability: Tensor
    """p_n, [K,R,B]: sums to 1 over the readings."""
    truncation: Tensor
    """N, [R,B]: the last step with p_n > 0."""


def most_steps(config: ModelConfig) -> int:
    """The most steps that a rollout takes in training."""
    return config.fixed_steps if config.halting == "fixed" else config.max_steps


def roll_out(
    engine: Engine,
    symbols: Tensor,
    size: GridSize,
    dropout: Stream | None = None,
    steps: int | None = None,
    largest: tuple[int, int] | None = None,
    epsilon: Tensor | None = None,
) -> Rollout:
    """A rollout as training needs it.

    `dropout` is the source of its randomness (none: no dropout). Under ponder halting the computation goes on until
    every sample is truncated; with `steps` given it takes exactly that many, which spares a GPU the question after
    each, and gives the same rollout if they are enough. `largest` is the height and width that the cells' numbers for
    dropout refer to (by default, the grid's own). `epsilon` [R,B] truncates each sample at a threshold of its own,
    which is not below the configuration's.
    """
    config = engine.network.config
    most = most_steps(config)
    assert steps is None or steps <= most, "training takes no more steps than the configuration says"
    limit = most if steps is None or config.halting == "fixed" else steps
    drops = dropout and engine.dropouts(dropout, symbols.shape[1], size, largest or (size.height, size.width), limit)
    threshold = config.epsilon if epsilon is None else epsilon
    moments = unroll(engine, symbols, size, limit, False, drops, threshold, steps is not None)

    if config.halting == "fixed":
        *_, last = moments
        logits = _read(engine, [last.top], drops, limit)
        certain = logits.new_ones(1, *symbols.shape[:2])
        return Rollout(range(limit, limit + 1), logits, None, certain, torch.full_like(symbols[..., 0], limit))

    tops, lambdas = [], []
    for moment in moments:
        tops.append(moment.top)
        lambdas.append(moment.halting)
    halting = torch.stack(lambdas)
    p, truncation = halting_distribution(halting, threshold)
    return Rollout(range(len(tops)), _read(engine, tops, drops, 0), halting, p, truncation)


def _read(engine: Engine, rows: list[Tensor], drops: Sites | None, first: int) -> Tensor:
    """The logits [K,R,B,W,13] of the top rows at the steps from `first` on."""
    top = torch.stack(rows, 1)
    return engine.read(top, None if drops is None else drops.output(first, len(rows))).transpose(0, 1)


@dataclass(frozen=True)
class Trace:
    """Every internal of one problem solved by one run; n counts steps, 0 is the grid before any.

    Shapes: S symbols, H rows, W columns, E features, h heads, k² neighbours.
    """

    symbols: Tensor
    """[S], the input."""
    actions: Tensor
    """[S,3], the probabilities of TLU, NLP and NOP."""
    grids: Tensor
    """[N+1,H,W,E]."""
    decoded: Tensor
    """[N+1,H,W,13], the probabilities of the symbols that the output layer reads in every cell."""
    attention: Tensor
    """[N,k²,H,W,h], the weights of the step from n to n+1; empty where they were not asked for."""
    halting: Tensor | None
    """[N+1], λ_n."""
    probability: Tensor | None
    """[N+1], p_n without truncation before the last step."""
    alphabet: tuple[str, ...] = find().alphabet.symbols
    """What the numbers of symbols stand for."""


@torch.no_grad()
def trace(
    network: Network, symbols: Tensor, size: GridSize, steps: int, hard: bool = False, change: Change | None = None
) -> Trace:
    """Solve one problem (symbols [S]) with a network of one run, keeping everything."""
    if network.runs != 1:
        raise ValueError("a trace is of one run; choose one of them")
    engine = Plain(network) if change else engine_of(network)
    return trace_of(engine, symbols, list(unroll(engine, symbols[None, None], size, steps, hard, change=change)))


@torch.no_grad()
def trace_of(engine: Engine, symbols: Tensor, moments: list[Moment], attention: bool = True) -> Trace:
    """The trace of one problem from the moments of its computation."""
    grids = torch.cat([moment.grid for moment in moments], 1)  # its moments, as problems of one run
    weights = engine.network.step.attention.weights(grids[:, :-1]) if attention else grids.new_zeros(0)
    known = [moment.halting for moment in moments if moment.halting is not None]
    lambdas = torch.cat(known, 1)[0] if known else None
    return Trace(
        symbols,
        engine.actions(symbols[None, None])[0, 0],
        grids[0],
        engine.read(grids)[0].softmax(-1),
        weights[:, 0].transpose(0, 1) if attention else weights,
        lambdas,
        None if lambdas is None else lambdas * survival(lambdas),
    )
