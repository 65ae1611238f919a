"""Solving with trained networks: steps until the halting rule says stop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from gridsum.config import ModelConfig
from gridsum.model.network import Network
from gridsum.model.rollout import GridSize
from gridsum.model.settling import Settling
from gridsum.model.step import Readers

HaltingRule = Literal["sampled", "median", "fixed", "converged"]
HALTING_RULES: dict[str, str] = {
    "sampled": "halt at step n with probability λ_n, as the paper does (seeded)",
    "median": "halt at the first step where halting has become more likely than not (deterministic)",
    "fixed": "halt after the number of steps the model was trained with (deterministic)",
    "converged": "halt once no cell's symbol has changed for some steps (deterministic)",
}
# Cells are looked for one by one when no more than this share of them still moves: all at once, a cell is computed
# about three times as fast.
_FEW = 0.2
# What each kind of network can follow, its own rule first.
_ABLE: dict[str, tuple[HaltingRule, ...]] = {
    "ponder": ("sampled", "median"),
    "fixed": ("fixed",),
    "converge": ("converged",),
}
_TRAINED: dict[str, str] = {
    "ponder": "this model was trained to decide when to halt",
    "fixed": "this model has no halting network",
    "converge": "this model was trained to go on until nothing changes",
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


def step_cap(config: ModelConfig, size: GridSize) -> int:
    """The most steps that evaluation takes on a grid of `size`.

    Under converge halting it grows with the grid: what is to be known must have the time to cross it.
    """
    if config.halting == "converge":
        return config.cap_factor * (size.height + size.width) + config.train_steps[1]
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
    if rule == "converged" and watch is None and _settles(network, grid, size):
        return _infer_settling(network, grid, size)
    watch = watch or _look_away
    if rule == "converged":
        return _infer_converged(network, grid, size, watch)
    remembered, cap = network.step.remember(grid), step_cap(network.config, size)
    if network.context is None:
        for _ in range(cap):
            watch(grid, None)
            grid = network.step(grid, size, remembered=remembered)
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
        grid = network.step(grid, size, remembered=remembered)
    read = network.read(grid[:, :, 0]).argmax(-1)
    return Outcome(torch.where(running[..., None], read, predicted), torch.where(running, cap, steps), running)


def _infer_converged(network: Network, grid: Tensor, size: GridSize, watch: Watch) -> Outcome:
    """Steps from `grid`, G_0, until the symbols of all cells have stayed the same for `patience` steps.

    Problems leave the computation when they have converged in every run.
    """
    runs, problems = grid.shape[:2]
    cap = step_cap(network.config, size)
    prepared = network.step.prepare(grid)
    present = torch.arange(problems, device=grid.device)
    unchanged = torch.zeros(runs, problems, dtype=torch.int64, device=grid.device)
    steps, capped = torch.full_like(unchanged, cap), torch.ones_like(unchanged, dtype=torch.bool)
    read = network.read(grid).argmax(-1)
    predicted = read[:, :, 0].clone()
    watch(grid, None)
    for n in range(1, cap + 1):
        grid = network.step.advance(Readers.of(grid), size, None, prepared).residual
        before, read = read, network.read(grid).argmax(-1)
        watch(grid, None)
        same = (read == before).flatten(2).all(-1)
        unchanged[:, present] = torch.where(same, unchanged[:, present] + 1, 0)
        running = capped[:, present]  # what has halted before keeps what it said
        predicted[:, present] = torch.where(running[..., None], read[:, :, 0], predicted[:, present])
        halt = running & (unchanged[:, present] >= network.config.patience)
        if bool(halt.any()):
            steps[:, present] = torch.where(halt, n, steps[:, present])
            capped[:, present] = running & ~halt
            stay = capped[:, present].any(0)
            if not bool(stay.any()):
                break
            grid, read, present, prepared = grid[:, stay], read[:, stay], present[stay], prepared.only(stay)
    return Outcome(predicted, steps, capped)


def _settles(network: Network, grid: Tensor, size: GridSize) -> bool:
    """Whether only what changes is computed: not for a GPU, which is slow with few cells, nor for several runs."""
    return network.config.tolerance > 0 and network.runs == 1 and size.own is None and not grid.is_cuda


def _infer_settling(network: Network, origin: Tensor, size: GridSize) -> Outcome:
    """As `_infer_converged`, for one run, computing cells again only where something near them has changed.

    While much changes, all cells are computed, which is quicker for a cell than finding its neighbours.
    """
    tolerance, cap = network.config.tolerance, step_cap(network.config, size)
    halting = _Patience(origin.shape[1], cap, network.config.patience, origin.device)
    prepared, grid, n = network.step.prepare(origin), origin, 0
    read = network.read(grid)[0].argmax(-1)
    moved = torch.ones_like(origin[..., 0], dtype=torch.bool)
    while n < cap and int(moved.sum()) > _FEW * moved.numel() and bool(halting.running.any()):
        n += 1
        before, grid = grid, network.step.advance(Readers.of(grid), size, None, prepared).residual
        now = torch.where(halting.running[:, None, None], network.read(grid)[0].argmax(-1), read)
        moved = ((grid - before).abs().amax(-1) > tolerance) & halting.running[:, None, None]
        halting.note(n, (now != read).flatten(1).any(-1))
        read = now
    settling = Settling(network, origin, size, tolerance, grid, moved)
    settling.leave(~halting.running)
    cells = read.new_zeros(len(settling.state))
    cells[settling.inside] = read.flatten()
    while n < cap and bool(halting.running.any()):
        n += 1
        changed = settling.step()
        now = settling.symbols(changed)
        other = torch.zeros_like(halting.running)
        other[settling.problem(changed[now != cells[changed]])] = True
        cells[changed] = now
        if bool(halting.note(n, other).any()):
            settling.leave(~halting.running)
    return Outcome(cells[settling.top(size.width)][None], halting.steps[None], halting.running[None])


class _Patience:
    """Who is still running [B], and who halted at which step [B]."""

    def __init__(self, problems: int, cap: int, patience: int, device: torch.device) -> None:
        self.patience = patience
        self.unchanged = torch.zeros(problems, dtype=torch.int64, device=device)
        self.steps = torch.full_like(self.unchanged, cap)
        self.running = torch.ones_like(self.unchanged, dtype=torch.bool)

    def note(self, n: int, changed: Tensor) -> Tensor:
        """Hear which problems changed a symbol in step n; returns those that halt by it."""
        self.unchanged = torch.where(changed, 0, self.unchanged + 1)
        halt = self.running & (self.unchanged >= self.patience)
        self.steps[halt] = n
        self.running = self.running & ~halt
        return halt


def _look_away(_grid: Tensor, _halting: Tensor | None) -> None:
    pass
