"""The attention of the network of bits (`gridsum.model.rule.Looking`), for cells in lines, with its own gradient."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F


class PackedLooking(Function):
    """`Looking` of cells in lines: queries [R,n,E], what cells show [R,n,2E], r [R,K,E] → [R,n,E].

    `beside` are the places [K,R,n] of the neighbours, `seen_by` those of the cells whose neighbour a cell is: with
    these the gradient is collected as the neighbours are, where torch would scatter it.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, shown: Tensor, relative: Tensor, beside: Tensor, seen_by: Tensor) -> Tensor:
        # keys and values are lines of their own, one after the other, so that all that follows lies close together
        lines = F.pad(shown, (0, 0, 0, 1)).view(-1, query.shape[-1])
        both = torch.stack((2 * beside, 2 * beside + 1))
        keys, values = lines.index_select(0, both.flatten()).view(*both.shape, -1)
        keys += relative.transpose(0, 1)[:, :, None]
        weights = keys * query
        weights.sub_(weights.amax(0)).exp_()
        weights.mul_(weights.sum(0).reciprocal_())
        result = _dot(weights, values)
        ctx.save_for_backward(query, keys, values, weights, result, seen_by)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, keys, values, weights, result, seen_by = ctx.saved_tensors
        places, runs, length, width = weights.shape
        given = weights.new_empty(2, places, runs, length + 1, width)
        given[..., -1, :] = 0
        by_key, by_value = given[..., :-1, :]
        torch.mul(weights, gradients[0], out=by_value)
        # ∂softmax: A (∂A − Σ A ∂A), where ∂A is g·V and so Σ A ∂A is g·(Σ A V), the result
        by_score = (values - result).mul_(by_value)
        torch.mul(by_score, query, out=by_key)
        by_relative = by_key.sum(2).transpose(0, 1)
        by_query = _dot(by_score, keys)
        size = runs * (length + 1)
        block = torch.arange(2 * places, device=seen_by.device).view(2, places, 1, 1) * size
        collected = given.view(-1, width).index_select(0, (seen_by + block).flatten())
        by_shown = collected.view(2, places, runs, length, width).sum(1)
        return by_query, torch.cat(by_shown.unbind(0), -1), by_relative, None, None


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """Σ a b over the neighbours, which come first: without a tensor of all products."""
    result = a[0] * b[0]
    for one, other in zip(a[1:], b[1:], strict=True):
        result.addcmul_(one, other)
    return result
