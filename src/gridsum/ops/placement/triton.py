"""Where symbols end on the grid: the backward recurrence of `gridsum.ops.placement.cpu` by kernels.

A program has a sample: the cells of its grid live in registers while time runs back over its symbols; the gradient
runs the other way, from the cells each symbol ended in to the actions that brought it there.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd import Function


@triton.jit
def _move(x, rows, columns, DOWN: tl.constexpr, LEFT: tl.constexpr, HP: tl.constexpr, WP: tl.constexpr):
    """x [HP,WP] moved by DOWN rows and LEFT columns, zero where nothing comes from."""
    if DOWN != 0:
        source = rows - DOWN
        index = tl.broadcast_to(tl.minimum(tl.maximum(source, 0), HP - 1)[:, None], (HP, WP))
        x = tl.where((source >= 0)[:, None] & (source < HP)[:, None], tl.gather(x, index, 0), 0.0)
    if LEFT != 0:
        source = columns + LEFT
        index = tl.broadcast_to(tl.minimum(tl.maximum(source, 0), WP - 1)[None, :], (HP, WP))
        x = tl.where((source >= 0)[None, :] & (source < WP)[None, :], tl.gather(x, index, 1), 0.0)
    return x


@triton.jit
def _forward(actions, ends, falls, S, H, W, HP: tl.constexpr, WP: tl.constexpr):
    sample = tl.program_id(0).to(tl.int64)
    rows, columns = tl.arange(0, HP), tl.arange(0, WP)
    cell = rows[:, None] * W + columns[None, :]
    inside = (rows < H)[:, None] & (columns < W)[None, :]
    rightmost = tl.broadcast_to((columns == W - 1)[None, :], (HP, WP))
    end = tl.where((rows == 0)[:, None] & rightmost, 1.0, 0.0)
    fall = end  # stands in the rightmost column
    for back in range(S):
        t = S - 1 - back
        tl.store(ends + (sample * S + t) * H * W + cell, end, mask=inside)
        tl.store(falls + (sample * S + t) * H + rows, tl.sum(fall, 1), mask=rows < H)
        action = actions + (sample * S + t) * 3
        tlu, nlp, nop = tl.load(action), tl.load(action + 1), tl.load(action + 2)
        lower = nlp * _move(fall, rows, columns, 1, 0, HP, WP)
        end = tlu * _move(end, rows, columns, 0, 1, HP, WP) + nop * end + lower
        fall = (1 - nlp) * fall + lower


@triton.jit
def _backward(actions, ends, falls, grad_ends, grad_actions, S, H, W, HP: tl.constexpr, WP: tl.constexpr):
    sample = tl.program_id(0).to(tl.int64)
    rows, columns = tl.arange(0, HP), tl.arange(0, WP)
    cell = rows[:, None] * W + columns[None, :]
    inside = (rows < H)[:, None] & (columns < W)[None, :]
    rightmost = tl.broadcast_to((columns == W - 1)[None, :], (HP, WP))
    by_end = tl.zeros((HP, WP), tl.float32)
    by_fall = tl.zeros((HP, WP), tl.float32)
    for t in range(S):
        action = actions + (sample * S + t) * 3
        tlu, nlp, nop = tl.load(action), tl.load(action + 1), tl.load(action + 2)
        end = tl.load(ends + (sample * S + t) * H * W + cell, mask=inside, other=0.0)
        fall = tl.load(falls + (sample * S + t) * H + rows, mask=rows < H, other=0.0)[:, None]
        fall = tl.where(rightmost, tl.broadcast_to(fall, (HP, WP)), 0.0)
        lowered = _move(fall, rows, columns, 1, 0, HP, WP)
        result = grad_actions + (sample * S + t) * 3
        tl.store(result, tl.sum(by_end * _move(end, rows, columns, 0, 1, HP, WP)))
        tl.store(result + 1, tl.sum(tl.where(rightmost, by_end + by_fall, 0.0) * lowered - by_fall * fall))
        tl.store(result + 2, tl.sum(by_end * end))
        corner = tl.where(rightmost, by_end, 0.0) + by_fall
        by_fall = (1 - nlp) * by_fall + nlp * _move(corner, rows, columns, -1, 0, HP, WP)
        by_end = tlu * _move(by_end, rows, columns, 0, -1, HP, WP) + nop * by_end
        by_end += tl.load(grad_ends + (sample * S + t) * H * W + cell, mask=inside, other=0.0)
        by_end = tl.where(inside, by_end, 0.0)
        by_fall = tl.where(inside, by_fall, 0.0)


class KernelEnds(Function):
    """Actions [R,B,S,3] → the probability [R,B,S,H,W] of ending in each cell, for a vector written at each time."""

    @staticmethod
    def forward(ctx: Any, actions: Tensor, height: int, width: int) -> Tensor:
        runs, problems, length, _ = actions.shape
        actions = actions.contiguous()
        ends = actions.new_empty(runs, problems, length, height, width)
        falls = actions.new_empty(runs, problems, length, height)
        ctx.shape = {"HP": triton.next_power_of_2(height), "WP": triton.next_power_of_2(width)}
        _forward[(runs * problems,)](actions, ends, falls, length, height, width, **ctx.shape, num_warps=1)
        ctx.save_for_backward(actions, ends, falls)
        return ends

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        actions, ends, falls = ctx.saved_tensors
        runs, problems, length, height, width = ends.shape
        by_actions = torch.empty_like(actions)
        given = (actions, ends, falls, gradients[0].contiguous(), by_actions, length, height, width)
        _backward[(runs * problems,)](*given, **ctx.shape, num_warps=1)
        return by_actions, None, None
