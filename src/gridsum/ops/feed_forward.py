"""FFN_L (Eq. 1): its definition, and one function of its own gradient for a CPU."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

from gridsum.ops.dropout.plain import Dropout
from gridsum.ops.forms import form
from gridsum.ops.grids import Drop


def feed_forward(x: Tensor, layers: Iterable[Any], drops: Sequence[Drop] | None) -> Tensor:
    """`layers` with SiLU between them, dropout (in training, where there is any) before each."""
    if form() == "cpu" and torch.is_grad_enabled():
        parameters = (part for layer in layers for part in (layer.weight, layer.bias))
        return FusedFeedForward.apply(x, cast("Sequence[Dropout] | None", drops), *parameters)
    for index, layer in enumerate(layers):
        x = F.silu(x) if index else x
        x = layer(drops[index](x) if drops else x)
    return x


class FusedFeedForward(Function):
    """FFN_L from weight and bias of each layer in turn.

    Dropout costs the gradient nothing: features that are dropped from a hidden layer are set to where SiLU is 0, and
    the factor of the others goes into the products.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, dropouts: Sequence[Dropout] | None, *parameters: Tensor) -> Tensor:
        ctx.factor = dropouts[0].factor if dropouts else 1.0
        kept = dropouts[0].kept(x) if dropouts else None
        values, inputs, sigmoids = (x if kept is None else x * kept).flatten(1, -2), [], []
        weights = parameters[::2]
        for index, (weight, bias) in enumerate(zip(weights, parameters[1::2], strict=True)):
            if index:
                if dropouts:
                    dropouts[index].exclude(values)
                sigmoid = values.sigmoid()
                sigmoids.append(sigmoid)
                values *= sigmoid
            inputs.append(values)
            values = _product(values, weight, ctx.factor, bias)
        ctx.save_for_backward(kept, *inputs, *sigmoids, *weights)
        return values.view(*x.shape[:-1], values.shape[-1])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        kept, *saved = ctx.saved_tensors
        depth = (len(saved) + 1) // 3
        inputs, sigmoids, weights = saved[:depth], saved[depth : 2 * depth - 1], saved[2 * depth - 1 :]
        given, by_parameters = gradients[0], []
        gradient = given.flatten(1, -2)
        for index in reversed(range(depth)):
            by_weight = _product(inputs[index].transpose(1, 2), gradient, ctx.factor)
            by_parameters[:0] = by_weight, gradient.sum(1)
            gradient = _product(gradient, weights[index].transpose(1, 2), ctx.factor)
            if index:
                # SiLU is y = xσ, and its slope σ + y (1 − σ): what lies σ of the way from y to 1
                gradient *= torch.lerp(inputs[index], inputs[index].new_ones(()), sigmoids[index - 1])
        by_x = gradient.view(*given.shape[:-1], gradient.shape[-1])
        return by_x if kept is None else by_x.mul_(kept), None, *by_parameters


def _product(x: Tensor, matrix: Tensor, factor: float, bias: Tensor | None = None) -> Tensor:
    """factor · x [R,n,in] times matrix [R,in,out], plus bias [R,out]."""
    start = x.new_empty(()) if bias is None else bias[:, None]
    if len(x) == 1:
        return torch.addmm(start.view(1, -1), x[0], matrix[0], beta=bias is not None, alpha=factor)[None]
    return torch.baddbmm(start, x, matrix, beta=bias is not None, alpha=factor)
