"""FFN_L (Eq. 1): its definition, and one function of its own gradient for a CPU."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from gridsum.ops.dropout.plain import Dropout
from gridsum.ops.forms import form, reduced_products
from gridsum.ops.grids import Drop

# Lines of cells in products of less precision come in so many.
_LINES = 512


def feed_forward(x: Tensor, layers: Iterable[Any], drops: Sequence[Drop] | None, reduced: bool) -> Tensor:
    """`layers` with SiLU between them, dropout (in training, where there is any) before each.

    If `reduced`, products may be in the precision that training asks for.
    """
    if form() == "cpu" and torch.is_grad_enabled():
        parameters = (part for layer in layers for part in (layer.weight, layer.bias))
        kind = reduced_products(x) if reduced else x.dtype
        return FusedFeedForward.apply(x, cast("Sequence[Dropout] | None", drops), kind, *parameters)
    for index, layer in enumerate(layers):
        x = F.silu(x) if index else x
        x = layer(drops[index](x) if drops else x)
    return x


class FusedFeedForward(Function):
    """FFN_L from weight and bias (if any) of each layer in turn; products and hidden layers in `kind`.

    Dropout costs the gradient nothing: features that are dropped from a hidden layer are set to where SiLU is 0, and
    the factor of the others goes into the products.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, dropouts: Sequence[Dropout] | None, kind: torch.dtype, *parameters: Tensor | None
    ) -> Tensor:
        ctx.factor = dropouts[0].factor if dropouts else 1.0
        kept = dropouts[0].kept(x) if dropouts else None
        values, inputs, sigmoids = _lines(x if kept is None else x * kept, kind), [], []
        weights = [cast("Tensor", weight).to(kind) for weight in parameters[::2]]
        for index, (weight, bias) in enumerate(zip(weights, parameters[1::2], strict=True)):
            if index:
                if dropouts:
                    dropouts[index].exclude(values)
                sigmoid = values.sigmoid()
                sigmoids.append(sigmoid)
                values *= sigmoid
            inputs.append(values)
            values = _product(values, weight, ctx.factor, bias if bias is None else bias.to(kind))
        ctx.save_for_backward(kept, *inputs, *sigmoids, *weights)
        return _cells(values, x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        kept, *saved = ctx.saved_tensors
        depth = (len(saved) + 1) // 3
        inputs, sigmoids, weights = saved[:depth], saved[depth : 2 * depth - 1], saved[2 * depth - 1 :]
        given, by_parameters = gradients[0], []
        gradient = _lines(given, weights[0].dtype)
        for index in reversed(range(depth)):
            by_weight = _product(inputs[index].transpose(1, 2), gradient, ctx.factor).to(given.dtype)
            has_bias = ctx.needs_input_grad[2 * index + 4]
            by_parameters[:0] = by_weight, gradient.sum(1, dtype=given.dtype) if has_bias else None
            gradient = _product(gradient, weights[index].transpose(1, 2), ctx.factor)
            if index:
                # SiLU is y = xσ, and its slope σ + y (1 − σ): what lies σ of the way from y to 1
                gradient *= torch.lerp(inputs[index], inputs[index].new_ones(()), sigmoids[index - 1])
        by_x = _cells(gradient, given)
        return by_x if kept is None else by_x.mul_(kept), None, None, *by_parameters


def _lines(x: Tensor, kind: torch.dtype) -> Tensor:
    """x [R,...,F] as lines [R,n,F] of another dtype, some zero ones after its own.

    oneDNN, which computes products of less precision, takes milliseconds to prepare for a number of lines that it has
    not met before. Samples that leave would show it new ones at every step.
    """
    lines = x.flatten(1, -2)
    if kind == x.dtype:
        return lines
    count = lines.shape[1]
    result = x.new_empty(len(x), count + -count % _LINES, x.shape[-1], dtype=kind)
    result[:, :count] = lines
    result[:, count:] = 0
    return result


def _cells(lines: Tensor, like: Tensor) -> Tensor:
    """What `_lines` made of cells, as cells again, of the shape and dtype of `like` but for the features."""
    shape = like.shape[:-1]
    return lines[:, : math.prod(shape[1:])].to(like.dtype).view(*shape, lines.shape[-1])


def _product(x: Tensor, matrix: Tensor, factor: float, bias: Tensor | None = None) -> Tensor:
    """factor · x [R,n,in] times matrix [R,in,out], plus bias [R,out]."""
    start = x.new_empty(()) if bias is None else bias[:, None]
    if len(x) == 1:
        return torch.addmm(start.view(1, -1), x[0], matrix[0], beta=bias is not None, alpha=factor)[None]
    return torch.baddbmm(start, x, matrix, beta=bias is not None, alpha=factor)
