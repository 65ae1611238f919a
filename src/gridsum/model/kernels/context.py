"""The context's attention to the grid as two kernels, a program a sample: the whole grid is one tile."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function


@triton.jit
def _weights(
    queries, grid, inside, run, scale, COLUMNS, CELLS, LENGTH,
    ROWS: tl.constexpr, TILE: tl.constexpr, MASKED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """softmax(queries·grid scaled, with row-wise ALiBi), [ROWS,TILE]; rows are heads by context vectors."""
    row, cell = tl.arange(0, ROWS), tl.arange(0, TILE)
    scores = tl.dot(queries, tl.trans(grid), input_precision=PRECISION) * scale
    slope = tl.exp2(-(row // LENGTH + 1).to(tl.float32))
    scores -= slope[:, None] * (cell // COLUMNS).to(tl.float32)[None, :]
    seen = cell < CELLS
    if MASKED:
        seen = seen & (tl.load(inside + run * CELLS + cell, mask=seen, other=0) != 0)
    scores = tl.where(seen[None, :], scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    return weights / tl.sum(weights, 1)[:, None]


@triton.jit
def _forward(
    queries, grids, inside, out, scale, COLUMNS, CELLS, COUNT, LENGTH, problems,
    ROWS: tl.constexpr, TILE: tl.constexpr, E: tl.constexpr, MASKED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    sample = tl.program_id(0)
    row, cell, feature = tl.arange(0, ROWS), tl.arange(0, TILE), tl.arange(0, E)
    at_row = sample.to(tl.int64) * COUNT * E + (row[:, None] * E + feature)
    at_cell = sample.to(tl.int64) * CELLS * E + (cell[:, None] * E + feature)
    query = tl.load(queries + at_row, mask=(row < COUNT)[:, None], other=0.0).to(tl.float32)
    grid = tl.load(grids + at_cell, mask=(cell < CELLS)[:, None], other=0.0).to(tl.float32)
    weights = _weights(
        query, grid, inside, sample // problems, scale, COLUMNS, CELLS, LENGTH, ROWS, TILE, MASKED, PRECISION
    )
    attended = tl.dot(weights, grid, input_precision=PRECISION)
    tl.store(out + at_row, attended, mask=(row < COUNT)[:, None])


@triton.jit
def _backward(
    queries, grids, inside, grad, grad_queries, grad_grids, scale, COLUMNS, CELLS, COUNT, LENGTH, problems,
    ROWS: tl.constexpr, TILE: tl.constexpr, E: tl.constexpr, MASKED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    sample = tl.program_id(0)
    row, cell, feature = tl.arange(0, ROWS), tl.arange(0, TILE), tl.arange(0, E)
    at_row = sample.to(tl.int64) * COUNT * E + (row[:, None] * E + feature)
    at_cell = sample.to(tl.int64) * CELLS * E + (cell[:, None] * E + feature)
    query = tl.load(queries + at_row, mask=(row < COUNT)[:, None], other=0.0).to(tl.float32)
    grid = tl.load(grids + at_cell, mask=(cell < CELLS)[:, None], other=0.0).to(tl.float32)
    by_out = tl.load(grad + at_row, mask=(row < COUNT)[:, None], other=0.0).to(tl.float32)
    weights = _weights(
        query, grid, inside, sample // problems, scale, COLUMNS, CELLS, LENGTH, ROWS, TILE, MASKED, PRECISION
    )
    by_weight = tl.dot(by_out, tl.trans(grid), input_precision=PRECISION)
    by_score = weights * (by_weight - tl.sum(weights * by_weight, 1)[:, None]) * scale
    by_query = tl.dot(by_score, grid, input_precision=PRECISION)
    by_grid = tl.dot(tl.trans(by_score), query, input_precision=PRECISION)
    by_grid += tl.dot(tl.trans(weights), by_out, input_precision=PRECISION)
    tl.store(grad_queries + at_row, by_query, mask=(row < COUNT)[:, None])
    tl.store(grad_grids + at_cell, by_grid, mask=(cell < CELLS)[:, None])


class KernelContext(Function):
    """queries [R,B,h·C,E], grid [R,B,H,W,E], inside bool [R,H,W] → the vectors attended to, [R,B,h·C,E]."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, grid: Tensor, inside: Tensor | None, length: int, scale: float) -> Tensor:
        queries, grid = queries.contiguous(), grid.contiguous()
        out = torch.empty_like(queries, dtype=torch.float32)
        ctx.save_for_backward(queries, grid, inside)
        ctx.arguments = (length, scale)
        _launch(_forward, queries, grid, inside, (out,), length, scale)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        queries, grid, inside = ctx.saved_tensors
        by_queries, by_grid = torch.empty_like(queries), torch.empty_like(grid)
        _launch(_backward, queries, grid, inside, (gradients[0].contiguous(), by_queries, by_grid), *ctx.arguments)
        return by_queries, by_grid, None, None, None


def _launch(
    kernel: Any,
    queries: Tensor,
    grid: Tensor,
    inside: Tensor | None,
    rest: tuple[Tensor, ...],
    length: int,
    scale: float,
) -> None:
    runs, problems, height, width, features = grid.shape
    mask = queries if inside is None else inside.contiguous().view(torch.uint8)
    kernel[(runs * problems,)](
        queries, grid, mask, *rest, scale, width, height * width, queries.shape[2], length, problems,
        ROWS=max(16, triton.next_power_of_2(queries.shape[2])),
        TILE=max(16, triton.next_power_of_2(height * width)),
        E=features,
        MASKED=inside is not None,
        PRECISION="tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee",
    )  # fmt: skip
