"""What goes on inside a network: the traces of problems, and what every part puts out, call by call."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from gridsum.io.names import did_you_mean
from gridsum.model.paper import survival
from gridsum.model.rollout import Moment, Network

Output = Tensor | tuple[Tensor, ...]
"""What a part puts out: a tensor, or several."""
Outputs = Mapping[tuple[str, int], Output]
"""What parts are to put out, by their names and the number of the call, from 0."""


@contextmanager
def recorded(
    network: nn.Module, names: str | Iterable[str] | None = None, instead: Outputs | None = None
) -> Iterator[dict[str, list[Output]]]:
    """While this lasts, the outputs of the parts of these names (of all parts by default), in the order of the calls.

    Names are those of `named_modules`. The parts of a recurrent step are called once a step. Where `instead` names a
    call, the part puts that out and the computation goes on with it.
    """
    parts, instead = {name: part for name, part in network.named_modules() if name}, instead or {}
    if not isinstance(instead, Mapping) or any(
        not isinstance(place, tuple) or tuple(map(type, place)) != (str, int) for place in instead
    ):
        raise ValueError(f"{instead!r} is not a patch; write {{(name, call): output}}")
    wanted = [names] if isinstance(names, str) else list(parts if names is None else names)
    for name in (*wanted, *(name for name, _ in instead)):
        if name not in parts:
            mend = did_you_mean(str(name), parts, f"the parts are {', '.join(parts)}")
            raise ValueError(f"unknown part {name!r}; {mend}")
    calls: dict[str, list[Output]] = {name: [] for name in (*wanted, *(name for name, _ in instead))}

    def hook_of(name: str) -> Any:
        def hook(_module: nn.Module, _inputs: Any, output: Output) -> Output | None:
            place, changed = (name, len(calls[name])), None
            if place in instead:
                changed = output = _put_in(place, instead[place], output)
            calls[name].append(
                tuple(part.detach() for part in output) if isinstance(output, tuple) else output.detach()
            )
            return changed

        return hook

    hooks = [parts[name].register_forward_hook(hook_of(name)) for name in calls]
    try:
        yield {name: calls[name] for name in wanted}
    finally:
        for hook in hooks:
            hook.remove()
    for name, number in instead:
        if number >= len(calls[name]):
            raise ValueError(f"{name} was called {len(calls[name])} times, counted from 0: no call {number} to patch")


def _put_in(place: tuple[str, int], state: Any, output: Output) -> Output:
    """A state in the shape of an output; runs and problems, of which there is one each, may be left out."""
    several = isinstance(output, tuple)
    given, shapes = (state, output) if several else ((state,), (output,))
    try:
        parts = tuple(
            torch.as_tensor(part).to(like).reshape(like.shape) for part, like in zip(given, shapes, strict=True)
        )
    except (TypeError, ValueError, RuntimeError):
        told = " and ".join(str(list(like.shape)) for like in shapes)
        raise ValueError(f"the patch at {place} does not fit: {place[0]} puts out {told}") from None
    return parts if several else parts[0]


def stacked(outputs: list[Output]) -> Any:
    """The outputs of a part for one problem of one run, call after call: [calls,...], or a list if shapes differ."""
    if isinstance(outputs[0], tuple):
        return tuple(stacked(list(parts)) for parts in zip(*outputs, strict=True))
    # What is the same for all problems, such as the placement of each symbol, has no place for them.
    single = [output[0, 0] if output.shape[1:2] == (1,) else output[0] for output in cast("list[Tensor]", outputs)]
    return torch.stack(single) if len({output.shape for output in single}) == 1 else single


@dataclass(frozen=True)
class Trace:
    """Every internal of one problem solved by one run; n counts steps, 0 is the grid before any.

    Shapes: S symbols, H rows, W columns, E features.
    """

    symbols: Tensor
    """[S], the input."""
    actions: Tensor
    """[S,3], the probabilities of TLU, NLP and NOP."""
    grids: Tensor
    """[N+1,H,W,E]."""
    decoded: Tensor
    """[N+1,H,W,13], the probabilities of the symbols that the output layer reads in every cell."""
    halting: Tensor | None
    """[N+1], λ_n."""
    probability: Tensor | None
    """[N+1], p_n without truncation before the last step."""
    alphabet: tuple[str, ...]
    """What the numbers of symbols stand for."""


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
