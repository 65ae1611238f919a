"""What the kernels of layers have in common: sizes and precision; norms, SiLU and dropout inside a kernel."""

import torch
import triton
import triton.language as tl
from torch import Tensor

_EPSILON = tl.constexpr(1e-5)  # of torch's layer_norm


def fits(features: int, most: int) -> bool:
    """Whether kernels that hold all features of a cell, so many at most, can have so many."""
    return features & (features - 1) == 0 and 16 <= features <= most


def reduced_kind(like: Tensor) -> torch.dtype:
    """The precision of the products, as training asks for it."""
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else like.dtype


@triton.jit
def add_to(at, x):
    tl.store(at, tl.load(at) + x)


@triton.jit
def normalise(x, E: tl.constexpr):
    """x with mean 0 and variance 1 over its features, and what it was multiplied by."""
    centred = x - tl.sum(x, 1)[:, None] / E
    scale = tl.rsqrt(tl.sum(centred * centred, 1) / E + _EPSILON)
    return centred * scale[:, None], scale


@triton.jit
def through_norm(gradient, normal, scale, E: tl.constexpr):
    """The gradient of what was normalised, from that of the result."""
    mean = tl.sum(gradient, 1)[:, None] / E
    along = tl.sum(gradient * normal, 1)[:, None] / E
    return scale[:, None] * (gradient - mean - normal * along)


@triton.jit
def keep_factor(
    bits, place, valid, factor, first, N: tl.constexpr, BLOCK: tl.constexpr, TILE: tl.constexpr, DROPOUT: tl.constexpr
):
    """What `BLOCK` of a cell's `N` inputs are multiplied by, from the `first`; all by 1 where it is not `valid`.

    A word of bits is loaded for a row, not for its features, so that none goes through shared memory.
    """
    kept = tl.full((TILE, BLOCK), 1.0, tl.float32)
    if DROPOUT:
        WORD: tl.constexpr = 32 if BLOCK >= 32 else 16
        KIND: tl.constexpr = tl.int32 if BLOCK >= 32 else tl.int16
        column, words = tl.arange(0, BLOCK), bits.to(tl.pointer_type(KIND))
        words += place * (N // WORD) + first // WORD
        here = tl.load(words, mask=valid, other=-1).to(tl.int32)[:, None]
        for index in tl.static_range(1, BLOCK // WORD):
            word = tl.load(words + index, mask=valid, other=-1).to(tl.int32)[:, None]
            here = tl.where((column // WORD == index)[None, :], word, here)
        kept = tl.where((here >> (column % WORD)[None, :]) & 1 != 0, factor, 0.0)
    return kept


@triton.jit
def sigmoid(x):
    """1 / (1 + exp(-x)) as the square of 1 / sqrt(1 + exp(-x)): a GPU has the latter as one instruction, and 2^x."""
    root = tl.rsqrt(1 + tl.exp2(x * -1.4426950408889634))
    return root * root
