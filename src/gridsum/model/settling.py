"""Convergence at the cost of what still changes: cells are computed again only when something near them has changed.

A cell's next state is a function of its neighbourhood (and of G_0, which stays), so where nothing has changed since it
was last computed, computing it again would give the same. States never come to rest to the last digit: a cell whose
features have all moved by no more than a tolerance keeps its old state, and whoever looks at it sees no change. What
is left at the end is a state that one more step would move by no more than the tolerance anywhere, however many steps
it took: nothing adds up.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.model.layers import apply_matrix
from gridsum.model.network import Network
from gridsum.model.rollout import GridSize


class Settling:
    """The grids of B problems under one run, as a list of cells with an empty margin around each grid.

    They begin as G_0; or as a later `state`, of which the cells marked in `moved` (bool [1,B,H,W]) have just changed.
    """

    def __init__(
        self,
        network: Network,
        grid: Tensor,
        size: GridSize,
        tolerance: float,
        state: Tensor | None = None,
        moved: Tensor | None = None,
    ) -> None:
        assert network.runs == 1, "one run at a time"
        assert size.own is None, "grids of their own size"
        self.network, self.tolerance = network, tolerance
        attention = network.step.attention
        margin = attention.kernel // 2
        self.matrix = attention.matrix()
        self.state = _with_margin(grid if state is None else state, margin)
        remembered = network.step.remember(grid)
        self.remembered = None if remembered is None else _with_margin(remembered, margin)
        self.mixed = self.state.clone()
        # Keys and values are zero in the margin, as the paper has it outside the grid.
        self.qkv = self.state.new_zeros(len(self.state), self.matrix.shape[-1])
        self.inside = _with_margin(torch.ones_like(grid[..., :1], dtype=torch.bool), margin)[:, 0]
        columns = size.width + 2 * margin
        self.per_problem = (size.height + 2 * margin) * columns
        around = torch.arange(-margin, margin + 1, device=grid.device)
        self.offsets = (around[:, None] * columns + around).flatten()
        # All have changed as far as keys and values go, which are still to be made.
        self.changed = self.active = self.inside.nonzero().squeeze(1)
        if moved is not None:
            self.active = self._near(_with_margin(moved[..., None], margin)[:, 0].nonzero().squeeze(1))
        self.computed = 0
        """How many cells have been computed so far, each as often as it was."""

    def step(self) -> Tensor:
        """One step of the cells near a change; returns the cells that have changed."""
        step, heads = self.network.step, self.network.step.attention.heads
        state = self.state[self.changed]
        if step.recall is not None and self.remembered is not None:
            state = step.recall.mix(state[None], self.remembered[self.changed][None], None)[0]
        self.mixed[self.changed] = state
        self.qkv[self.changed] = apply_matrix(state[None], self.matrix)[0]
        attended = self._attend(heads)
        after = step.arrive(step.transition(self.mixed[self.active][None], attended[None]), None)[0]
        moved = (after - self.state[self.active]).abs().amax(-1) > self.tolerance
        self.computed += len(self.active)
        self.changed = self.active[moved]
        self.state[self.changed] = after[moved]
        self.active = self._near(self.changed)
        return self.changed

    def _near(self, cells: Tensor) -> Tensor:
        """The cells that look at any of these."""
        near = (cells[:, None] + self.offsets).flatten().unique()
        return near[self.inside[near]]

    def _attend(self, heads: int) -> Tensor:
        """Eq. 6 to 8 for the active cells: [A,E]."""
        attention = self.network.step.attention
        q, _, _ = self.qkv[self.active].chunk(3, -1)
        q = q if attention.query is None else q + attention.query
        _, k, v = self.qkv[self.active[:, None] + self.offsets].chunk(3, -1)
        scores = (q[:, None] * (k + attention.relative.flatten(1, 2))).unflatten(-1, (heads, -1)).sum(-1)
        return (scores.softmax(1)[..., None] * v.unflatten(-1, (heads, -1))).sum(1).flatten(-2)

    def symbols(self, cells: Tensor) -> Tensor:
        """What the output layer reads in some cells."""
        return self.network.read(self.state[cells][None])[0].argmax(-1)

    def problem(self, cells: Tensor) -> Tensor:
        """Which problem each cell belongs to."""
        return cells.div(self.per_problem, rounding_mode="floor")

    def leave(self, halted: Tensor) -> None:
        """Compute the problems that have halted (bool [B]) no more."""
        self.active = self.active[~halted[self.problem(self.active)]]
        self.changed = self.changed[~halted[self.problem(self.changed)]]

    def top(self, width: int) -> Tensor:
        """The cells of the top rows: int64 [B,W]."""
        return self.inside.nonzero().view(-1, self._cells_of_a_grid())[:, :width]

    def _cells_of_a_grid(self) -> int:
        return int(self.inside[: self.per_problem].sum())


def _with_margin(grid: Tensor, margin: int) -> Tensor:
    """A run's grids [1,B,H,W,F] as a list of cells, with zeros around each grid."""
    return F.pad(grid[0], (0, 0, margin, margin, margin, margin)).flatten(0, 2)
