"""What the network returns: one thing that objective, metrics, figures and page all read."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class GridSize:
    """The grids of a batch: every run's rows and columns, masked inside `height` × `width` cells if need be.

    Rows are counted from the top and columns from the right, where Seq2Grid writes.
    """

    height: int
    width: int
    own: Tensor | None = None
    """The rows and columns of each run's own grid, int32 [R,2]; None where every run's grid fills the whole. For
    kernels it may go on with the samples that are still computed (`gridsum.model.kernels.cells`)."""

    @cached_property
    def inside(self) -> Tensor | None:
        """Which cells belong to each run's own grid: bool [R,H,W], or None if all do."""
        if self.own is None:
            return None
        below = torch.arange(self.height, device=self.own.device) < self.own[:, :1]
        right = torch.arange(self.width - 1, -1, -1, device=self.own.device) < self.own[:, 1:2]
        return below[:, :, None] & right[:, None, :]

    def upper(self, rows: int) -> "GridSize":
        """Of the upper rows alone."""
        if rows >= self.height:
            return self
        own = self.own
        return GridSize(
            rows, self.width, None if own is None else torch.cat((own[:, :1].clamp(max=rows), own[:, 1:2]), 1)
        )


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
    """[N,k²,H,W,h], the weights of the step from n to n+1; empty where they were not kept."""
    halting: Tensor | None
    """[N+1], λ_n."""
    probability: Tensor | None
    """[N+1], p_n without truncation before the last step."""
