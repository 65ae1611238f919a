"""Gradients of parameters that every recurrent step adds onto, so that they are summed once a rollout.

A GPU adds fast where each program has a place of its own. So a gradient is gathered as many summands, which go back
from step to step: the last step of a rollout makes them, each adds onto them and hands them on to the step before.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function


class Gathered(Function):
    """x [R,P] → the way on which its gradient's summands [slots,R,P] come back. Forwards it is nothing but a shape."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, slots: int) -> Tensor:
        ctx.set_materialize_grads(False)
        return nothing((slots, *x.shape), x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:  # noqa: ARG004
        (summands,) = gradients
        return None if summands is None else summands.sum(0), None


def nothing(shape: Sequence[int], like: Tensor) -> Tensor:
    """Of this shape, without its memory."""
    return like.new_empty(1).expand(shape)


def summands(gradient: Tensor | None, way: Tensor) -> Tensor:
    """What has come back on a way; zeros where nobody has added anything."""
    return torch.zeros_like(way, memory_format=torch.contiguous_format) if gradient is None else gradient
