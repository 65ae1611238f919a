"""Local attention as two kernels: nothing between the projections and the result touches memory.

A program computes a tile of one run's cells, E features at a time. Going forward it keeps the running maximum and sum
of the softmax, in powers of 2, and saves their logarithm; going backward every cell is computed twice, as the query
of its neighbourhood and then as a key and value in the neighbourhoods around it, so that nothing is scattered.
"""

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function

from gridsum.ops.grids import side_by_side
from gridsum.ops.kernels.cells import MOST_CELLS, cell_of, entries, own_grid, place_of
from gridsum.ops.kernels.gathering import Gathered, nothing, summands
from gridsum.ops.kernels.layers import add_to

# Cells and warps of a program, as measured on an H200. Neighbours are taken one at a time going backward: all at once
# need so many registers that fewer programs run side by side.
_FORWARD = {"TILE": 8, "UNROLL": 9, "num_warps": 4}
_BACKWARD = {"TILE": 8, "UNROLL": 1, "num_warps": 1}

_LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def _heads(x, TILE: tl.constexpr, E: tl.constexpr, HEADS: tl.constexpr):
    """x [TILE,E], summed over the features of each head and spread over them again."""
    if HEADS == E:
        return x
    size: tl.constexpr = E // HEADS
    joined = tl.sum(tl.reshape(x, (TILE, HEADS, size)), 2, keep_dims=True)
    return tl.reshape(tl.broadcast_to(joined, (TILE, HEADS, size)), (TILE, E))


@triton.jit
def _forward(
    qkv, encodings, out, lse, sizes, problems, H, W,
    E: tl.constexpr, HEADS: tl.constexpr, K: tl.constexpr, TILE: tl.constexpr, UNROLL: tl.constexpr,
    ENTRIES: tl.constexpr, SAVES: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1)
    # A run has r's rows, then s.
    encodings += run * (K * K + 1) * E + tl.arange(0, E)
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    number = tl.program_id(0) * TILE + tl.arange(0, TILE)
    if tl.program_id(0) * TILE >= count * rows * columns:
        return
    valid = number < count * rows * columns
    place = place_of(number, run, rows, columns, H, W, sizes, ENTRIES)
    _, row, column = cell_of(number, rows, columns, ENTRIES)
    feature = tl.arange(0, E)
    # One 64-bit step to the run; within it, offsets are 32-bit, which halves the kernel's arithmetic.
    first = run.to(tl.int64) * problems * H * W * E
    qkv += 3 * first
    at = place[:, None]
    q = tl.load(qkv + at * (3 * E) + feature, mask=valid[:, None], other=0.0).to(tl.float32)
    q = (q + tl.load(encodings + K * K * E)[None, :]) * _LOG2_E
    top = tl.full((TILE, E), float("-inf"), tl.float32)
    total = tl.zeros((TILE, E), tl.float32)
    result = tl.zeros((TILE, E), tl.float32)
    for n in tl.range(0, K * K, loop_unroll_factor=UNROLL):
        down, right = n // K - K // 2, n % K - K // 2
        y, x = row + down, column + right
        there = (valid & (y >= 0) & (y < rows) & (x >= 0) & (x < columns))[:, None]
        neighbour = (place + down * W + right)[:, None] * (3 * E) + feature
        k = tl.load(qkv + neighbour + E, mask=there, other=0.0).to(tl.float32)
        v = tl.load(qkv + neighbour + 2 * E, mask=there, other=0.0).to(tl.float32)
        k += tl.load(encodings + n * E)[None, :]
        score = _heads(q * k, TILE, E, HEADS)
        higher = tl.maximum(top, score)
        scale = tl.exp2(top - higher)
        weight = tl.exp2(score - higher)
        total = total * scale + weight
        result = result * scale + weight * v
        top = higher
    tl.store(out + first + at * E + feature, result / total, mask=valid[:, None])
    if SAVES:
        tl.store(lse + first + at * E + feature, top + tl.log2(total), mask=valid[:, None])


@triton.jit
def _backward(
    qkv, encodings, out, lse, sizes, problems, H, W, grad, grad_qkv, by_encodings,
    E: tl.constexpr, HEADS: tl.constexpr, K: tl.constexpr, TILE: tl.constexpr, UNROLL: tl.constexpr,
    ENTRIES: tl.constexpr,
):  # fmt: skip
    run = tl.program_id(1)
    encodings += run * (K * K + 1) * E + tl.arange(0, E)
    rows, columns, count = own_grid(sizes, run, problems, H, W, ENTRIES)
    number = tl.program_id(0) * TILE + tl.arange(0, TILE)
    feature = tl.arange(0, E)
    by_encodings += (tl.program_id(0) * tl.num_programs(1) + run).to(tl.int64) * (K * K + 1) * E + feature
    place = place_of(number, run, rows, columns, H, W, sizes, ENTRIES)
    first = run.to(tl.int64) * problems * H * W * E
    grad_qkv += 3 * first + place[:, None] * (3 * E) + feature
    # A sample that has left now was there the step before, which adds up what comes back for it: zeros.
    present_or_not = (number < problems * rows * columns)[:, None]
    if tl.program_id(0) * TILE >= count * rows * columns:
        for part in tl.static_range(3):
            tl.store(grad_qkv + part * E, tl.zeros((TILE, E), tl.float32), mask=present_or_not)
        return
    valid = number < count * rows * columns
    _, row, column = cell_of(number, rows, columns, ENTRIES)
    qkv += 3 * first
    out += first
    lse += first
    grad += first
    at = place[:, None]
    encoding = tl.load(encodings + K * K * E)[None, :]

    # As a query: the neighbours are keys and values.
    q = tl.load(qkv + at * (3 * E) + feature, mask=valid[:, None], other=0.0).to(tl.float32) + encoding
    g = tl.load(grad + at * E + feature, mask=valid[:, None], other=0.0).to(tl.float32)
    o = tl.load(out + at * E + feature, mask=valid[:, None], other=0.0).to(tl.float32)
    log_sum = tl.load(lse + at * E + feature, mask=valid[:, None], other=float("inf"))
    delta = _heads(g * o, TILE, E, HEADS)
    by_q = tl.zeros((TILE, E), tl.float32)
    for n in tl.range(0, K * K, loop_unroll_factor=UNROLL):
        down, right = n // K - K // 2, n % K - K // 2
        y, x = row + down, column + right
        there = (valid & (y >= 0) & (y < rows) & (x >= 0) & (x < columns))[:, None]
        neighbour = (place + down * W + right)[:, None] * (3 * E) + feature
        key = tl.load(qkv + neighbour + E, mask=there, other=0.0).to(tl.float32)
        key += tl.load(encodings + n * E)[None, :]
        value = tl.load(qkv + neighbour + 2 * E, mask=there, other=0.0).to(tl.float32)
        weight = tl.exp2(_heads(q * key, TILE, E, HEADS) * _LOG2_E - log_sum)
        by_score = weight * (_heads(g * value, TILE, E, HEADS) - delta)
        by_q += by_score * key
        add_to(by_encodings + n * E, tl.sum(by_score * q, 0))
    tl.store(grad_qkv, by_q, mask=present_or_not)
    add_to(by_encodings + K * K * E, tl.sum(by_q, 0))

    # As a key and value: the cell that sees this one as its neighbour n is a query.
    k = tl.load(qkv + at * (3 * E) + E + feature, mask=valid[:, None], other=0.0).to(tl.float32)
    v = tl.load(qkv + at * (3 * E) + 2 * E + feature, mask=valid[:, None], other=0.0).to(tl.float32)
    by_k = tl.zeros((TILE, E), tl.float32)
    by_v = tl.zeros((TILE, E), tl.float32)
    for n in tl.range(0, K * K, loop_unroll_factor=UNROLL):
        down, right = n // K - K // 2, n % K - K // 2
        y, x = row - down, column - right
        there = (valid & (y >= 0) & (y < rows) & (x >= 0) & (x < columns))[:, None]
        neighbour = (place - down * W - right)[:, None]
        encoded = tl.load(encodings + n * E)[None, :]
        query = tl.load(qkv + neighbour * (3 * E) + feature, mask=there, other=0.0).to(tl.float32) + encoding
        g_there = tl.load(grad + neighbour * E + feature, mask=there, other=0.0).to(tl.float32)
        o_there = tl.load(out + neighbour * E + feature, mask=there, other=0.0).to(tl.float32)
        log_there = tl.load(lse + neighbour * E + feature, mask=there, other=float("inf"))
        weight = tl.exp2(_heads(query * (k + encoded), TILE, E, HEADS) * _LOG2_E - log_there)
        by_score = weight * _heads(g_there * (v - o_there), TILE, E, HEADS)
        by_k += by_score * query
        by_v += weight * g_there
    tl.store(grad_qkv + E, by_k, mask=present_or_not)
    tl.store(grad_qkv + 2 * E, by_v, mask=present_or_not)


class KernelAttention(Function):
    """qkv [R,B,H,W,3E], and r's rows and s as `encodings` [R,(k²+1)E] → [R,B,H,W,E].

    Their gradient is gathered on the way `by_encodings` (see `gathering`). `sizes` says which cells are computed (see
    `cells`); for the others the result has no meaning, nor has outside of a run's own grid the gradient.
    """

    @staticmethod
    def forward(
        ctx: Any, qkv: Tensor, by_encodings: Tensor, encodings: Tensor, heads: int, sizes: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        qkv = qkv.contiguous()
        out = qkv.new_empty(*qkv.shape[:-1], qkv.shape[-1] // 3)
        saves = any(ctx.needs_input_grad)
        lse = torch.empty_like(out, dtype=torch.float32) if saves else out  # something to point at
        way = nothing(by_encodings.shape, by_encodings)
        ctx.save_for_backward(qkv, way, encodings, out, lse, sizes)
        ctx.heads = heads
        ctx.set_materialize_grads(False)
        _launch(_forward, _FORWARD | {"SAVES": saves}, (qkv, encodings, out, lse), heads, sizes)
        return out, way

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        qkv, way, encodings, out, lse, sizes = ctx.saved_tensors
        by_out, by_encodings = gradients
        if by_out is None:
            return None, by_encodings, None, None, None
        by_qkv, by_encodings = torch.empty_like(qkv), summands(by_encodings, way)
        results = (by_out.contiguous(), by_qkv, by_encodings)
        _launch(_backward, _BACKWARD, (qkv, encodings, out, lse), ctx.heads, sizes, *results)
        return by_qkv, by_encodings, None, None, None


def packed_encodings(query: Tensor | None, relative: Tensor, cells: int) -> tuple[Tensor, Tensor]:
    """For grids of so many cells a run, the way of the gradient of r's rows and s, of which each program adds up its
    own, and these as the kernels take them."""
    query = relative.new_zeros(relative[:, 0, 0].shape) if query is None else query
    packed = side_by_side([relative, query])
    return Gathered.apply(packed, triton.cdiv(cells, _BACKWARD["TILE"])), packed.detach()


def _launch(
    kernel: Any, options: dict[str, int], given: tuple[Tensor, ...], heads: int, sizes: Tensor | None, *results: Tensor
) -> None:
    runs, problems, height, width, features = given[2].shape
    assert sizes is None or problems * height * width < MOST_CELLS, "more cells than the kernels count"
    kernel[(triton.cdiv(problems * height * width, options["TILE"]), runs)](
        *given, given[0] if sizes is None else sizes, problems, height, width, *results,
        E=features, HEADS=heads, K=math.isqrt(given[1].shape[1] // features - 1), ENTRIES=entries(sizes), **options,
    )  # fmt: skip
