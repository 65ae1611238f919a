"""LN(x + y) as one kernel, for solving: torch's has a block of threads for each cell, which has few features."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from gridsum.ops.kernels.layers import normalise

_TILE = 32


@triton.jit(do_not_specialize=["cells"])
def _norm_of_sum(x, y, weight, bias, out, cells, E: tl.constexpr, TILE: tl.constexpr):
    run, feature = tl.program_id(1).to(tl.int64), tl.arange(0, E)
    cell = tl.program_id(0) * TILE + tl.arange(0, TILE)
    there, at = (cell < cells)[:, None], (run * cells + cell)[:, None] * E + feature
    total = tl.load(x + at, mask=there, other=0.0) + tl.load(y + at, mask=there, other=0.0)
    normal, _ = normalise(total, E)
    weighted = normal * tl.load(weight + run * E + feature)[None, :]
    tl.store(out + at, weighted + tl.load(bias + run * E + feature)[None, :], mask=there)


def kernel_norm_of_sum(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """LN(x + y) of [R,...,E], where E is a power of 2; without a gradient."""
    x, y, features = x.contiguous(), y.contiguous(), x.shape[-1]
    out, cells = torch.empty_like(x), x.numel() // (len(x) * features)
    grid = (triton.cdiv(cells, _TILE), len(x))
    _norm_of_sum[grid](x, y, weight, bias, out, cells, E=features, TILE=_TILE)
    return out
