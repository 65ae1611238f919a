"""What goes on inside a network: the traces of problems, and what every part puts out, call by call."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gridsum.io.names import did_you_mean
from gridsum.model.paper import LocalAttention, survival
from gridsum.model.rollout import Change, Moment, Network, Start, unroll
from gridsum.ops.grids import GridSize
from gridsum.tasks import find


class InsideError(ValueError):
    """A part that a network does not have; the message names the nearest."""


@contextmanager
def recorded(network: nn.Module, names: Iterable[str] | None = None) -> Iterator[dict[str, list[Tensor]]]:
    """While this lasts, the outputs of the parts of these names (of all parts by default), in the order of the calls.

    Names are those of `named_modules`. A part that puts out several tensors has the first of them here. The parts of a
    recurrent step are called once a step.
    """
    parts = {name: part for name, part in network.named_modules() if name}
    wanted = [names] if isinstance(names, str) else list(parts if names is None else names)
    for name in wanted:
        if name not in parts:
            mend = did_you_mean(name, parts, f"the parts are {', '.join(parts)}")
            raise InsideError(f"there is no part {name!r}; {mend}")
    cache: dict[str, list[Tensor]] = {name: [] for name in wanted}

    def keep(name: str) -> Any:
        def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:
            cache[name].append((output[0] if isinstance(output, tuple) else output).detach())

        return hook

    hooks = [parts[name].register_forward_hook(keep(name)) for name in wanted]
    try:
        yield cache
    finally:
        for hook in hooks:
            hook.remove()


@dataclass(frozen=True)
class Trace:
    """Every internal of one problem solved by one run; n counts steps, 0 is the grid before any.

    Shapes: S symbols, H rows, W columns, E features, h heads, k² neighbours.
    """

    symbols: Tensor
    """[S], the input."""
    actions: Tensor
    """[S,3], the probabilities of TLU, NLP and NOP."""
    grids: Tensor
    """[N+1,H,W,E]."""
    decoded: Tensor
    """[N+1,H,W,13], the probabilities of the symbols that the output layer reads in every cell."""
    attention: Tensor
    """[N,k²,H,W,h], the weights of the step from n to n+1; empty where nobody asked, or where a step has no
    such attention."""
    halting: Tensor | None
    """[N+1], λ_n."""
    probability: Tensor | None
    """[N+1], p_n without truncation before the last step."""
    alphabet: tuple[str, ...] = find().alphabet.symbols
    """What the numbers of symbols stand for."""


@torch.no_grad()
def trace(
    network: Network, symbols: Tensor, size: GridSize, steps: int, hard: bool = False, change: Change | None = None
) -> Trace:
    """Solve one problem (symbols [S]) with a network of one run, keeping everything."""
    if network.runs != 1:
        raise ValueError("a trace is of one run; choose one of them")
    start = Start(network, symbols[None, None], size, steps, hard)
    return trace_of(network, symbols, list(unroll(start, change)))


@torch.no_grad()
def trace_of(network: Network, symbols: Tensor, moments: list[Moment], attention: bool = True) -> Trace:
    """The trace of one problem from the moments of its computation."""
    grids = torch.cat([moment.grid for moment in moments], 1)  # its moments, as problems of one run
    part = getattr(network.step, "attention", None)
    weights = grids.new_zeros(0)
    if attention and isinstance(part, LocalAttention):
        weights = part.weights(grids[:, :-1])[:, 0].transpose(0, 1)
    known = [moment.halting for moment in moments if moment.halting is not None]
    lambdas = torch.cat(known, 1)[0] if known else None
    return Trace(
        symbols,
        network.actions(symbols[None, None])[0, 0],
        grids[0],
        network.read(grids)[0].softmax(-1),
        weights,
        lambdas,
        None if lambdas is None else lambdas * survival(lambdas),
    )
