"""Parameters of R runs at once: how they are drawn, loaded and laid side by side. Each leads with the run."""

import copy
from collections.abc import Sequence
from typing import Any, Self, TypeVar, cast

import torch
from torch import Generator, Tensor, nn

Kind = TypeVar("Kind", bound=nn.Module)


def generators(seeds: Sequence[int]) -> list[Generator]:
    """What the parameters of each run are drawn from, so that a seed gives the same weights in any fleet."""
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def uniform(runs: Sequence[Generator], bound: float, *shape: int) -> nn.Parameter:
    return _stacked([torch.empty(shape).uniform_(-bound, bound, generator=run) for run in runs], shape)


def normal(runs: Sequence[Generator], deviation: float, *shape: int) -> nn.Parameter:
    return _stacked([torch.empty(shape).normal_(0, deviation, generator=run) for run in runs], shape)


def _stacked(runs: list[Tensor], shape: Sequence[int]) -> nn.Parameter:
    """Of no runs, a network has shapes and takes no memory: what it would be can be looked at before it is built."""
    return nn.Parameter(torch.stack(runs) if runs else torch.empty(0, *shape))


def constant(runs: Sequence[Generator], value: float, *shape: int) -> nn.Parameter:
    return nn.Parameter(torch.full((len(runs), *shape), value))


_WRITTEN: dict[type[nn.Module], dict[str, Any]] = {nn.ModuleList: {}}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def written(kind: type[Kind]) -> type[Kind]:
    """Remember the methods of a class of modules as they are written: fast forms know what these compute."""
    _WRITTEN[kind] = {name: part for name, part in vars(kind).items() if callable(part) or isinstance(part, property)}
    return kind


def as_written(network: "RunsModule") -> bool:
    """Whether a network computes as it is written here, so that a fast form may pass its modules by: no module was
    replaced, subclassed, parametrised or hooked into, and no method set on it or on its class."""
    parts = list(network.modules())
    kinds = [type(part) for part in parts]
    return (
        kinds == network.built
        and all(kind in _WRITTEN for kind in kinds)
        and all(vars(kind).get(name) is part for kind in set(kinds) for name, part in _WRITTEN[kind].items())
        and not any(_WRITTEN[kind].keys() & vars(part).keys() for kind, part in zip(kinds, parts, strict=True))
        and not any(getattr(part, hooks) for part in parts for hooks in _HOOKS)
        and not any(getattr(nn.modules.module, f"_global{hooks}") for hooks in _HOOKS)
    )


class RunsModule(nn.Module):
    built: list[type[nn.Module]]
    """The classes of all modules, as they were when the network was made."""

    @property
    def runs(self) -> int:
        return len(next(self.parameters()))

    def alone(self, *runs: int) -> Self:
        """One of the runs, or some, as a network of its own."""
        rows = list(runs)
        parts: dict[int, Tensor] = {id(part): nn.Parameter(part.detach()[rows]) for part in self.parameters()}
        parts |= {id(part): part[rows] for part in self.buffers()}
        return copy.deepcopy(self, cast(Any, parts))  # which takes these for its copies


class RunModule(nn.Module):
    """A module with parameters of its own. It is made from a generator for each run, and draws them as it is made."""

    decayed: tuple[str, ...] = ()
    """The parameters that weight decay applies to."""

    def extra_repr(self) -> str:
        return ", ".join(f"{name} {list(part.shape)}" for name, part in self.named_parameters(recurse=False))


def parameter_count(network: nn.Module) -> int:
    """The parameters of one run."""
    return sum(parameter[0].numel() for parameter in network.parameters())
