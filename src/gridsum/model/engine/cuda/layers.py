"""What the kernels of layers have in common: norms, SiLU and dropout inside a kernel."""

import triton
import triton.language as tl

_EPSILON = tl.constexpr(1e-5)  # of torch's layer_norm


@triton.jit
def normalise(x, E: tl.constexpr):
    """x with mean 0 and variance 1 over its features, and what it was multiplied by."""
    centred = x - tl.sum(x, 1)[:, None] / E
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 1) / E + _EPSILON)
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
    """What `BLOCK` of a cell's `N` inputs are multiplied by, from the `first`: [TILE,BLOCK]. A byte is loaded once.

    Where a cell is not `valid`, all are kept.
    """
    kept = tl.full((TILE, BLOCK), 1.0, tl.float32)
    if DROPOUT:
        byte = tl.load(
            bits + place[:, None] * (N // 8) + first // 8 + tl.arange(0, BLOCK // 8)[None, :],
            mask=valid[:, None],
            other=255,
        )
        each = (byte.to(tl.int32)[:, :, None] >> tl.arange(0, 8)[None, None, :]) & 1
        kept = tl.reshape(each, (TILE, BLOCK)).to(tl.float32) * factor
    return kept


@triton.jit
def sigmoid(x):
    return tl.fdiv(tl.full(x.shape, 1.0, tl.float32), 1 + tl.exp(-x))
