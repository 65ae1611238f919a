"""Local attention (Eq. 6 to 8) as one product and one function of its own gradient."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from gridsum.model.paper import LocalAttention

# How many features of problems are computed together on a CPU: enough for two threads, few enough for their caches.
_PART = 40_000


def block_matrix(attention: LocalAttention) -> Tensor:
    """The groups' projections as one matrix [R,E,3E], zero between groups: one product beats g small ones."""
    projection = attention.projection
    runs, _, groups, part, _ = projection.shape
    diagonal = torch.eye(groups, device=projection.device, dtype=projection.dtype)
    blocks = projection[..., None, :] * diagonal[:, None, :, None]
    return blocks.permute(0, 2, 3, 1, 4, 5).reshape(runs, groups * part, 3 * groups * part)


class FusedAttention(Function):
    """gather(attention_weights(Q + s, K, r), V) for eager torch, Q, K and V side by side in `product` [R,B,H,W,3E].

    A few problems are taken at a time, so that the k² terms of their cells stay in the cache. The gradient computes
    the weights again, by what each softmax shifts its scores: that costs less than to keep them.
    """

    @staticmethod
    def forward(ctx: Any, product: Tensor, query: Tensor | None, relative: Tensor, heads: int) -> Tensor:
        q, k, v = _heads(product, query, heads)
        encoding = _encoding(relative, q)
        result, shifts = torch.empty_like(q), q.new_empty(*q.shape[:-1], 1)
        for part, memory in _parts(q, relative.shape[1]):
            terms = memory.terms
            # where a head has one feature, its weight takes the place of its term
            weights = terms if terms.shape == memory.scores.shape else memory.scores
            torch.add(memory.around(k[:, part]), encoding, out=terms)
            _dot(terms, q[:, part, None, None], weights)
            highest = weights.amax((2, 3))
            weights.sub_(highest[:, :, None, None]).exp_()
            divisor = weights.sum((2, 3))
            torch.mul(weights, memory.around(v[:, part]), out=terms)
            torch.sum(terms, (2, 3), out=result[:, part]).div_(divisor)
            torch.neg(highest.add_(divisor.log_()), out=shifts[:, part])
        ctx.save_for_backward(product, query, relative, result, shifts)
        return result.flatten(-2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        product, query, relative, result, shifts = ctx.saved_tensors
        heads = result.shape[-2]
        q, k, v = _heads(product, query, heads)
        encoding = _encoding(relative, q)
        by_product, by_relative = torch.empty_like(product), torch.zeros_like(relative)
        by_q, by_k, by_v = _heads(by_product, None, heads)
        gradient = gradients[0].unflatten(-1, q.shape[-2:])
        # ∂softmax: A (∂A − Σ A ∂A), where ∂A is g·V and so Σ A ∂A is g·(Σ A V), the result
        falls = _dot(gradient, result, torch.empty_like(shifts)).neg_()[:, :, None, None]
        shifts = shifts[:, :, None, None]
        for part, memory in _parts(q, relative.shape[1]):
            terms, weights, by_score = memory.terms, memory.scores, memory.by_scores
            g, spread_q = gradient[:, part], q[:, part, None, None]
            torch.add(memory.around(k[:, part]), encoding, out=terms)
            _dot(terms, spread_q, weights, shifts[:, part]).exp_()
            _dot(memory.around(v[:, part]), g[:, :, None, None], by_score, falls[:, part]).mul_(weights)
            torch.sum(terms.mul_(by_score), (2, 3), out=by_q[:, part])
            memory.give_back(memory.each_score, g, by_v[:, part])
            torch.mul(by_score, spread_q, out=terms)
            memory.give_back(memory.each_term, None, by_k[:, part])
            cells = terms.flatten(-2).flatten(4, 5)
            # summed as a product, which is faster
            by_relative += torch.matmul(cells.new_ones(1, cells.shape[-2]), cells).squeeze(-2).sum(1)
        by_query = None if query is None else by_q.flatten(-2).sum((1, 2, 3))
        return by_product, by_query, by_relative, None


def _heads(product: Tensor, query: Tensor | None, heads: int) -> list[Tensor]:
    """Q + s, K and V, each [R,B,H,W,h,d]."""
    q, k, v = product.chunk(3, -1)
    q = q if query is None else q + query[:, None, None, None]
    return [x.unflatten(-1, (heads, -1)) for x in (q, k, v)]


def _encoding(relative: Tensor, q: Tensor) -> Tensor:
    """r [R,1,k,k,1,W,h,d], repeated for a row's cells: long stretches of memory are faster to add."""
    columns = relative[:, None, :, :, None, None].expand(-1, -1, -1, -1, -1, q.shape[3], -1)
    return columns.contiguous().unflatten(-1, q.shape[-2:])


def _parts(q: Tensor, kernel: int) -> Iterator[tuple[slice, "_Memory"]]:
    """The problems of q [R,B,H,W,h,d], _PART features or more at a time, and the memory for each part."""
    problems = q.shape[1]
    size = max(1, math.ceil(problems / max(1, q.numel() // _PART)))
    memory = _Memory.of(q[:, :size], kernel)
    for low in range(0, problems, size):
        count = min(size, problems - low)
        yield slice(low, low + count), memory if count == size else memory.of_first(count)


class _Memory:
    """Memory for the neighbourhoods of some problems' cells: [R,b,k,k,H,W,h,d] (terms) or [...,h,1] (scores)."""

    def __init__(self, terms: Tensor, scores: Tensor, by_scores: Tensor, padded: Tensor, sums: Tensor) -> None:
        self.terms, self.scores, self.by_scores, self.padded, self.sums = terms, scores, by_scores, padded, sums
        kernel, (height, width) = terms.shape[2], terms.shape[4:6]
        self.each_term, self.each_score = (x.flatten(2, 3).unbind(2) for x in (terms, scores))
        margin = kernel // 2
        inside = (slice(None), slice(None), slice(margin, margin + height), slice(margin, margin + width))
        self.inside, self.sums_inside = padded[inside], sums[inside]
        by_run, by_problem, by_row, by_column, *others = padded.stride()
        self.neighbours = padded.as_strided(
            terms.shape, (by_run, by_problem, by_row, by_column, by_row, by_column, *others)
        )
        places = [(a, b) for a in range(kernel) for b in range(kernel)]
        self.shares = [sums[:, :, a : a + height, b : b + width] for a, b in places]

    @classmethod
    def of(cls, like: Tensor, kernel: int) -> "_Memory":
        """For as many problems as `like` [R,b,H,W,h,d] has."""
        runs, problems, height, width, heads, features = like.shape
        outer = (runs, problems, kernel, kernel, height, width, heads)
        padded = like.new_zeros(runs, problems, height + kernel - 1, width + kernel - 1, heads, features)
        terms, scores, by_scores = (like.new_empty(*outer, last) for last in (features, 1, 1))
        return cls(terms, scores, by_scores, padded, torch.empty_like(padded))

    def of_first(self, problems: int) -> "_Memory":
        """The part of it that serves the first problems."""
        whole = (self.terms, self.scores, self.by_scores, self.padded, self.sums)
        return _Memory(*(x[:, :problems] for x in whole))

    def around(self, x: Tensor) -> Tensor:
        """x as seen from every cell, zero outside the grid; until the next call."""
        self.inside.copy_(x)
        return self.neighbours

    def give_back(self, terms: Sequence[Tensor], factor: Tensor | None, result: Tensor) -> None:
        """The neighbours' terms (times a factor of the cell) summed where they came from: the gradient of `around`."""
        self.sums.zero_()
        for share, term in zip(self.shares, terms, strict=True):
            if factor is None:
                share.add_(term)
            else:
                share.addcmul_(term, factor)
        result.copy_(self.sums_inside)


def _dot(a: Tensor, b: Tensor, result: Tensor, plus: Tensor | None = None) -> Tensor:
    """The products of a and b [...,h,d], head by head, into result [...,h,1]; plus a term of that shape."""
    if result.shape != a.shape:
        torch.sum(a * b, -1, keepdim=True, out=result)
        return result if plus is None else result.add_(plus)
    return torch.mul(a, b, out=result) if plus is None else torch.addcmul(plus, a, b, out=result)
