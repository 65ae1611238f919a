"""Local self-attention on the grid (the paper's Eq. 6 to 8)."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F

from gridsum.model.layers import RunModule, apply_matrix, is_power_of_two, triton_serves
from gridsum.model.rollout import GridSize

# How many features of problems are computed together on a CPU: enough for two threads, few enough for their caches.
_PART = 45_000


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

    def project(self, grid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Q (with s added), K and V, each [R,B,H,W,E]."""
        q, k, v = apply_matrix(grid, self.matrix()).chunk(3, -1)
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
        qkv = apply_matrix(grid, self.matrix() if matrix is None else matrix)
        if triton_serves(grid) and is_power_of_two(grid.shape[-1]):
            from gridsum.model.kernels.attention import KernelAttention

            query = self.relative.new_zeros(self.relative.shape[0], self.relative.shape[-1])
            query = query if self.query is None else self.query
            return KernelAttention.apply(qkv, query, self.relative, self.heads, size and size.own)
        return FusedAttention.apply(qkv, self.query, self.relative, self.heads)

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
    margin, (height, width) = kernel // 2, x.shape[2:4]
    padded = F.pad(x, (0, 0, margin, margin, margin, margin))
    return [padded[:, :, a : a + height, b : b + width] for a in range(kernel) for b in range(kernel)]


class FusedAttention(Function):
    """gather(attention_weights(Q + s, K, r), V) for eager torch, Q, K and V side by side in `product` [R,B,H,W,3E].

    A few problems are taken at a time, so that the k² terms of their cells stay in the cache. The gradient computes
    the weights again, by what each softmax shifts its scores: that costs less than to keep them.
    """

    @staticmethod
    def forward(ctx: Any, product: Tensor, query: Tensor | None, relative: Tensor, heads: int) -> Tensor:
        parts = _Parts(product, query, relative, heads)
        result = product.new_empty(parts.cells)
        shifts = product.new_empty(*parts.cells[:-1], 1)
        terms, scores = parts.buffer(), parts.buffer(per_head=True)
        for part in parts:
            q, k, v = (x[:, part] for x in parts.projections)
            term, weights = terms[:, : q.shape[1]], scores[:, : q.shape[1]]
            _dot(torch.add(parts.around(k), parts.encoding, out=term), q[:, :, None, None], weights)
            highest = weights.amax((2, 3))
            weights.sub_(highest[:, :, None, None]).exp_()
            divisor = weights.sum((2, 3))
            torch.mul(weights, parts.around(v), out=term)
            torch.sum(term, (2, 3), out=result[:, part]).div_(divisor)
            torch.neg(highest.add_(divisor.log_()), out=shifts[:, part])
        ctx.save_for_backward(product, query, relative, result, shifts)
        ctx.heads = heads
        return result.flatten(-2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        product, query, relative, result, shifts = ctx.saved_tensors
        parts = _Parts(product, query, relative, ctx.heads)
        gradient = gradients[0].unflatten(-1, parts.cells[-2:])
        by_product, by_relative = torch.empty_like(product), torch.zeros_like(relative)
        by_projections = [x.unflatten(-1, parts.cells[-2:]) for x in by_product.chunk(3, -1)]
        terms, scores, by_scores = parts.buffer(), parts.buffer(per_head=True), parts.buffer(per_head=True)
        # ∂softmax: A (∂A − Σ A ∂A), where ∂A is g·V and so Σ A ∂A is g·(Σ A V), the result
        falls = _dot(gradient, result, torch.empty_like(shifts)).neg_()[:, :, None, None]
        for part in parts:
            q, k, v = (x[:, part] for x in parts.projections)
            g, count = gradient[:, part], q.shape[1]
            term, weights, by_score = (x[:, :count] for x in (terms, scores, by_scores))
            by_q, by_k, by_v = (x[:, part] for x in by_projections)
            spread_q, spread_g = q[:, :, None, None], g[:, :, None, None]
            torch.add(parts.around(k), parts.encoding, out=term)
            _dot(term, spread_q, weights, shifts[:, part, None, None]).exp_()
            _dot(parts.around(v), spread_g, by_score, falls[:, part]).mul_(weights)
            torch.sum(term.mul_(by_score), (2, 3), out=by_q)
            parts.give_back(weights, g, by_v)
            parts.give_back(torch.mul(by_score, spread_q, out=term), None, by_k)
            by_relative += term.sum(1).sum((3, 4)).flatten(-2)
        by_query = None if query is None else by_projections[0].flatten(-2).sum((1, 2, 3))
        return by_product, by_query, by_relative, None


class _Parts:
    """The problems of one product, a few at a time; their cells are [R,b,H,W,h,d], neighbourhoods [R,b,k,k,H,W,h,d]."""

    def __init__(self, product: Tensor, query: Tensor | None, relative: Tensor, heads: int) -> None:
        runs, problems, height, width, features = product.shape
        self.kernel = relative.shape[1]
        head = (heads, features // 3 // heads)
        self.cells = (runs, problems, height, width, *head)
        self.size = math.ceil(problems / max(1, math.ceil(math.prod(self.cells) / _PART)))
        q, k, v = product.chunk(3, -1)
        q = q.contiguous() if query is None else q + query[:, None, None, None]
        self.projections = [x.unflatten(-1, head) for x in (q, k, v)]
        # repeated for a row's cells, as long stretches of memory are faster to add
        encoding = relative.view(runs, 1, self.kernel, self.kernel, 1, 1, *head)
        self.encoding = encoding.repeat_interleave(width, 5)
        margin = self.kernel // 2
        self.padded = product.new_zeros(runs, self.size, height + 2 * margin, width + 2 * margin, *head)
        self.sums = torch.empty_like(self.padded)
        self.shares: dict[int, list[Tensor]] = {}

    def __iter__(self) -> Iterator[slice]:
        return (slice(low, low + self.size) for low in range(0, self.cells[1], self.size))

    def buffer(self, per_head: bool = False) -> Tensor:
        runs, _, height, width, heads, features = self.cells
        shape = (runs, self.size, self.kernel, self.kernel, height, width, heads, 1 if per_head else features)
        return self.padded.new_empty(shape)

    def around(self, x: Tensor) -> Tensor:
        """x as seen from every cell, zero outside the grid; a view, until the next call."""
        count = x.shape[1]
        self._inside(self.padded)[:, :count].copy_(x)
        runs, problems, rows, *others = self.padded.stride()
        shape = (x.shape[0], count, self.kernel, self.kernel, *x.shape[2:])
        return self.padded.as_strided(shape, (runs, problems, rows, others[0], rows, *others))

    def give_back(self, terms: Tensor, factor: Tensor | None, result: Tensor) -> None:
        """The neighbours' terms (times a factor of the cell) summed where they came from: the gradient of `around`."""
        count = terms.shape[1]
        self.sums[:, :count].zero_()
        for share, term in zip(self._shares(count), terms.flatten(2, 3).unbind(2), strict=True):
            if factor is None:
                share.add_(term)
            else:
                share.addcmul_(term, factor)
        result.copy_(self._inside(self.sums)[:, :count])

    def _shares(self, count: int) -> list[Tensor]:
        if count not in self.shares:
            height, width = self.cells[2:4]
            places = [(a, b) for a in range(self.kernel) for b in range(self.kernel)]
            self.shares[count] = [self.sums[:, :count, a : a + height, b : b + width] for a, b in places]
        return self.shares[count]

    def _inside(self, padded: Tensor) -> Tensor:
        margin, (height, width) = self.kernel // 2, self.cells[2:4]
        return padded[:, :, margin : margin + height, margin : margin + width]


def _dot(a: Tensor, b: Tensor, result: Tensor, plus: Tensor | None = None) -> Tensor:
    """The products of a and b [...,h,d], head by head, into result [...,h,1]; plus a term of that shape."""
    if result.shape != a.shape:
        torch.sum(a * b, -1, keepdim=True, out=result)
        return result if plus is None else result.add_(plus)
    return torch.mul(a, b, out=result) if plus is None else torch.addcmul(plus, a, b, out=result)
