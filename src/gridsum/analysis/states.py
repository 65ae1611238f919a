"""Are the states of a network that converges discrete, and which of them are wrong first?

There is a local rule whose fixed point is column addition: every row holds the sum of its term and the rows below, so

    d_ij = (x_ij + d_{i+1,j} + c_{i,j+1}) mod 10,    c_ij = [x_ij + d_{i+1,j} + c_{i,j+1} ≥ 10],

with x the grid's own digits, d the digits of the sums so far and c the carries, at most 1 however many terms there are.
`expected_cells` works out what a network that follows it would hold in every cell. States are then as discrete as those
labels explain them: by the share of the variance that is left within a label, by how often a state is nearest to the
mean of its own label, and by how many balls of a radius hold all states.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gridsum.analysis.ring import Plane, principal_plane
from gridsum.model.inference import infer
from gridsum.model.rollout import GridSize
from gridsum.problems import Batch, Space, sample
from gridsum.store import Model
from gridsum.streams import Stream
from gridsum.symbols import FIRST_DIGIT, PAD

RADII = (0.5, 1.0, 2.0, 4.0)
"""Of the balls that states are counted in; a state has the length √64 = 8 after its norm, before scale and shift."""
_MOST_BALLS = 4000


@dataclass(frozen=True)
class Cells:
    """What is in every cell of B grids, each int64 [B,H,W]: the own symbol, and what the rule would hold there."""

    own: np.ndarray
    symbol: np.ndarray
    carry: np.ndarray
    """Into the cell, from its right."""
    present: np.ndarray
    """Bool; whether the cell's row has a term."""


@dataclass(frozen=True)
class Rest:
    """Grids that have come to rest: states [B,H,W,E], and what is read in every cell [B,H,W]."""

    states: np.ndarray
    read: np.ndarray
    cells: Cells


@dataclass(frozen=True)
class Discreteness:
    """How well labels explain states."""

    cells: int
    labels: int
    """How many different labels occur."""
    within: float
    """The share of the variance that is left within labels: 0 for states that their labels decide."""
    nearest: float
    """The share of states that are nearer to the mean of their own label than to any other's."""
    radius: float
    """The median distance of a state from the mean of its label."""
    gap: float
    """The median, over labels, of the distance from a label's mean to the nearest other one."""


@dataclass(frozen=True)
class Study:
    """The states of one space's problems at rest."""

    space: str
    seed: int
    """Of the training."""
    right: float
    """The share of cells in which the digit of the rule is read."""
    explained: dict[str, Discreteness]
    """By the name of the labels."""
    balls: dict[str, int | None]
    """How many balls of each radius hold all states."""
    errors: "FirstErrors"
    plane: Plane
    points: np.ndarray
    """[P,2], of all cells that have a term."""
    digits: np.ndarray
    """[P], the symbol of the rule."""
    carries: np.ndarray
    """[P], into each cell."""
    wrong: np.ndarray
    """[P], where something else is read."""


@dataclass(frozen=True)
class FirstErrors:
    """Where the rule is broken first: cells whose own reading is wrong while all that they depend on is right."""

    problems: int
    wrong: int
    """Problems whose answer is wrong."""
    by_height: tuple[tuple[int, int], ...]
    """For each number of terms below a cell: such cells, and those in which an error begins."""
    with_carry: float
    """The share of these beginnings with a carry into the cell."""
    blank: float
    """The share of these beginnings in which a blank is read or should be."""


def expected_cells(batch: Batch, size: GridSize) -> Cells:
    """What the rule holds in every cell, for problems of one run, the last term in the top row."""
    problems = batch.symbols.shape[1]
    shape = (problems, size.height, size.width)
    own, symbol = np.full(shape, PAD), np.full(shape, PAD)
    carry, present = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    for problem in range(problems):
        terms = batch.expression(0, problem).removesuffix("=").split("+")
        below = np.zeros(size.width, dtype=np.int64)  # the sum of the terms so far, units first
        for row, term in zip(range(len(terms) - 1, -1, -1), terms, strict=True):
            digits = np.zeros(size.width, dtype=np.int64)
            digits[: len(term)] = [int(digit) for digit in reversed(term)]
            carries, total = _add(digits, below)
            below = total
            last = np.flatnonzero(total)
            shown = max(int(last[-1]) + 1 if len(last) else 1, 1)
            written = np.where(np.arange(size.width) < shown, total + FIRST_DIGIT, PAD)
            held = np.where(np.arange(size.width) < len(term), digits + FIRST_DIGIT, PAD)
            own[problem, row], symbol[problem, row], carry[problem, row] = held[::-1], written[::-1], carries[::-1]
            present[problem, row] = True
    return Cells(own, symbol, carry, present)


def _add(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The carries into every column, and the sum, all units first."""
    carries, total, carry = np.zeros_like(first), np.zeros_like(first), 0
    for column, value in enumerate(first + second):
        carries[column] = carry
        carry, total[column] = divmod(int(value) + carry, 10)
    return carries, total


@torch.no_grad()
def at_rest(model: Model, space: Space, problems: int = 128, seed: int = 0) -> Rest:
    """Problems of `space` on grids as evaluation's, without anything random in their size, once they have converged."""
    network, task = model.network, model.config.task
    batch = sample(space, problems, Stream.of_seeds([seed]))
    size = GridSize(
        max(space.terms[1], task.groups[0].terms[1]) + task.spare_rows,
        max(space.digits[1] + task.spare_columns, space.columns),
    )
    steps = int(infer(network, batch.symbols, size, "converged", hard=True).steps.max())
    grid = network.place(batch.symbols, size, hard=True)
    remembered = network.step.remember(grid)
    for _ in range(steps):
        grid = network.step(grid, remembered=remembered)
    return Rest(_array(grid[0]), _array(network.read(grid)[0].argmax(-1)), expected_cells(batch, size))


def study(model: Model, space: Space, problems: int = 128, seed: int = 0, plane: Plane | None = None) -> Study:
    """All of this for the cells that have a term; on their own principal components, or on a given plane."""
    rest = at_rest(model, space, problems, seed)
    cells, present = rest.cells, rest.cells.present
    states = rest.states[present].astype(np.float64)
    own, symbol, carry, read = (part[present] for part in (cells.own, cells.symbol, cells.carry, rest.read))
    labels = {
        "what is read": [read],
        "digit of the sum so far": [symbol],
        "digit and carry": [symbol, carry],
        "digit, carry and own symbol": [symbol, carry, own],
    }
    plane = plane or principal_plane(states)
    return Study(
        str(space),
        model.seeds[0],
        float((read == symbol).mean()),
        {name: discreteness(states, parts) for name, parts in labels.items()},
        {str(radius): balls(states, radius) for radius in RADII},
        first_errors(rest),
        plane,
        plane.project(states),
        symbol,
        carry,
        read != symbol,
    )


def discreteness(states: np.ndarray, labels: Sequence[np.ndarray]) -> Discreteness:
    """Of states [P,E] under labels, each int64 [P], taken together."""
    _, label = np.unique(np.stack(labels, -1), axis=0, return_inverse=True)
    label = label.reshape(-1)
    count = int(label.max()) + 1
    means = np.stack([states[label == index].mean(0, dtype=np.float64) for index in range(count)])
    residual = states - means[label]
    spread = float(((states - states.mean(0, dtype=np.float64)) ** 2).sum())
    distances = np.sqrt(np.maximum(_squared(states, means), 0))
    between = np.sqrt(np.maximum(_squared(means, means), 0))
    np.fill_diagonal(between, np.inf)
    return Discreteness(
        len(states),
        count,
        float((residual**2).sum()) / spread,
        float((distances.argmin(1) == label).mean()),
        float(np.median(np.sqrt((residual**2).sum(1)))),
        float(np.median(between.min(1))) if count > 1 else 0.0,
    )


def balls(states: np.ndarray, radius: float) -> int | None:
    """How many balls of `radius` around states hold all states, taken greedily; None where there are very many."""
    squares, outside, count = (states**2).sum(1), np.ones(len(states), dtype=bool), 0
    while outside.any():
        count += 1
        if count > _MOST_BALLS:
            return None
        centre = int(outside.argmax())
        outside &= squares - 2 * (states @ states[centre]) + squares[centre] > radius**2
        outside[centre] = False  # its distance from itself is 0 but for rounding
        if 2 * outside.sum() < len(states):  # a copy of the rest is worth it once it halves what is to be compared
            states, squares, outside = states[outside], squares[outside], np.ones(int(outside.sum()), dtype=bool)
    return count


def first_errors(rest: Rest) -> FirstErrors:
    """Of grids at rest, the cells in which an error begins.

    A cell depends on the one below it and on the one to its right, whose digit shows whether it carried.
    """
    cells = rest.cells
    wrong = (rest.read != cells.symbol) & cells.present
    felt = np.zeros_like(wrong)
    felt[:, :-1] |= wrong[:, 1:]
    felt[:, :, :-1] |= wrong[:, :, 1:]
    begins = wrong & ~felt
    terms = cells.present[:, :, 0].sum(1)
    height = terms[:, None, None] - 1 - np.arange(wrong.shape[1])[None, :, None]
    height = np.broadcast_to(height, wrong.shape)
    counted = tuple(
        (int((cells.present & (height == level)).sum()), int((begins & (height == level)).sum()))
        for level in range(int(terms.max()))
    )
    beginnings = max(int(begins.sum()), 1)
    blanks = begins & ((rest.read == PAD) | (cells.symbol == PAD))
    return FirstErrors(
        len(wrong),
        int(wrong[:, 0].any(1).sum()),
        counted,
        float((begins & (cells.carry > 0)).sum()) / beginnings,
        float(blanks.sum()) / beginnings,
    )


def _squared(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Squared distances [P,Q]."""
    return (first**2).sum(1)[:, None] - 2 * first @ second.T + (second**2).sum(1)


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.cpu().numpy()
