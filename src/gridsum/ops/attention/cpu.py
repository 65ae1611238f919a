"""Local attention (Eq. 7) as one function of its own gradient."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

# How many features of problems each thread of a CPU computes together, k² terms of each: few enough for its cache.
_PART = 27_000
# Weights are powers of e where torch has MKL's exp. By torch's own functions those of 2 take two thirds of the time.
_BINARY = not torch.backends.mkl.is_available()
# Where the sum of exp(scores) lies between these, exp has lost nothing to the range of float32.
_LEAST, _MOST = 1e-20, 1e20


class FusedAttention(Function):
    """`plain.attend` of Q, K and V side by side in `product` [R,B,H,W,3E].

    A few problems are taken at a time, so that the k² terms of their cells stay in the cache. The gradient computes
    exp(score) again: that costs less than to keep it. A CPU shifts scores only where exp would leave its range without.
    """

    @staticmethod
    def forward(ctx: Any, product: Tensor, query: Tensor | None, relative: Tensor, heads: int) -> Tensor:
        q, k, v = _heads(product, query, heads)
        encoding = _encoding(relative, q)
        result, divisor = torch.empty_like(q), torch.empty_like(q[..., :1])
        # Only a CPU is asked for the range: inside a CUDA graph nothing can be, so a GPU shifts all scores.
        highest = None if q.device.type == "cpu" else torch.empty_like(divisor)
        q = _exponents(q)
        _gather(q, k, v, encoding, result, divisor, highest)
        if highest is None and not (divisor.min() > _LEAST and divisor.max() < _MOST):
            highest = torch.empty_like(divisor)
            _gather(q, k, v, encoding, result, divisor, highest)
        ctx.save_for_backward(product, query, relative, result.div_(divisor), divisor, highest)
        return result.flatten(-2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        product, query, relative, result, divisor, highest = ctx.saved_tensors
        heads = result.shape[-2]
        q, k, v = _heads(product, query, heads)
        encoding = _encoding(relative, q)
        by_product, by_relative = torch.empty_like(product), torch.zeros_like(relative)
        # what exp(score) is divided by to be a weight A goes into the gradient instead
        gradient = gradients[0].unflatten(-1, q.shape[-2:]) / divisor
        # ∂softmax: A (∂A − Σ A ∂A), where ∂A is g·V and so Σ A ∂A is g·(Σ A V), the result
        falls = _dot(gradient, result, torch.empty_like(divisor)).neg_()
        for memory, q_, exponent, k_, v_, g, fall, by_q, by_k, by_v, shift in _parts(
            encoding, q, _exponents(q), k, v, gradient, falls, *_heads(by_product, None, heads), highest
        ):
            terms, weights, by_scores = memory.terms, memory.weights, memory.by_scores
            torch.add(memory.around(k_), encoding, out=terms)
            _dot(terms, exponent, weights)
            if shift is not None:
                weights.sub_(shift)
            _dot(memory.around(v_), g, by_scores, fall).mul_(_exp_(weights))
            by_q.copy_(terms.mul_(by_scores).sum((0, 1)))
            memory.give_back(weights, g, by_v)
            terms = by_scores.mul_(q_) if by_scores.shape == terms.shape else torch.mul(by_scores, q_, out=terms)
            memory.give_back(terms, None, by_k)
            by_relative += terms.flatten(-2).flatten(3, 5).sum(3).movedim(2, 0)
        by_query = None if query is None else by_product[..., : query.shape[-1]].sum((1, 2, 3))
        return by_product, by_query, by_relative, None


def _gather(
    q: Tensor, k: Tensor, v: Tensor, encoding: Tensor, sums: Tensor, divisors: Tensor, highest: Tensor | None
) -> None:
    """Σ exp(score) V and Σ exp(score), into `sums` and `divisors`; of scores less the highest, if these are wanted."""
    for memory, q_, k_, v_, total, divisor, shift in _parts(encoding, q, k, v, sums, divisors, highest):
        terms = memory.terms
        # where a head has one feature, its weight takes the place of its term
        weights = terms if terms.shape == memory.weights.shape else memory.weights
        torch.add(memory.around(k_), encoding, out=terms)
        _dot(terms, q_, weights)
        if shift is not None:
            weights.sub_(torch.amax(weights, (0, 1), out=shift))
        torch.sum(_exp_(weights), (0, 1), out=divisor)
        torch.mul(weights, memory.around(v_), out=terms)
        torch.sum(terms, (0, 1), out=total)


def _exponents(q: Tensor) -> Tensor:
    """q, so that `_exp_` of its products is exp of those of q."""
    return q * math.log2(math.e) if _BINARY else q


def _exp_(scores: Tensor) -> Tensor:
    return scores.exp2_() if _BINARY else scores.exp_()


def _heads(product: Tensor, query: Tensor | None, heads: int) -> list[Tensor]:
    """Q + s, K and V, each [R,B,H,W,h,d]."""
    q, k, v = product.chunk(3, -1)
    q = q if query is None else q + query[:, None, None, None]
    return [x.unflatten(-1, (heads, -1)) for x in (q, k, v)]


def _encoding(relative: Tensor, q: Tensor) -> Tensor:
    """r [k,k,R,1,1,W,h,d], repeated for a row's cells: long stretches of memory are faster to add."""
    columns = relative.movedim(0, 2)[:, :, :, None, None, None].expand(-1, -1, -1, -1, -1, q.shape[3], -1)
    return columns.contiguous().unflatten(-1, q.shape[-2:])


def _parts(encoding: Tensor, q: Tensor, *others: Tensor | None) -> Iterator[tuple[Any, ...]]:
    """Memory, and q [R,B,H,W,h,d] and the others of a few problems, until all problems are done."""
    problems = q.shape[1]
    size = max(1, problems * _PART * torch.get_num_threads() // q.numel())
    starts = range(0, problems, size)
    memory = _Memory(q[:, :size], len(encoding))
    parts = ([None] * len(starts) if x is None else x.split(size, 1) for x in (q, *others))
    for start, *part in zip(starts, *parts, strict=True):
        if start + size > problems:
            memory = _Memory(q[:, start:], len(encoding))
        yield memory, *part


class _Memory:
    """Memory for the neighbourhoods of some problems' cells: [k,k,R,b,H,W,h,d] (terms) or [...,h,1] (of scores)."""

    def __init__(self, like: Tensor, kernel: int) -> None:
        runs, problems, height, width, *features = like.shape
        self.terms = like.new_empty(kernel, kernel, *like.shape)
        self.weights, self.by_scores = (like.new_empty(*self.terms.shape[:-1], 1) for _ in range(2))
        padded = like.new_zeros(runs, problems, height + kernel - 1, width + kernel - 1, *features)
        self.neighbours = padded.as_strided(self.terms.shape, (*padded.stride()[2:4], *padded.stride()))
        self.sums = torch.empty_like(padded)
        places = [(a, b) for a in range(kernel) for b in range(kernel)]
        self.shares = [self.sums[:, :, a : a + height, b : b + width] for a, b in places]
        self.inside = self.neighbours[kernel // 2, kernel // 2]

    def around(self, x: Tensor) -> Tensor:
        """x as seen from every cell, zero outside the grid; until the next call."""
        self.inside.copy_(x)
        return self.neighbours

    def give_back(self, terms: Tensor, factor: Tensor | None, result: Tensor) -> None:
        """The neighbours' terms (times a factor of the cell) summed where they came from: the gradient of `around`."""
        self.sums.zero_()
        for share, term in zip(self.shares, terms.flatten(0, 1).unbind(0), strict=True):
            if factor is None:
                share.add_(term)
            else:
                share.addcmul_(term, factor)
        result.copy_(self.shares[len(self.shares) // 2])


def _dot(a: Tensor, b: Tensor, result: Tensor, plus: Tensor | None = None) -> Tensor:
    """The products of a and b [...,h,d], head by head, into result [...,h,1]; plus a term of that shape."""
    if result.shape[-1] != b.shape[-1]:
        torch.sum(a * b, -1, keepdim=True, out=result)
        return result if plus is None else result.add_(plus)
    return torch.mul(a, b, out=result) if plus is None else torch.addcmul(plus, a, b, out=result)
