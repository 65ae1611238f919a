"""Named internals: what every part of a network put out, call by call."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from gridsum.io.names import did_you_mean


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
