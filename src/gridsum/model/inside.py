"""What goes on inside a network: the traces of problems, and what every part puts out, call by call."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gridsum.io.names import did_you_mean
from gridsum.model.paper import survival
from gridsum.model.rollout import Moment, Network
from gridsum.ops.placement.cpu import place_hard, place_soft
from gridsum.tasks import PAD

SHARED = -1
"""Stands for the symbol of a cell that several symbols share, none of them more than half."""
Output = Tensor | tuple[Tensor, ...]
"""What a part puts out: a tensor, or several."""


@contextmanager
def recorded(network: nn.Module, names: str | Iterable[str] | None = None) -> Iterator[dict[str, list[Output]]]:
    """While this lasts, the outputs of the parts of these names, by default of all, call by call."""
    parts = {name: part for name, part in network.named_modules() if name}
    calls: dict[str, list[Output]] = {}
    for name in [names] if isinstance(names, str) else parts if names is None else names:
        if name not in parts:
            mend = did_you_mean(str(name), parts, f"the parts are {', '.join(parts)}")
            raise ValueError(f"unknown part {name!r}; {mend}")
        calls[name] = []

    def keep(name: str, _module: nn.Module, _given: Any, output: Output) -> None:
        detached = tuple(part.detach() for part in output) if isinstance(output, tuple) else output.detach()
        calls[name].append(detached)

    with ExitStack() as hooks:
        for name in calls:
            hooks.enter_context(parts[name].register_forward_hook(partial(keep, name)))
        yield calls


def stacked(outputs: list[Output]) -> Any:
    """The outputs of a part for one problem of one run, call after call: [calls,...], or a list if shapes differ."""
    if isinstance(outputs[0], tuple):
        return tuple(stacked(list(parts)) for parts in zip(*outputs, strict=True))
    # What is the same for all problems, such as the placement of each symbol, has no place for them.
    single = [output[0, 0] if output.shape[1:2] == (1,) else output[0] for output in cast("list[Tensor]", outputs)]
    return torch.stack(single) if len({output.shape for output in single}) == 1 else single


@dataclass(frozen=True)
class Trace:
    """Every internal of one problem solved by one run; n counts steps, 0 is the grid before any."""

    symbols: Tensor
    """[S], the input."""
    actions: Tensor
    """[S,3], the probabilities of TLU, NLP and NOP: writing a symbol, opening a row with it, skipping it."""
    grids: Tensor  # [N+1,H,W,E]
    decoded: Tensor
    """[N+1,H,W,13], the probabilities of the symbols that the output layer reads in every cell."""
    halting: Tensor | None
    """[N+1], λ_n: how likely it was to halt at each n. None where a model does not decide by chance."""
    probability: Tensor | None
    """[N+1], p_n: how likely it was to halt at n at all, without truncation before the last step."""
    alphabet: tuple[str, ...]
    """What the numbers of symbols stand for."""

    def written(self, placement: str, count: int | None = None) -> Tensor:
        """What stands on the grid [H,W] after the first `count` symbols (by default all), under `soft` or `hard`: the
        symbol that a cell received more than half of; PAD for none, or SHARED."""
        shares = self.shares(placement, count)
        share, symbol = shares.max(-1)
        symbol = symbol.masked_fill(shares.sum(-1) <= 0.5, PAD)
        return symbol.masked_fill((share <= 0.5) & (symbol != PAD), SHARED)

    def shares(self, placement: str, count: int | None = None) -> Tensor:
        """How much of each symbol the cells have received by then [H,W,13]."""
        actions, put = self.actions[:count], place_hard if placement == "hard" else place_soft
        one_hot = F.one_hot(self.symbols[:count], len(self.alphabet)).to(actions.dtype)
        return put(one_hot[None, None], actions[None, None], *self.decoded.shape[1:3])[0, 0]


@torch.no_grad()
def trace_of(network: Network, symbols: Tensor, moments: list[Moment]) -> Trace:
    """The trace of one problem (symbols [S]) from the moments of its computation by a network of one run."""
    grids = torch.cat([moment.grid for moment in moments], 1)  # its moments, as problems of one run
    known = [moment.halting for moment in moments if moment.halting is not None]
    lambdas = torch.cat(known, 1)[0] if known else None
    return Trace(
        symbols,
        network.actions(symbols[None, None])[0, 0],
        grids[0],
        network.read(grids)[0].softmax(-1),
        lambdas,
        None if lambdas is None else lambdas * survival(lambdas),
        network.task.task.alphabet.symbols,
    )
