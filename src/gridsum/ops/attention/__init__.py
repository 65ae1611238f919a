"""Local attention: every cell attends to the k × k cells around it."""

import torch
from torch import Tensor

from gridsum.ops.attention import plain
from gridsum.ops.attention.cpu import FusedAttention
from gridsum.ops.forms import form, once
from gridsum.ops.grids import linear


def project(grid: Tensor, projection: Tensor) -> Tensor:
    """Q, K and V of a grid [R,B,H,W,E] side by side, [R,B,H,W,3E] (Eq. 6), by `projection` [R,3,g,E/g,E/g]."""
    if form() == "plain":
        return plain.project(grid, projection)
    matrix = once(("block_matrix", id(projection)), lambda: block_matrix(projection))
    return linear(grid, matrix)


def block_matrix(projection: Tensor) -> Tensor:
    """The groups' projections as one matrix [R,E,3E], zero between groups: one product beats g small ones."""
    runs, _, groups, part, _ = projection.shape
    diagonal = torch.eye(groups, device=projection.device, dtype=projection.dtype)
    blocks = projection[..., None, :] * diagonal[:, None, :, None]
    return blocks.permute(0, 2, 3, 1, 4, 5).reshape(runs, groups * part, 3 * groups * part)


def attend(projected: Tensor, query: Tensor | None, relative: Tensor, heads: int) -> Tensor:
    """softmax((Q + s)·(K + r))·V over the neighbourhood, heads joined: [R,B,H,W,E] (Eq. 7). `projected` is what
    `project` makes, s is `query` [R,E] and r is `relative` [R,k,k,E]."""
    if form() == "plain":
        return plain.attend(projected, query, relative, heads)
    width = relative.shape[-1]
    if form() == "triton" and width & (width - 1) == 0:
        from gridsum.ops.attention.triton import KernelAttention, packed_encodings

        encodings = packed_encodings(query, relative, projected[0, ..., 0].numel())
        return KernelAttention.apply(projected, *encodings, heads)[0]
    return FusedAttention.apply(projected, query, relative, heads)
