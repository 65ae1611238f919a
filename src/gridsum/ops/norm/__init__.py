"""LN, over the features of each cell."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.ops.forms import form


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """LN(x) of [R,...,E], with the weight and bias [R,E] of each run."""
    if len(weight) == 1:  # torch's own
        return F.layer_norm(x, x.shape[-1:], weight.squeeze(0), bias.squeeze(0))
    shape = (-1, *[1] * (x.dim() - 2), x.shape[-1])
    return F.layer_norm(x, x.shape[-1:]) * weight.view(shape) + bias.view(shape)


def norm_of_sum(norm: Any, x: Tensor, y: Tensor) -> Tensor:
    """norm(x + y), by a module that has a weight and a bias, as `layer_norm` takes them."""
    features = x.shape[-1]
    if form() == "triton" and not torch.is_grad_enabled() and features & (features - 1) == 0:
        from gridsum.ops.norm.triton import kernel_norm_of_sum

        return kernel_norm_of_sum(x, y, norm.weight, norm.bias)
    return norm(x + y)
