"""Dropout decided in one go for a whole rollout: a bit a feature."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gridsum.config.paper import ModelConfig
from gridsum.data.streams import lane_threshold
from gridsum.model.dropout import SITES, STEP_SITES, Dropouts
from gridsum.model.engine.cuda.keep_bits import keep_bits


def packs(config: ModelConfig) -> bool:
    """Whether all features come in bytes."""
    return all(size % 8 == 0 for size in (config.width, config.step_hidden, config.context_hidden))


@dataclass(frozen=True)
class PackedDropout:
    """Which features are dropped at one site: uint8 [R, *cells, F / 8]."""

    bits: Tensor
    probability: float

    @property
    def factor(self) -> float:
        """What the features that are kept are multiplied by."""
        return 1 / (1 - self.probability)

    def __call__(self, x: Tensor) -> Tensor:
        bits = (self.bits[..., None] >> torch.arange(8, dtype=torch.uint8, device=x.device)) & 1
        return x * (bits.flatten(-2).to(x.dtype) * self.factor)


@dataclass(frozen=True)
class PackedDropouts:
    """As `Dropouts`: [steps, sites, R, B, ..., F / 8] for sites of equal size, [R, steps, ...] for the readings."""

    grid: list[Tensor]
    contexts: list[Tensor]
    readings: Tensor
    probability: float

    @classmethod
    def of(cls, drops: Dropouts, steps: int, config: ModelConfig) -> "PackedDropouts":
        keys = torch.stack([stream.key for stream in drops.streams])
        sites = keys[: (steps + 1) * SITES].view(steps + 1, SITES, -1)
        threshold = lane_threshold(drops.probability)
        first, hidden = (slice(0, 1), config.width), (slice(1, STEP_SITES), config.step_hidden)
        inside = STEP_SITES + 1
        context, inner = (slice(STEP_SITES, inside), config.width), (slice(inside, SITES), config.context_hidden)
        grid = [keep_bits(sites[:, at], drops.grid.numbers, size, threshold) for at, size in (first, hidden)]
        contexts = [keep_bits(sites[:, at], drops.contexts.numbers, size, threshold) for at, size in (context, inner)]
        readings = keep_bits(keys[-1], drops.readings.numbers, config.width, threshold)
        return cls(grid, contexts, readings, drops.probability)

    def _at(self, step: int, sites: list[Tensor]) -> list[PackedDropout]:
        return [PackedDropout(bits, self.probability) for site in sites for bits in site[step]]

    def step(self, n: int) -> Sequence[PackedDropout]:
        return self._at(n - 1, self.grid)

    def context(self, n: int) -> Sequence[PackedDropout]:
        return self._at(n, self.contexts)

    def top_row(self, n: int, problems: Tensor) -> Sequence[PackedDropout]:
        return self._at(n - 1, [bits[:, :, :, problems, :1] for bits in self.grid])

    def of_problems(self, problems: Tensor) -> "PackedDropouts":
        grid, contexts = ([bits[:, :, :, problems] for bits in sites] for sites in (self.grid, self.contexts))
        return replace(self, grid=grid, contexts=contexts)

    def output(self, first: int, count: int) -> PackedDropout:
        return PackedDropout(self.readings[:, first : first + count], self.probability)
