"""The context's attention to the grid as two kernels, a program a sample: the whole grid is one tile."""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function

from gridsum.model.engine.cuda.cells import entries, own_grid, place_of, sample_of


@triton.jit
def _weights(
    queries, grid, cells, columns, scale, LENGTH, ROWS: tl.constexpr, TILE: tl.constexpr, PRECISION: tl.constexpr
):
    """softmax(queries·grid scaled, with row-wise ALiBi), [ROWS,TILE]; rows are heads by context vectors."""
    row, cell = tl.arange(0, ROWS), tl.arange(0, TILE)
    scores = tl.dot(queries, tl.trans(grid), input_precision=PRECISION) * scale
    slope = tl.exp2(-(row // LENGTH + 1).to(tl.float32))
    scores -= slope[:, None] * (cell // columns).to(tl.float32)[None, :]
    scores = tl.where((cell < cells)[None, :], scores, float("-inf"))
    weights = tl.exp(scores - tl.max(scores, 1)[:, None])
    return weights / tl.sum(weights, 1)[:, None]


@triton.jit
def _sample(
    sizes, problems, H, W, COUNT, ROWS: tl.constexpr, TILE: tl.constexpr, E: tl.constexpr, ENTRIES: tl.constexpr
):
    """The program's sample: its cells and columns, whether it is present, and where its queries and cells lie."""
    index, run = tl.program_id(0), tl.program_id(1)
    row, cell, feature = tl.arange(0, ROWS), tl.arange(0, TILE), tl.arange(0, E)
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    cells = rows * columns
    first = run.to(tl.int64) * problems
    at_row = (first + sample_of(index, run, sizes, ENTRIES)) * COUNT * E + (row[:, None] * E + feature)
    place = place_of(index * cells + cell, run, rows, columns, H, W, sizes, ENTRIES)
    return cells, columns, index < count, at_row, first * H * W * E + (place[:, None] * E + feature)


@triton.jit
def _forward(
    queries, grids, sizes, out, scale, H, W, COUNT, LENGTH, problems,
    ROWS: tl.constexpr, TILE: tl.constexpr, E: tl.constexpr, ENTRIES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    cells, columns, present, at_row, at_cell = _sample(sizes, problems, H, W, COUNT, ROWS, TILE, E, ENTRIES)
    asked, there = (tl.arange(0, ROWS) < COUNT)[:, None], (tl.arange(0, TILE) < cells)[:, None]
    if not present:
        tl.store(out + at_row, tl.zeros((ROWS, E), tl.float32), mask=asked)
        return
    query = tl.load(queries + at_row, mask=asked, other=0.0).to(tl.float32)
    grid = tl.load(grids + at_cell, mask=there, other=0.0).to(tl.float32)
    weights = _weights(query, grid, cells, columns, scale, LENGTH, ROWS, TILE, PRECISION)
    attended = tl.dot(weights, grid, input_precision=PRECISION)
    tl.store(out + at_row, attended, mask=asked)


@triton.jit
def _backward(
    queries, grids, sizes, grad, grad_queries, grad_grids, scale, H, W, COUNT, LENGTH, problems,
    ROWS: tl.constexpr, TILE: tl.constexpr, E: tl.constexpr, ENTRIES: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    cells, columns, present, at_row, at_cell = _sample(sizes, problems, H, W, COUNT, ROWS, TILE, E, ENTRIES)
    asked, there = (tl.arange(0, ROWS) < COUNT)[:, None], (tl.arange(0, TILE) < cells)[:, None]
    if not present:
        tl.store(grad_queries + at_row, tl.zeros((ROWS, E), tl.float32), mask=asked)
        return
    query = tl.load(queries + at_row, mask=asked, other=0.0).to(tl.float32)
    grid = tl.load(grids + at_cell, mask=there, other=0.0).to(tl.float32)
    by_out = tl.load(grad + at_row, mask=asked, other=0.0).to(tl.float32)
    weights = _weights(query, grid, cells, columns, scale, LENGTH, ROWS, TILE, PRECISION)
    by_weight = tl.dot(by_out, tl.trans(grid), input_precision=PRECISION)
    by_score = weights * (by_weight - tl.sum(weights * by_weight, 1)[:, None]) * scale
    by_query = tl.dot(by_score, grid, input_precision=PRECISION)
    by_grid = tl.dot(tl.trans(by_score), query, input_precision=PRECISION)
    by_grid += tl.dot(tl.trans(weights), by_out, input_precision=PRECISION)
    tl.store(grad_queries + at_row, by_query, mask=asked)
    tl.store(grad_grids + at_cell, by_grid, mask=there)


class KernelContext(Function):
    """queries [R,B,h·C,E], grid [R,B,H,W,E] → the vectors attended to, [R,B,h·C,E].

    `sizes` says which cells and samples are computed (see `cells`): samples that have left have attended to nothing,
    and outside of a run's own grid the gradient has no meaning.
    """

    @staticmethod
    def forward(ctx: Any, queries: Tensor, grid: Tensor, sizes: Tensor | None, length: int, scale: float) -> Tensor:
        queries, grid = queries.contiguous(), grid.contiguous()
        out = torch.empty_like(queries, dtype=torch.float32)
        ctx.save_for_backward(queries, grid, sizes)
        ctx.arguments = (length, scale)
        _launch(_forward, queries, grid, sizes, (out,), length, scale)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        queries, grid, sizes = ctx.saved_tensors
        by_queries, by_grid = torch.empty_like(queries), torch.empty_like(grid)
        _launch(_backward, queries, grid, sizes, (gradients[0].contiguous(), by_queries, by_grid), *ctx.arguments)
        return by_queries, by_grid, None, None, None


def _launch(
    kernel: Any,
    queries: Tensor,
    grid: Tensor,
    sizes: Tensor | None,
    rest: tuple[Tensor, ...],
    length: int,
    scale: float,
) -> None:
    runs, problems, height, width, features = grid.shape
    kernel[(problems, runs)](
        queries, grid, queries if sizes is None else sizes, *rest, scale, height, width, queries.shape[2], length,
        problems,
        ROWS=max(16, triton.next_power_of_2(queries.shape[2])),
        TILE=max(16, triton.next_power_of_2(height * width)),
        E=features,
        ENTRIES=entries(sizes),
        PRECISION="tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee",
    )  # fmt: skip
