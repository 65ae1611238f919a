"""Local attention as the paper's Eq. 6 and 7 state it: cell by cell, head by head, neighbour by neighbour."""

import torch
from torch import Tensor

from gridsum.model.paper import LocalAttention


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


def score_terms(attention: LocalAttention, grid: Tensor, row: int, column: int, head: int) -> Tensor:
    """Q·K, s·K, Q·r and s·r of one head of one cell of a grid [H,W,E], for every neighbour: [4,k²]."""
    features, margin = grid.shape[-1], attention.kernel // 2
    part = slice(head * (features // attention.heads), (head + 1) * (features // attention.heads))
    query, key, _ = attention.project(grid[None, None])[0, 0].chunk(3, -1)
    s = torch.zeros(features) if attention.query is None else attention.query[0]
    found = []
    for a in range(-margin, margin + 1):
        for b in range(-margin, margin + 1):
            inside = 0 <= row + a < grid.shape[0] and 0 <= column + b < grid.shape[1]
            k = key[row + a, column + b, part] if inside else torch.zeros(features)[part]
            q, r = query[row, column, part], attention.relative[0, a + margin, b + margin, part]
            found.append(torch.stack([q @ k, s[part] @ k, q @ r, s[part] @ r]))
    return torch.stack(found, 1).detach()
