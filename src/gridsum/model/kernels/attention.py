"""Local attention as two kernels: nothing between the projections and the result touches memory.

A program computes the cells of one tile of one sample, E features at a time. Going forward it keeps the running
maximum and sum of the softmax and saves their logarithm; going backward every cell is computed twice over, as the
query of its neighbourhood and as a key and value in the neighbourhoods around it, so that nothing is scattered.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function

# Cells and warps of a program, as measured on an H200.
_TILE, _WARPS = 16, 4


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
    qkv, s, r, out, lse, H, W, problems,
    TILE: tl.constexpr, E: tl.constexpr, HEADS: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    sample = tl.program_id(0)
    run = sample // problems
    cell = tl.program_id(1) * TILE + tl.arange(0, TILE)
    feature = tl.arange(0, E)
    row, column = cell // W, cell % W
    inside = cell < H * W
    # One 64-bit step to the sample; within it, offsets are 32-bit, which halves the kernel's arithmetic.
    first = sample.to(tl.int64) * H * W * E
    qkv += 3 * first
    out += first
    lse += first
    at = cell[:, None]
    q = tl.load(qkv + at * (3 * E) + feature, mask=inside[:, None], other=0.0).to(tl.float32)
    q += tl.load(s + run * E + feature)[None, :]
    top = tl.full((TILE, E), float("-inf"), tl.float32)
    total = tl.zeros((TILE, E), tl.float32)
    result = tl.zeros((TILE, E), tl.float32)
    for n in tl.static_range(K * K):
        y, x = row + (n // K - K // 2), column + (n % K - K // 2)
        there = (inside & (y >= 0) & (y < H) & (x >= 0) & (x < W))[:, None]
        place = (y * W + x)[:, None] * (3 * E) + feature
        k = tl.load(qkv + place + E, mask=there, other=0.0).to(tl.float32)
        v = tl.load(qkv + place + 2 * E, mask=there, other=0.0).to(tl.float32)
        k += tl.load(r + (run * K * K + n) * E + feature)[None, :]
        score = _heads(q * k, TILE, E, HEADS)
        higher = tl.maximum(top, score)
        scale = tl.exp(top - higher)
        weight = tl.exp(score - higher)
        total = total * scale + weight
        result = result * scale + weight * v
        top = higher
    tl.store(out + at * E + feature, result / total, mask=inside[:, None])
    tl.store(lse + at * E + feature, top + tl.log(total), mask=inside[:, None])


@triton.jit
def _backward(
    qkv, s, r, out, lse, grad, grad_qkv, grad_r, H, W, problems,
    TILE: tl.constexpr, E: tl.constexpr, HEADS: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    sample = tl.program_id(0)
    run = sample // problems
    cell = tl.program_id(1) * TILE + tl.arange(0, TILE)
    feature = tl.arange(0, E)
    row, column = cell // W, cell % W
    inside = cell < H * W
    first = sample.to(tl.int64) * H * W * E
    qkv += 3 * first
    grad_qkv += 3 * first
    out += first
    lse += first
    grad += first
    at = cell[:, None]
    encoding = tl.load(s + run * E + feature)[None, :]
    q = tl.load(qkv + at * (3 * E) + feature, mask=inside[:, None], other=0.0).to(tl.float32) + encoding
    k = tl.load(qkv + at * (3 * E) + E + feature, mask=inside[:, None], other=0.0).to(tl.float32)
    v = tl.load(qkv + at * (3 * E) + 2 * E + feature, mask=inside[:, None], other=0.0).to(tl.float32)
    g = tl.load(grad + at * E + feature, mask=inside[:, None], other=0.0).to(tl.float32)
    o = tl.load(out + at * E + feature, mask=inside[:, None], other=0.0).to(tl.float32)
    log_sum = tl.load(lse + at * E + feature, mask=inside[:, None], other=0.0)
    delta = _heads(g * o, TILE, E, HEADS)
    by_q = tl.zeros((TILE, E), tl.float32)
    by_k = tl.zeros((TILE, E), tl.float32)
    by_v = tl.zeros((TILE, E), tl.float32)
    partial = grad_r + (sample.to(tl.int64) * tl.num_programs(1) + tl.program_id(1)) * K * K * E + feature
    for n in tl.static_range(K * K):
        down, right = n // K - K // 2, n % K - K // 2
        encoded = tl.load(r + (run * K * K + n) * E + feature)[None, :]
        # As a query: the neighbour is a key and a value.
        y, x = row + down, column + right
        there = (inside & (y >= 0) & (y < H) & (x >= 0) & (x < W))[:, None]
        place = (y * W + x)[:, None] * (3 * E) + feature
        key = tl.load(qkv + place + E, mask=there, other=0.0).to(tl.float32) + encoded
        value = tl.load(qkv + place + 2 * E, mask=there, other=0.0).to(tl.float32)
        weight = tl.exp(_heads(q * key, TILE, E, HEADS) - log_sum)
        by_score = weight * (_heads(g * value, TILE, E, HEADS) - delta)
        by_score = tl.where(inside[:, None], by_score, 0.0)
        by_q += by_score * key
        tl.store(partial + n * E, tl.sum(by_score * q, 0))
        # As a key and value: the cell that sees this one as its neighbour n is a query.
        y, x = row - down, column - right
        there = (inside & (y >= 0) & (y < H) & (x >= 0) & (x < W))[:, None]
        place = (y * W + x)[:, None]
        query = tl.load(qkv + place * (3 * E) + feature, mask=there, other=0.0).to(tl.float32) + encoding
        g_there = tl.load(grad + place * E + feature, mask=there, other=0.0).to(tl.float32)
        o_there = tl.load(out + place * E + feature, mask=there, other=0.0).to(tl.float32)
        log_there = tl.load(lse + place * E + feature, mask=there, other=float("inf"))
        weight = tl.exp(_heads(query * (k + encoded), TILE, E, HEADS) - log_there)
        by_score = weight * _heads(g_there * (v - o_there), TILE, E, HEADS)
        by_k += by_score * query
        by_v += weight * g_there
    tl.store(grad_qkv + at * (3 * E) + feature, by_q, mask=inside[:, None])
    tl.store(grad_qkv + at * (3 * E) + E + feature, by_k, mask=inside[:, None])
    tl.store(grad_qkv + at * (3 * E) + 2 * E + feature, by_v, mask=inside[:, None])


class KernelAttention(Function):
    """qkv [R,B,H,W,3E], s [R,E], r [R,k,k,E] → [R,B,H,W,E]."""

    @staticmethod
    def forward(ctx: Any, qkv: Tensor, query: Tensor, relative: Tensor, heads: int) -> Tensor:
        runs, problems, height, width, features = qkv.shape
        features //= 3
        qkv = qkv.contiguous()
        out = qkv.new_empty(*qkv.shape[:-1], features)
        lse = torch.empty_like(out, dtype=torch.float32)
        grid = (runs * problems, triton.cdiv(height * width, _TILE))
        _forward[grid](
            qkv, query, relative, out, lse, height, width, problems,
            TILE=_TILE, E=features, HEADS=heads, K=relative.shape[1], num_warps=_WARPS,
        )  # fmt: skip
        ctx.save_for_backward(qkv, query, relative, out, lse)
        ctx.heads = heads
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        qkv, query, relative, out, lse = ctx.saved_tensors
        runs, problems, height, width, features = out.shape
        kernel = relative.shape[1]
        grid = (runs * problems, triton.cdiv(height * width, _TILE))
        by_qkv = torch.empty_like(qkv)
        by_relative = relative.new_empty(runs, problems * grid[1], kernel * kernel * features)
        _backward[grid](
            qkv, query, relative, out, lse, gradients[0].contiguous(), by_qkv, by_relative, height, width, problems,
            TILE=_TILE, E=features, HEADS=ctx.heads, K=kernel, num_warps=_WARPS,
        )  # fmt: skip
        by_query = by_qkv[..., :features].sum((1, 2, 3), dtype=query.dtype)
        return by_qkv, by_query, by_relative.sum(1).view_as(relative), None
