"""On which grids a suite is measured, as data.

A network may add on one grid and fail on one that is a column narrower, so a score hangs on the grids it is of. Every
record names its grids, and keeps what was right on each.
"""

from typing import Literal, NamedTuple

from gridsum.config.paper import TaskConfig
from gridsum.evaluation.suites import Suite

Grids = Literal["every", "published"]
"""Every size that training draws from, as often as any other; or the five that the published test code draws."""
DEFAULT: Grids = "every"

PUBLISHED = ((0, 3), (3, 3), (3, 1), (2, 1), (1, 3))
"""R_H and R_W of the published code's five test batches: Python's `random`, seeded with 0, after 128 numbers each."""


class Part(NamedTuple):
    """Problems that follow each other in a suite and share a grid."""

    problems: int
    drawn: tuple[int, int]
    """R_H and R_W: the rows and columns that the grid has beyond the fewest."""


def parts_of(grids: Grids, suite: Suite, samples: int | None, task: TaskConfig) -> list[Part]:
    """How the problems of a suite are divided among grids. Worked examples stand on the smallest, together."""
    batches = suite.batches(samples)
    if suite.expressions:
        return [Part(batches[0], (0, 0))]
    return _shared_out(sum(batches), PUBLISHED if grids == "published" else _every(task))


def _every(task: TaskConfig) -> tuple[tuple[int, int], ...]:
    """All sizes, in an order in which the first few differ in both rows and columns."""
    rows, columns = task.random_rows + 1, task.random_columns + 1
    return tuple((row, (row + shift) % columns) for shift in range(columns) for row in range(rows))


def _shared_out(samples: int, sizes: tuple[tuple[int, int], ...]) -> list[Part]:
    """Equally many problems for each size; of fewer problems than sizes, one each."""
    each, more = divmod(samples, len(sizes))
    parts = [Part(each + (index < more), size) for index, size in enumerate(sizes)]
    return [part for part in parts if part.problems]
