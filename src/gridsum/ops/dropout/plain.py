"""The dropout of a rollout: which features are dropped at each of its sites, as a function of a stream.

A cell's dropout depends on its place on the largest grid there can be. So it is the same whether a grid is computed at
its own size or inside a larger one, alone or in a fleet, with all problems or with those that are left.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gridsum.config.paper import ModelConfig
from gridsum.data.streams import Stream, lane_index, lane_threshold
from gridsum.ops.forms import form, once
from gridsum.ops.grids import GridSize

# Sites of one step: the three layers of FFN_3, and with the two of FFN_ctx.
_STEP_SITES, _SITES = 3, 5


@dataclass(frozen=True)
class Dropout:
    """Which features are dropped at one site: x is [R, *cells, F]."""

    stream: Stream
    cells: Tensor
    """Their numbers on the largest grid of a batch: int64, of any shape."""
    probability: float

    @property
    def factor(self) -> float:
        """What the features that are kept are multiplied by."""
        return 1 / (1 - self.probability)

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.kept(x).mul_(self.factor)

    def kept(self, x: Tensor) -> Tensor:
        """1 for the features of x that are kept, 0 for the others."""
        if form() == "triton" and x.shape[-1] % 8 == 0:
            bits = self.bits(x.shape[-1])[..., None] >> torch.arange(8, dtype=torch.uint8, device=x.device)
            return (bits & 1).flatten(-2).to(x.dtype)
        lanes = self.stream.lanes(once((self.cells, x.shape[-1]), lambda: lane_index(self.cells, x.shape[-1])))
        return (lanes >= lane_threshold(self.probability)).view(x.shape).to(x.dtype)

    def bits(self, features: int) -> Tensor:
        """The same by a kernel, eight features in a byte: uint8 [R, *cells, F / 8]."""
        from gridsum.ops.dropout.triton import keep_bits

        return keep_bits(self.stream.key, self.cells, features, lane_threshold(self.probability))


def bits_at(drops: Sequence[Dropout] | None, features: Sequence[int]) -> tuple[tuple[Tensor, ...], float]:
    """What is kept at some sites, of so many features each, and times what; without dropout nothing, times 1."""
    if not drops:
        return (), 1.0
    return tuple(drop.bits(size) for drop, size in zip(drops, features, strict=True)), drops[0].factor


@dataclass(frozen=True)
class Dropouts:
    """The dropout of every site of every step of one rollout: step n makes G_n, reading n is of G_n. `grid`, `contexts`
    and `readings` are the numbers of their cells."""

    streams: list[Stream]
    grid: Tensor
    contexts: Tensor
    readings: Tensor
    probability: float

    @classmethod
    def of(cls, stream: Stream, config: ModelConfig, problems: int, size: GridSize, steps: int) -> "Dropouts | None":
        """For `steps` steps."""
        if config.dropout == 0:
            return None
        height, width = size.largest or (size.height, size.width)
        device = stream.key.device

        def numbers(*shape: int) -> Tensor:
            return torch.arange(math.prod(shape), device=device).view(shape)

        # One stream more than the most steps need, whatever `steps` is: the readings' dropout must not depend on it.
        most = max(config.max_steps, config.fixed_steps)
        return cls(
            stream.children((most + 1) * _SITES + 1),
            numbers(problems, height, width)[:, : size.height, width - size.width :],
            numbers(problems, config.context_length),
            numbers(steps + 1, problems, width)[..., width - size.width :],
            config.dropout,
        )

    def _at(self, step: int, sites: range, cells: Tensor) -> list[Dropout]:
        return [Dropout(self.streams[step * _SITES + site], cells, self.probability) for site in sites]

    def step(self, n: int) -> Sequence[Dropout]:
        return self._at(n - 1, range(_STEP_SITES), self.grid)

    def context(self, n: int) -> Sequence[Dropout]:
        return self._at(n, range(_STEP_SITES, _SITES), self.contexts)

    def of_problems(self, problems: Tensor, rows: int | None = None) -> "Dropouts":
        """For some of the problems, and of their grids for so many rows alone; the readings stay those of all."""
        return replace(self, grid=self.grid[problems, :rows], contexts=self.contexts[problems])

    def output(self, first: int, count: int) -> Dropout:
        """Of `count` readings from the first on, all at once."""
        return Dropout(self.streams[-1], self.readings[first : first + count], self.probability)
