"""The context's attention to the flattened grid, with row-wise ALiBi (Eq. 13)."""

import math

import torch
from torch import Tensor

from gridsum.ops.context.cpu import folded_attention
from gridsum.ops.forms import form, once
from gridsum.ops.grids import GridSize, linear


def attend_to_grid(
    context: Tensor, grid: Tensor, size: GridSize | None, heads: int, projection: Tensor, biases: Tensor
) -> Tensor:
    """What each vector of the context [R,B,C,E] finds in the grid, heads joined: [R,B,C,E]. The three projections
    [R,3,E,E] and their `biases` [R,3,E] make queries of the context, keys and values of the grid."""
    inside = None if size is None else size.inside
    if form() != "plain":
        key = "alibi", heads, *grid.shape[2:4]
        bias = once(key, lambda: alibi(heads, grid).repeat_interleave(context.shape[2], 0))
        return folded_attention(context, grid, inside, heads, bias, projection, biases)
    cells = grid.flatten(2, 3)
    parts = [linear(x, projection[:, i], biases[:, i]) for i, x in enumerate((context, cells, cells))]
    q, k, v = (part.unflatten(-1, (heads, -1)) for part in parts)
    scores = torch.einsum("rbchd,rbnhd->rbhcn", q, k) / math.sqrt(q.shape[-1]) + alibi(heads, grid)[:, None]
    if inside is not None:
        scores = scores.masked_fill(~inside.flatten(1)[:, None, None, None], -math.inf)
    return torch.einsum("rbhcn,rbnhd->rbchd", scores.softmax(-1), v).flatten(-2)


def alibi(heads: int, grid: Tensor) -> Tensor:
    """m·M of Eq. 13: the bias of each head for each cell of the flattened grid [R,B,H,W,E], [h,H·W]."""
    height, columns = grid.shape[2:4]
    head = torch.arange(1, heads + 1, device=grid.device, dtype=grid.dtype)
    row = torch.arange(height, device=grid.device, dtype=grid.dtype)[:, None].expand(-1, columns).flatten()
    return -torch.exp2(-head)[:, None] * row
