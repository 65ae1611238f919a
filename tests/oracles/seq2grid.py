"""Seq2Grid as the paper's Eq. 3 states it: whole grids of vectors, one symbol at a time."""

from collections.abc import Callable

import torch
from torch import Tensor


def _build(height: int, width: int, cell: Callable[[int, int], Tensor]) -> Tensor:
    """The grid [H,W,E] whose element (i,j), counted from 1 as in the paper, is cell(i, j)."""
    rows = [torch.stack([cell(i, j) for j in range(1, width + 1)]) for i in range(1, height + 1)]
    return torch.stack(rows)


def top_list_update(grid: Tensor, x: Tensor) -> Tensor:
    height, width, _ = grid.shape

    def cell(i: int, j: int) -> Tensor:
        if i == 1 and j == width:
            return x
        if i == 1:
            return grid[0, j]  # G_{1,j+1}
        return grid[i - 1, j - 1]  # G_{i,j}

    return _build(height, width, cell)


def new_list_push(grid: Tensor, x: Tensor) -> Tensor:
    height, width, _ = grid.shape

    def cell(i: int, j: int) -> Tensor:
        if i == 1 and j == width:
            return x
        if i == 1:
            return torch.zeros_like(x)
        return grid[i - 2, j - 1]  # G_{i-1,j}

    return _build(height, width, cell)


def place(x: Tensor, actions: Tensor, height: int, width: int) -> Tensor:
    """G^(S) [H,W,E] of vectors [S,E] under the probabilities [S,3] of TLU, NLP and NOP."""
    grid = x.new_zeros(height, width, x.shape[-1])
    for vector, (tlu, nlp, nop) in zip(x, actions, strict=True):
        grid = tlu * top_list_update(grid, vector) + nlp * new_list_push(grid, vector) + nop * grid
    return grid
