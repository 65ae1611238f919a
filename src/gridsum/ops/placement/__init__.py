"""Seq2Grid: symbols become a grid, by expected placement or by their most probable actions."""

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.ops.forms import Form, form
from gridsum.ops.grids import linear
from gridsum.ops.placement.cpu import LookUp, gathered, place_hard, place_soft

# The kernel holds a sample's whole grid in registers, which is for grids of training size.
_CELLS = 512


def look_up(table: Tensor, symbols: Tensor) -> Tensor:
    """table [R,13,F] at symbols [R,B,S]: [R,B,S,F]."""
    if form() != "plain":
        return LookUp.apply(table, symbols)
    return table[torch.arange(len(table), device=symbols.device)[:, None, None], symbols]


def place_symbols(table: Tensor, symbols: Tensor, actions: Tensor, height: int, width: int, hard: bool) -> Tensor:
    """`plain.seq2grid` of the vectors that symbols [R,B,S] have in a table [R,13,E]; `hard`: as is most probable."""
    if hard:
        return place_hard(look_up(table, symbols), actions, height, width)
    if torch.is_grad_enabled():
        return place(look_up(table, symbols), actions, height, width, form())
    # How much of each symbol ends in a cell: there are fewer symbols than features.
    shares = F.one_hot(symbols, table.shape[1]).to(table.dtype)
    return linear(place(shares, actions, height, width, form()), table)


def place(x: Tensor, actions: Tensor, height: int, width: int, chosen: Form) -> Tensor:
    """`plain.seq2grid`, backwards in time; with a kernel if triton is `chosen`."""
    if chosen != "triton" or actions.dtype != torch.float32 or height * width > _CELLS:
        return place_soft(x, actions, height, width)
    from gridsum.ops.placement.triton import KernelEnds

    return gathered(KernelEnds.apply(actions, height, width), x, actions)
