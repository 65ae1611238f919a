"""A computation step by step, to any step, with nothing left out."""

from dataclasses import replace

from gridsum.data.problems import batch_of
from gridsum.model.inside import Trace, trace
from gridsum.model.store import Model
from gridsum.ops.grids import GridSize


def trace_expression(model: Model, terms: tuple[str, ...], steps: int) -> Trace:
    """Every internal of `steps` steps on one expression, softly placed."""
    task, size = model.config.task, GridSize(*model.config.task.solving_grid(len(terms), max(map(len, terms))))
    found = trace(model.network, batch_of([terms], task=task.task).symbols[0, 0], size, steps)
    return replace(found, alphabet=task.task.alphabet.symbols)
