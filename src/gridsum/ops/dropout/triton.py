"""Which features dropout keeps, a bit a feature: hashed once, read by whoever computes with it."""

import torch
import triton
import triton.language as tl
from torch import Tensor

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
    """The bits of the four features that the hash of x decides about: those whose 16 bits are at least `threshold`,
    given in the upper half of 32 bits, where a lane is compared as it lies."""
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
    """uint8 [R, *numbers, features / 8]: bit f of a byte says whether lane f of `Stream.lanes` for the keys [R], of
    cells with these numbers, is at least `threshold`."""
    size = features // 8
    assert size * 8 == features, "features come in eights"
    numbers = numbers.contiguous()
    out = torch.empty(*keys.shape, *numbers.shape, size, dtype=torch.uint8, device=keys.device)
    grid = (triton.cdiv(numbers.numel() * size, _BLOCK), len(keys))
    _keep[grid](keys.contiguous(), numbers, out, threshold << 16, numbers.numel(), BYTES=size, BLOCK=_BLOCK)
    return out
