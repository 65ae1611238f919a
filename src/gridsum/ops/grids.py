"""The sizes of grids, and the products, norms and masks that all operations on them share."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.ops.forms import form

Drop = Callable[[Tensor], Tensor]
"""Dropout on the input of one layer."""


@dataclass(frozen=True)
class GridSize:
    """The grids of a batch: every run's, in the upper right of `height` × `width` cells, where Seq2Grid writes."""

    height: int
    width: int
    own: Tensor | None = None
    """The rows and columns of each run's own grid, int32 [R,2]; None where every run's grid fills the whole."""
    largest: tuple[int, int] | None = None
    """The largest grid there can be, by which dropout numbers the cells; None: this one."""

    @cached_property
    def inside(self) -> Tensor | None:
        """Which cells belong to each run's own grid: bool [R,H,W], or None if all do."""
        if self.own is None:
            return None
        below = torch.arange(self.height, device=self.own.device) < self.own[:, :1]
        right = torch.arange(self.width - 1, -1, -1, device=self.own.device) < self.own[:, 1:]
        return below[:, :, None] & right[:, None, :]


def only_inside(size: GridSize | None, grid: Tensor) -> Tensor:
    """The grid, zero outside each run's own part, as keys and values are zero there in the paper: the mask is exact."""
    inside = size and size.inside
    return grid if inside is None else torch.where(inside[:, None, :, :, None], grid, 0.0)


def side_by_side(tensors: Iterable[Tensor]) -> Tensor:
    """[R,...] tensors as one row a run, [R,P]."""
    return torch.cat([tensor.reshape(tensor.shape[0], -1) for tensor in tensors], 1)


def neighbours(x: Tensor, places: Sequence[tuple[int, int]], outside: float = 0) -> list[Tensor]:
    """x [...,H,W,F] as seen from every cell: a tensor of that shape for each place, so many rows down and columns to
    the right; `outside` beyond the grid."""
    height, width = x.shape[-3:-1]
    down, right = (max(map(abs, steps)) for steps in zip(*places, strict=True))
    padded = F.pad(x, (0, 0, right, right, down, down), value=outside)
    return [padded[..., down + i : down + i + height, right + j : right + j + width, :] for i, j in places]


def places_around(rows: int, columns: int) -> list[tuple[int, int]]:
    """Those of the rows × columns cells around a cell, row by row."""
    return [(i - rows // 2, j - columns // 2) for i in range(rows) for j in range(columns)]


def linear(x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [R,...,in] times matrix [R,in,out], plus bias [R,out]."""
    runs, inputs, outputs = matrix.shape
    if runs == 1:  # torch's own; squeezed, as the gradient of an index is a copy
        return F.linear(x, matrix.squeeze(0).T, None if bias is None else bias.squeeze(0))
    lines = x.reshape(runs, -1, inputs)
    if bias is None:
        product = torch.bmm(lines, matrix)
    elif form() == "triton":
        # Products whose sides are no multiples of 8 have slow kernels. The sum fuses with what follows it, where
        # baddbmm would copy the bias to every cell first.
        product = torch.bmm(lines, F.pad(matrix, (0, -outputs % 8)))[..., :outputs] + bias[:, None]
    else:
        product = torch.baddbmm(bias[:, None], lines, matrix)
    return product.view(*x.shape[:-1], outputs)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """LN(x) of [R,...,E], with the weight and bias [R,E] of each run."""
    if len(weight) == 1:  # torch's own
        return F.layer_norm(x, x.shape[-1:], weight.squeeze(0), bias.squeeze(0))
    shape = (-1, *[1] * (x.dim() - 2), x.shape[-1])
    return F.layer_norm(x, x.shape[-1:]) * weight.view(shape) + bias.view(shape)
