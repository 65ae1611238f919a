"""Rollouts by Triton kernels.

A GPU must not wait for answers from the host, so shapes stay and the kernels are told, run by run, which samples are
left. What lies between large products is bound by memory, so they read and write everything once. Where sizes do not
fit a kernel, that part is computed by its module.
"""

import torch
from torch import Tensor

from gridsum.model.rollout import Rollout, Start
from gridsum.ops.attention import block_matrix
from gridsum.ops.attention.triton import KernelAttention, packed_encodings
from gridsum.ops.context.triton import KernelContext, Readings, fits_context
from gridsum.ops.dropout.plain import bits_at
from gridsum.ops.grids import linear, only_inside
from gridsum.ops.kernels.cells import everyone, leave
from gridsum.ops.transition.triton import KernelTransition, fits_transition, packed_transition


class KernelRollout(Rollout):
    """The grid comes once for each of its readers, where a kernel adds up their gradients."""

    def __init__(self, start: Start) -> None:
        super().__init__(start, "triton")
        self.halting: Tensor | None = None
        self.sizes = start.size.own
        """Which cells the kernels compute: each run's own, then those of the samples that are left."""
        context, step = self.network.context, self.network.step
        self.readings: Readings | None = None
        if context is not None and fits_context(context, start.size.height * start.size.width):
            self.readings = Readings.of(context, start.steps + 1, self.problems)
            self.ledger = self.readings.begin()
        # Solving may have more cells than the kernels' 32-bit offsets reach. And who reads the grid must be a kernel:
        # cells that are not computed have no meaning.
        reads = context is None or self.readings is not None
        self.parameters: tuple[Tensor, Tensor] | None = None
        if start.epsilon is not None and reads and fits_transition(step.transition):
            cells = self.problems * start.size.height * start.size.width
            self.matrix = block_matrix(step.attention.projection)
            self.way, self.encodings = packed_encodings(step.attention.query, step.attention.relative, cells)
            self.ways, self.parameters = packed_transition(step.transition, self.matrix, cells)
            # Zeros outside a run's own grid, and for samples that have left.
            self.tops = self.top.new_zeros(self.steps, *self.top.shape)
        # Without asking, samples are left out by a list that the kernels read.
        self.lists = start.exactly and self.parameters is not None and self.sizes is not None
        if self.lists:
            # A list from the beginning: a kernel is compiled for each form of `sizes`.
            self.sizes, epsilon = everyone(self.sizes, self.problems), start.epsilon
            self.thresholds = epsilon if isinstance(epsilon, Tensor) else torch.full_like(self.running, epsilon)

    def show(self, grid: Tensor) -> None:
        super().show(grid)
        self.seen, self.projected = grid, None

    def look(self, n: int) -> tuple[Tensor, Tensor | None]:
        if self.lists and self.halting is not None and n < self.steps:
            self.sizes, self.running = leave(self.sizes, self.running, self.halting.detach(), self.thresholds)
        row, self.halting = super().look(n)
        return row, self.halting

    def take(self, n: int) -> None:
        if self.parameters is None:
            super().take(n)
            return
        attention, projected = self.network.step.attention, self.projected
        if projected is None:  # by torch, which sums over all cells to get the gradient of the matrix
            projected = only_inside(self.size, linear(self.grid, self.matrix))
        attended, self.way = KernelAttention.apply(projected, self.way, self.encodings, attention.heads, self.sizes)
        width, hidden = self.network.step.transition.feed_forward.layers[0].weight.shape[1:]
        bits, factor = bits_at(self.drops and self.drops.step(n), (width, hidden, hidden))
        given = (self.grid, attended, *self.ways, *self.parameters, hidden)
        self.grid, self.projected, self.seen, self.top, *self.ways = KernelTransition.apply(
            *given, self.sizes, bits, factor, (self.tops[n - 1],), n == self.steps
        )

    def decide(self, n: int) -> Tensor:
        if n == self.steps and self.epsilon is not None:
            return torch.ones_like(self.context[..., 0, 0])  # the last step takes what remains, whatever λ is
        if self.readings is None:
            return super().decide(n)
        kept = bits_at(self.drops and self.drops.context(n), (self.readings.width, self.readings.hidden))
        self.context, halting, *self.ledger = KernelContext.apply(
            self.context, self.seen, self.readings, (n, self.sizes, kept), *self.ledger
        )
        return halting
