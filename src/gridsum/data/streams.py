"""Randomness as a pure function of a key.

Every random number is `hash(key, index)`: the key of a run is made of its seed, what the numbers are for and the
training step. So nothing is stored to resume, a run draws the same alone or in a fleet, on a CPU or a GPU, and a step
can be computed again. The generator is SplitMix64; torch's int64 products wrap around modulo 2^64, as it needs.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_MIX_1 = 0xBF58476D1CE4E5B9 - 2**64
_MIX_2 = 0x94D049BB133111EB - 2**64


def _mix(x: Tensor) -> Tensor:
    """SplitMix64's finaliser, in place: `x` is consumed."""
    for bits, factor in ((30, _MIX_1), (27, _MIX_2), (31, None)):
        x ^= _shift(x, bits)
        if factor is not None:
            x *= factor
    return x


def _shift(x: Tensor, bits: int) -> Tensor:
    """Logical shift to the right (torch's is arithmetic)."""
    shifted = x >> bits
    shifted &= (1 << (64 - bits)) - 1
    return shifted


@dataclass(frozen=True)
class Stream:
    """A source of random numbers for each of R runs; `key` is int64 [R]."""

    key: Tensor

    @classmethod
    def of_seeds(cls, seeds: Sequence[int], device: torch.device | str = "cpu") -> "Stream":
        return cls(_mix(torch.tensor(list(seeds), dtype=torch.int64, device=device) * _GOLDEN ^ _MIX_2))

    def fold(self, label: int | Tensor) -> "Stream":
        """An independent stream for `label` (a purpose, a step; an int, a scalar or one int a run)."""
        spread = label * _GOLDEN
        if not isinstance(spread, Tensor):
            spread = (spread + 2**63) % 2**64 - 2**63  # wrapped around, as int64 holds it
        return Stream(_mix((self.key ^ _MIX_1) + spread))

    def bits(self, *shape: int) -> Tensor:
        """Uniform int64 of [R, *shape]."""
        count = math.prod(shape)
        index = torch.arange(1, count + 1, dtype=torch.int64, device=self.key.device)
        return _mix(self.key[:, None] + index * _GOLDEN).view(self.key.shape[0], *shape)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Uniform in {low, …, high}; the range is far below 2^63, so the bias of the remainder is nil."""
        return _shift(self.bits(*shape), 1) % (high - low + 1) + low

    def uniform(self, *shape: int) -> Tensor:
        """Uniform float32 in [0, 1), on the 2^24 values that float32 holds evenly."""
        return _shift(self.bits(*shape), 40).to(torch.float32) * 2.0**-24

    def chance(self, probability: float, *shape: int) -> Tensor:
        """True with this probability, to 2^-24. By whole numbers: a fraction is rounded as a device likes."""
        return _shift(self.bits(*shape), 40) < round(probability * 2**24)

    def children(self, count: int) -> list["Stream"]:
        """`count` independent streams, made in one go."""
        return [Stream(key) for key in self.bits(count).T.contiguous()]

    def words(self, index: Tensor) -> Tensor:
        """The hashes of `lane_index`'s [..., words]: int64 [R, ..., words]."""
        return _mix(self.key.view(-1, *[1] * index.dim()) + index)

    def lanes(self, index: Tensor) -> Tensor:
        """Uniform int16, four from each hash: [R, ..., 4·words] of `lane_index`'s [..., words]."""
        return self.words(index).view(torch.int16)

    def normal(self, index: Tensor) -> Tensor:
        """Gaussian float32 on 2^16 values, four from each hash: [R, ..., 4·words] of `lane_index`'s [..., words]."""
        lanes = self.lanes(index)
        return _quantiles(index.device).index_select(0, lanes.flatten().int() + 2**15).view(lanes.shape)


@functools.cache
def _quantiles(device: torch.device) -> Tensor:
    """The normal quantile of each value of a lane. A table: computed where they are needed, logarithms would differ in
    their last digit with the device, and with where in memory a number lies."""
    middles = (torch.arange(2**16, dtype=torch.float64) + 0.5) / 2**16
    return torch.special.ndtri(middles).float().to(device)


def lane_index(cells: Tensor, features: int) -> Tensor:
    """Where the lanes of `features` features of numbered cells begin: int64 [*cells.shape, features / 4]."""
    words = features // 4
    assert words * 4 == features, "features come in fours"
    return (cells[..., None] * words + torch.arange(1, words + 1, device=cells.device)) * _GOLDEN


def lane_threshold(probability: float) -> int:
    """What a lane is below with this probability."""
    return round(probability * 2**16) - 2**15
