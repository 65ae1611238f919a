"""Solving with trained networks: steps until the halting rule says stop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from gridsum.config import ModelConfig
from gridsum.model.network import Network
from gridsum.model.rollout import GridSize

HaltingRule = Literal["sampled", "median", "fixed"]
HALTING_RULES: dict[str, str] = {
    "sampled": "halt at step n with probability λ_n, as the paper does (seeded)",
    "median": "halt at the first step where halting has become more likely than not (deterministic)",
    "fixed": "halt after the number of steps the model was trained with (deterministic)",
}
# What each kind of network can follow, its own rule first.
_ABLE: dict[str, tuple[HaltingRule, ...]] = {
    "ponder": ("sampled", "median"),
    "fixed": ("fixed",),
}
_TRAINED: dict[str, str] = {
    "ponder": "this model was trained to decide when to halt",
    "fixed": "this model has no halting network",
}

Watch = Callable[[Tensor, Tensor | None], None]
"""Is given every grid [R,B,H,W,E] from G_0 on, with its λ [R,B] (None where there is none), of the problems that are
still computed; may raise to give the work up."""


def default_rule(network: Network) -> HaltingRule:
    """The rule that this kind of network was trained for."""
    return _ABLE[network.config.halting][0]


def check_rule(network: Network, rule: str) -> None:
    """Refuse a rule that the network has no means to follow."""
    if rule not in HALTING_RULES:
        raise ValueError(f"there is no halting rule {rule!r}; the rules are {', '.join(HALTING_RULES)}")
    able = _ABLE[network.config.halting]
    if rule not in able:
        use = " or ".join(map(repr, able))
        raise ValueError(f"{_TRAINED[network.config.halting]}, so it cannot follow {rule!r}; use {use}")


def step_cap(config: ModelConfig) -> int:
    """The most steps that evaluation takes."""
    return config.fixed_steps if config.halting == "fixed" else config.max_evaluation_steps


@dataclass(frozen=True)
class Outcome:
    """What a batch came to: symbols [R,B,W], steps [R,B], and whether the cap on steps ended it [R,B]."""

    predicted: Tensor
    steps: Tensor
    capped: Tensor


@torch.no_grad()
def infer(
    network: Network,
    symbols: Tensor,
    size: GridSize,
    rule: HaltingRule,
    draws: Tensor | None = None,
    hard: bool = False,
    watch: Watch | None = None,
) -> Outcome:
    """Run until every sample has halted.

    `draws` [R,B,max steps] are the uniform numbers that the rule `sampled` compares λ with. `watch` sees every
    grid as it comes.
    """
    check_rule(network, rule)
    runs, problems = symbols.shape[:2]
    grid = network.place(symbols, size, hard)
    predicted = torch.zeros(runs, problems, size.width, dtype=torch.int64, device=symbols.device)
    steps = torch.zeros(runs, problems, dtype=torch.int64, device=symbols.device)
    watch = watch or _look_away
    cap = step_cap(network.config)
    if network.context is None:
        for _ in range(cap):
            watch(grid, None)
            grid = network.step(grid, size)
        watch(grid, None)
        steps += cap
        return Outcome(network.read(grid[:, :, 0]).argmax(-1), steps, torch.zeros_like(steps, dtype=torch.bool))

    context = network.context.start(problems)
    running = torch.ones(runs, problems, dtype=torch.bool, device=symbols.device)
    survival = torch.ones(runs, problems, device=symbols.device)
    for n in range(cap + 1):
        context, halting = network.context(context, grid, size)
        watch(grid, halting)
        if n == cap:
            break
        if rule == "sampled":
            assert draws is not None, "sampled halting needs its draws"
            halt = running & (draws[..., n] < halting)
        else:
            survival = survival * (1 - halting)
            halt = running & (survival <= 0.5)
        if bool(halt.any()):
            read = network.read(grid[:, :, 0]).argmax(-1)
            predicted = torch.where(halt[..., None], read, predicted)
            steps = torch.where(halt, n, steps)
            running = running & ~halt
            if not bool(running.any()):
                break
        grid = network.step(grid, size)
    read = network.read(grid[:, :, 0]).argmax(-1)
    return Outcome(torch.where(running[..., None], read, predicted), torch.where(running, cap, steps), running)


def _look_away(_grid: Tensor, _halting: Tensor | None) -> None:
    pass
