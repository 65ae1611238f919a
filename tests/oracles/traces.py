"""A computation step by step, to any step, with nothing left out."""

from torch import Tensor

from gridsum.data.problems import batch_of
from gridsum.model.inside import Trace, trace_of
from gridsum.model.rollout import Network, Start, unroll
from gridsum.model.store import Model
from gridsum.ops.grids import GridSize


def traced(network: Network, symbols: Tensor, size: GridSize, steps: int, hard: bool = False) -> Trace:
    """Every internal of `steps` steps on one problem (symbols [S])."""
    return trace_of(network, symbols, list(unroll(Start(network, symbols[None, None], size, steps, hard))))


def trace_expression(model: Model, terms: tuple[str, ...], steps: int) -> Trace:
    """The same on one expression, softly placed."""
    size = GridSize(*model.config.task.solving_grid(len(terms), max(map(len, terms))))
    return traced(model.network, batch_of([terms], task=model.task).symbols[0, 0], size, steps)
