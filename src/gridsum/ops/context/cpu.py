"""The context's attention to the grid (Eq. 13) without projecting the grid.

With the projections folded into the few queries and results, q·(g W_k) = (q W_kᵀ)·g and Σ a (g W_v) = (Σ a g) W_v. The
keys' bias adds the same to every cell's score, which a softmax does not see: it is left out.
"""

import math

import torch
from torch import Tensor

from gridsum.ops.grids import linear

# Sums over grids with rows as long as this are taken row by row: a product that is all sum keeps few processors busy.
_LONG_ROW = 256


def folded_attention(
    context: Tensor, grid: Tensor, inside: Tensor | None, heads: int, bias: Tensor, projection: Tensor, biases: Tensor
) -> Tensor:
    """`attend_to_grid`; `bias` [h·C,H·W] is that of each vector as each head sees it; `inside` [R,H,W] cells count."""
    query, key, value = projection.unbind(1)
    q = linear(context, query, biases[:, 0])
    # carried over to the grid's own space: [R,B,h·C,E]
    queries = torch.einsum("rbchd,rehd->rbhce", *(x.unflatten(-1, (heads, -1)) for x in (q, key))).flatten(2, 3)
    height, columns, width = grid.shape[2:]
    cells = grid.flatten(2, 3)
    scale = 1 / math.sqrt(width // heads)
    scores = torch.baddbmm(bias, queries.flatten(0, 1), cells.flatten(0, 1).transpose(-1, -2), alpha=scale)
    scores = scores.unflatten(0, queries.shape[:2])
    if inside is not None:
        scores = scores.masked_fill(~inside.flatten(1)[:, None, None], -math.inf)
    weights = scores.softmax(-1)
    # the mean of the grid's vectors that each query attends to: [R,B,h·C,E]
    if columns < _LONG_ROW:
        found = torch.matmul(weights, cells)
    else:
        found = torch.matmul(weights.unflatten(-1, (height, columns)).transpose(2, 3), grid).sum(2)
    values = value.unflatten(-1, (heads, -1))
    joined = torch.einsum("rbhce,rehd->rbchd", found.unflatten(2, (heads, -1)), values).flatten(-2)
    return joined + biases[:, 2, None, None]
