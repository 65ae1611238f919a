"""Local self-attention on the grid (the paper's Eq. 6 to 8)."""

import math
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F

from gridsum.model.layers import RunModule, apply_matrix, is_power_of_two, triton_serves
from gridsum.model.rollout import GridSize


class LocalAttention(RunModule):
    """Every cell attends to the k × k cells around it, with weights softmax((Q + s)·(K + r)).

    Queries, keys and values are projected in `groups` parts without bias, then split into `heads`. Outside the
    grid keys and values are zero and those places do take part, with K + r = r: so a cell can know the border.
    With groups = heads and no s this is stand-alone self-attention (SASA).
    """

    decayed = ("projection",)

    def __init__(self, runs: int, width: int, groups: int, heads: int, kernel: int, query_encoding: bool) -> None:
        super().__init__()
        if width % groups or width % heads:
            raise ValueError(f"{groups} groups and {heads} heads must both divide the width, {width}")
        if kernel % 2 == 0:
            raise ValueError(f"kernel must be odd, so that a cell is the centre of its neighbourhood, not {kernel}")
        self.heads, self.kernel = heads, kernel
        part = width // groups
        self.projection = nn.Parameter(torch.empty(runs, 3, groups, part, part))
        self.relative = nn.Parameter(torch.empty(runs, kernel, kernel, width))
        self.query = nn.Parameter(torch.empty(runs, width)) if query_encoding else None

    def draw(self, run: int, generator: Generator) -> None:
        width = self.relative.shape[-1]
        self.projection[run].normal_(0, math.sqrt(2 / width), generator=generator)
        self.relative[run].normal_(generator=generator)
        if self.query is not None:
            self.query[run].normal_(generator=generator)

    def project(self, grid: Tensor, matrix: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Q (with s added), K and V, each [R,B,H,W,E]."""
        q, k, v = apply_matrix(grid, self.matrix() if matrix is None else matrix).chunk(3, -1)
        return (q if self.query is None else q + self.query[:, None, None, None]), k, v

    def matrix(self) -> Tensor:
        """The groups' projections as one matrix [R,E,3E], zero between groups: one product beats g small ones."""
        runs, _, groups, part, _ = self.projection.shape
        diagonal = torch.eye(groups, device=self.projection.device, dtype=self.projection.dtype)
        blocks = self.projection[..., None, :] * diagonal[:, None, :, None]
        return blocks.permute(0, 2, 3, 1, 4, 5).reshape(runs, groups * part, 3 * groups * part)

    def forward(self, grid: Tensor, size: GridSize | None = None, matrix: Tensor | None = None) -> Tensor:
        """`matrix`, from the method of that name, spares making it at every step."""
        runs, *_, width = self.relative.shape
        if grid.dim() != 5 or grid.shape[0] != runs or grid.shape[-1] != width:
            raise ValueError(
                f"a grid is [runs, problems, rows, columns, features], here [{runs}, ·, ·, ·, {width}], "
                f"not {list(grid.shape)}; one model is a fleet of one: grid[None]"
            )
        if triton_serves(grid) and is_power_of_two(grid.shape[-1]):
            from gridsum.model.kernels.attention import KernelAttention

            query = self.relative.new_zeros(self.relative.shape[0], self.relative.shape[-1])
            query = query if self.query is None else self.query
            qkv = apply_matrix(grid, self.matrix() if matrix is None else matrix)
            return KernelAttention.apply(qkv, query, self.relative, self.heads, size and size.own)
        return FusedAttention.apply(*self.project(grid, matrix), self.relative, self.heads)

    def observe(self, grid: Tensor) -> tuple[Tensor, Tensor]:
        """What forward returns, and the attention [k²,R,B,H,W,h] that each cell pays to its neighbours."""
        q, k, v = self.project(grid)
        weights = attention_weights(q, k, self.relative, self.heads)
        return gather(weights, v), weights


def attention_weights(q: Tensor, k: Tensor, relative: Tensor, heads: int) -> Tensor:
    """softmax(q·(k + r)) over the neighbourhood, [k²,R,B,H,W,h]; neighbours come row by row."""
    encoding = relative.flatten(1, 2)[:, :, None, None, None]
    scores = [
        (q * (neighbour + encoding[:, index])).unflatten(-1, (heads, -1)).sum(-1)
        for index, neighbour in enumerate(neighbours(k, relative.shape[1]))
    ]
    return torch.stack(scores).softmax(0)


def gather(weights: Tensor, v: Tensor) -> Tensor:
    """Σ over the neighbourhood of A·V, heads joined: [R,B,H,W,E]."""
    heads = weights.shape[-1]
    parts = [
        weight[..., None] * neighbour.unflatten(-1, (heads, -1))
        for weight, neighbour in zip(weights.unbind(0), neighbours(v, math.isqrt(len(weights))), strict=True)
    ]
    return torch.stack(parts).sum(0).flatten(-2)


def neighbours(x: Tensor, kernel: int) -> list[Tensor]:
    """x [R,B,H,W,E] as seen from every cell: one tensor of that shape a neighbour, zero outside the grid."""
    return _windows(_pad(x, kernel), kernel)


def _pad(x: Tensor, kernel: int) -> Tensor:
    margin = kernel // 2
    return F.pad(x, (0, 0, margin, margin, margin, margin))


def _windows(padded: Tensor, kernel: int) -> list[Tensor]:
    height, width = (side - kernel + 1 for side in padded.shape[2:4])
    return [padded[:, :, a : a + height, b : b + width] for a in range(kernel) for b in range(kernel)]


class FusedAttention(Function):
    """gather(attention_weights(q, k, r), v) for eager torch: no term is stored twice, gradients are accumulated
    in place."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, relative: Tensor, heads: int) -> Tensor:
        kernel = relative.shape[1]
        encoding = relative.flatten(1, 2)[:, :, None, None, None]
        values = _pad(v, kernel)
        scores = q.new_empty(kernel * kernel, *q.shape[:-1], heads)
        # The gradient needs every K + r again; without one, a single buffer does.
        kept = kernel * kernel if any(ctx.needs_input_grad) else 1
        encoded = q.new_empty(kept, *q.shape)
        for index, key in enumerate(_windows(_pad(k, kernel), kernel)):
            term = torch.add(key, encoding[:, index], out=encoded[index % kept])
            _dot(q, term, scores[index])
        weights = scores.softmax(0)
        result = torch.zeros_like(q)
        for weight, value in zip(weights, _windows(values, kernel), strict=True):
            result.addcmul_(_spread(weight, q), value)
        ctx.save_for_backward(q, encoded, values, weights, result)
        ctx.kernel = kernel
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        q, encoded, values, weights, result = ctx.saved_tensors
        (gradient,) = gradients
        kernel, margin = ctx.kernel, ctx.kernel // 2
        by_value, by_key = torch.zeros_like(values), torch.zeros_like(values)
        by_query, by_encoding = torch.zeros_like(q), []
        score, term = torch.empty_like(weights[0]), torch.empty_like(q)
        parts = zip(weights, encoded, *(_windows(x, kernel) for x in (values, by_value, by_key)), strict=True)
        for weight, key, value, by_value_there, by_key_there in parts:
            by_value_there.addcmul_(_spread(weight, q), gradient)
            # ∂softmax: A (∂A − Σ A ∂A), where ∂A is g·V and so Σ A ∂A is g·(Σ A V), the result
            _dot(gradient, torch.sub(value, result, out=term), score)
            by_score = _spread(score.mul_(weight), q)
            by_query.addcmul_(by_score, key)
            by_key_there.add_(torch.mul(by_score, q, out=term))
            by_encoding.append(term.sum((1, 2, 3)))
        inner = (slice(None), slice(None), slice(margin, margin + q.shape[2]), slice(margin, margin + q.shape[3]))
        by_relative = torch.stack(by_encoding, 1).unflatten(1, (kernel, kernel))
        return by_query, by_key[inner], by_value[inner], by_relative, None


def _dot(a: Tensor, b: Tensor, heads: Tensor) -> None:
    """The product of a and b [...,E], head by head, into heads [...,h]."""
    if a.shape == heads.shape:
        torch.mul(a, b, out=heads)
    else:
        torch.sum((a * b).unflatten(-1, (heads.shape[-1], -1)), -1, out=heads)


def _spread(heads: Tensor, like: Tensor) -> Tensor:
    """heads [...,h] repeated over the features of each head: [...,E]."""
    return heads if heads.shape == like.shape else heads.repeat_interleave(like.shape[-1] // heads.shape[-1], -1)
