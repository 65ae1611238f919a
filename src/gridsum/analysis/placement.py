"""The input as it is written onto the grid, symbol by symbol."""

import torch
from torch import Tensor

from gridsum.model.inside import Trace
from gridsum.ops.placement.cpu import place_hard, place_soft
from gridsum.tasks import PAD

SHARED = -1
"""Stands for the symbol of a cell that several symbols share, none of them more than half."""


def written(trace: Trace, placement: str, count: int | None = None) -> Tensor:
    """What stands on the grid after the first `count` symbols (all of them if None), under `soft` or `hard` [H,W]: the
    symbol of the input that a cell received more than half of; PAD for none, or SHARED."""
    shares = shares_of(trace, placement, len(trace.symbols) if count is None else count)
    share, symbol = shares.max(-1)
    symbol = symbol.masked_fill(shares.sum(-1) <= 0.5, PAD)
    return symbol.masked_fill((share <= 0.5) & (symbol != PAD), SHARED)


def shares_of(trace: Trace, placement: str, count: int) -> Tensor:
    """How much of each symbol the cells have received after the first `count` [H,W,13]."""
    height, columns = trace.decoded.shape[1:3]
    put = place_hard if placement == "hard" else place_soft
    one_hot = torch.nn.functional.one_hot(trace.symbols[:count], len(trace.alphabet)).to(trace.actions.dtype)
    if count == 0:
        return trace.actions.new_zeros(height, columns, len(trace.alphabet))
    return put(one_hot[None, None], trace.actions[None, None, :count], height, columns)[0, 0]
