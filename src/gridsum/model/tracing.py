"""A trace: every internal of one problem, for those who want to see it work."""

import torch
from torch import Tensor

from gridsum.model.halting import survival
from gridsum.model.network import Network
from gridsum.model.rollout import GridSize, Trace


@torch.no_grad()
def trace(network: Network, symbols: Tensor, size: GridSize, steps: int, hard: bool = False) -> Trace:
    """`steps` steps of the single problem symbols [S] under a network of one run."""
    assert network.runs == 1, "a trace shows one run"
    assert size.own is None, "a trace shows a grid of its own size"
    batch = symbols[None, None]
    grid = network.place(batch, size, hard)
    context = None if network.context is None else network.context.start(1)
    grids, weights, halting = [grid], [], []
    for n in range(steps + 1):
        if network.context is not None and context is not None:
            context, probability = network.context(context, grid, size)
            halting.append(probability)
        if n < steps:
            grid, attention = network.step.observe(grid)
            grids.append(grid)
            weights.append(attention)
    return assemble(network, symbols, grids, weights, halting)


@torch.no_grad()
def assemble(
    network: Network, symbols: Tensor, grids: list[Tensor], weights: list[Tensor], halting: list[Tensor]
) -> Trace:
    """The trace of one problem from what its computation left behind: every G_n, the attentions, every λ_n."""
    stacked = torch.stack(grids)[:, 0, 0]
    decoded = network.read(stacked[None])[0].softmax(-1)
    attention = torch.stack(weights)[:, :, 0, 0] if weights else stacked.new_zeros(0)
    lambdas = torch.stack(halting)[:, 0, 0] if halting else None
    probability = None if lambdas is None else lambdas * survival(lambdas)
    actions = network.actions(symbols[None, None])[0, 0]
    return Trace(symbols, actions, stacked, decoded, attention, lambdas, probability)
