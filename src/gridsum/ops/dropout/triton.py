"""Dropout decided in one go for a whole rollout, a bit a feature: hashed once, read by whoever computes with it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from gridsum.config.paper import ModelConfig
from gridsum.data.streams import lane_threshold
from gridsum.ops.dropout.plain import SITES, STEP_SITES, Dropouts

# SplitMix64, as in `gridsum.data.streams`.
_GOLDEN = tl.constexpr(0x9E3779B97F4A7C15 - 2**64)
_MIX_1 = tl.constexpr(0xBF58476D1CE4E5B9 - 2**64)
_MIX_2 = tl.constexpr(0x94D049BB133111EB - 2**64)
_BLOCK = 2048


@triton.jit
def _shift(x, BITS: tl.constexpr):
    return (x >> BITS) & ((1 << (64 - BITS)) - 1)


@triton.jit
def _four(x, threshold):
    """The bits of the four features that the hash of x decides about: those whose 16 bits are at least `threshold`.

    That is given in the upper half of 32 bits, where a lane is compared as it lies.
    """
    x = (x ^ _shift(x, 30)) * _MIX_1
    x = (x ^ _shift(x, 27)) * _MIX_2
    x = x ^ _shift(x, 31)
    low, high = x.to(tl.int32), (x >> 32).to(tl.int32)
    bits = tl.where(low << 16 >= threshold, 1, 0) | tl.where(low >= threshold, 2, 0)
    return bits | tl.where(high << 16 >= threshold, 4, 0) | tl.where(high >= threshold, 8, 0)


@triton.jit
def _keep(keys, numbers, out, threshold, COUNT, BYTES: tl.constexpr, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = index < COUNT * BYTES
    key = tl.load(keys + tl.program_id(1))
    cell = tl.load(numbers + index // BYTES, mask=there, other=0)
    first = key + (cell * (2 * BYTES) + (index % BYTES) * 2 + 1) * _GOLDEN
    kept = _four(first, threshold) | _four(first + _GOLDEN, threshold) << 4
    tl.store(out + tl.program_id(1).to(tl.int64) * COUNT * BYTES + index, kept.to(tl.uint8), mask=there)


def keep_bits(keys: Tensor, numbers: Tensor, features: int, threshold: int) -> Tensor:
    """uint8 [*keys, *numbers, features / 8]: bit f of a byte says whether lane f is at least `threshold`.

    The lanes are those of `Stream.lanes` for each of the keys (int64), of cells with these numbers (int64).
    """
    size = features // 8
    assert size * 8 == features, "features come in eights"
    keys, numbers = keys.contiguous(), numbers.contiguous()
    out = torch.empty(*keys.shape, *numbers.shape, size, dtype=torch.uint8, device=keys.device)
    grid = (triton.cdiv(numbers.numel() * size, _BLOCK), keys.numel())
    _keep[grid](keys, numbers, out, threshold << 16, numbers.numel(), BYTES=size, BLOCK=_BLOCK)
    return out


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

    def output(self, first: int, count: int) -> PackedDropout:
        return PackedDropout(self.readings[:, first : first + count], self.probability)
