"""Local attention as the paper has it (Eq. 6 to 8)."""

import torch
from torch import Tensor

from gridsum.ops.grids import neighbours, places_around


def project(grid: Tensor, projection: Tensor) -> Tensor:
    """Q, K and V side by side, each in groups without bias: [R,B,H,W,3E] (Eq. 6)."""
    parts = grid.unflatten(-1, (projection.shape[2], -1))
    return torch.cat(tuple(torch.einsum("rbhwgi,rngio->nrbhwgo", parts, projection).flatten(-2)), -1)


def attend(projected: Tensor, query: Tensor | None, relative: Tensor, heads: int) -> Tensor:
    """Y = Σ A·V over the neighbourhood, heads joined: [R,B,H,W,E] (Eq. 7)."""
    weights = attention_weights(projected, query, relative, heads)
    values = neighbours(projected.chunk(3, -1)[2], places_around(*relative.shape[1:3]))
    return (weights[..., None] * torch.stack(values).unflatten(-1, (heads, -1))).sum(0).flatten(-2)


def attention_weights(projected: Tensor, query: Tensor | None, relative: Tensor, heads: int) -> Tensor:
    """A = softmax((q + s)·(k + r)) over the neighbourhood, [k²,R,B,H,W,h] (Eq. 8 are the four terms of the score)."""
    q, k, _ = projected.chunk(3, -1)
    q = q if query is None else q + query[:, None, None, None]
    encoding = relative.flatten(1, 2).transpose(0, 1)[:, :, None, None, None]
    keys = torch.stack(neighbours(k, places_around(*relative.shape[1:3])))
    return (q * (keys + encoding)).unflatten(-1, (heads, -1)).sum(-1).softmax(0)
