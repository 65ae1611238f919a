"""Local attention as the paper's Eq. 6 and 7 state it: cell by cell, head by head, neighbour by neighbour."""

import torch
from torch import Tensor


def project(vector: Tensor, matrices: Tensor) -> Tensor:
    """Each group of `vector` [E] times its own matrix of [g,E/g,E/g], concatenated."""
    parts = vector.split(matrices.shape[-1])
    return torch.cat([part @ matrix for part, matrix in zip(parts, matrices, strict=True)])


def attend(
    grid: Tensor, projections: Tensor, relative: Tensor, query: Tensor | None, heads: int
) -> tuple[Tensor, Tensor]:
    """(Y [H,W,E], A [H,W,h,k²]) of a grid [H,W,E]; the projections are W_Q, W_K, W_V, then come r and s."""
    height, width, features = grid.shape
    size, margin = features // heads, relative.shape[0] // 2
    s = torch.zeros(features, dtype=grid.dtype) if query is None else query
    outside = torch.zeros(features, dtype=grid.dtype)
    reach = range(-margin, margin + 1)
    result = []
    paid = []
    for i in range(height):
        for j in range(width):
            for m in range(heads):
                head = slice(m * size, (m + 1) * size)
                q = project(grid[i, j], projections[0])[head]
                scores, values = [], []
                for a in reach:
                    for b in reach:
                        within = 0 <= i + a < height and 0 <= j + b < width
                        key = project(grid[i + a, j + b], projections[1]) if within else outside
                        value = project(grid[i + a, j + b], projections[2]) if within else outside
                        r = relative[a + margin, b + margin]
                        scores.append((q + s[head]) @ (key[head] + r[head]))
                        values.append(value[head])
                weights = torch.softmax(torch.stack(scores), 0)
                paid.append(weights)
                result.append(sum(w * v for w, v in zip(weights, values, strict=True)))
    return torch.cat(result).view(height, width, features), torch.stack(paid).view(height, width, heads, -1)
