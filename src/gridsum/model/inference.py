"""Solving with trained networks: steps until the halting rule says stop."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from gridsum.config.paper import ConfigError
from gridsum.data.answers import HALTING_RULES, HaltingRule
from gridsum.model.rollout import Moment, Network, Start, form_of, unroll
from gridsum.ops.grids import GridSize

Watch = Callable[[Moment], None]
"""Is shown every moment from G_0 on; may raise to give the work up."""


def default_rule(network: Network) -> HaltingRule:
    """The rule that this kind of network was trained for."""
    return next(iter(HALTING_RULES[network.config.halting]))


def check_rule(network: Network, rule: str) -> None:
    kind = network.config.halting
    if rule not in HALTING_RULES[kind]:
        use = " or ".join(map(repr, HALTING_RULES[kind]))
        raise ConfigError(f"a model with {kind} halting cannot follow {rule!r}; use {use}")


class UnsoundError(ValueError):
    """A network that computes no numbers: it has diverged, or its weights are damaged."""


@dataclass(frozen=True)
class Outcome:
    """What a batch came to: symbols [R,B,W], steps [R,B], and whether the cap on steps ended it [R,B]."""

    predicted: Tensor
    steps: Tensor
    capped: Tensor

    @classmethod
    def joined(cls, parts: "Sequence[Outcome]", axis: int) -> "Outcome":
        """Those of several runs (`axis` 0) or of several problems (1) as one."""
        return cls(*(torch.cat([getattr(part, field.name) for part in parts], axis) for field in fields(cls)))


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
    """Run until every sample has halted; `draws` [R,B,max steps] are what the rule `sampled` compares λ with. Problems
    that have halted in every run leave the computation, unless someone looks on."""
    check_rule(network, rule)
    config, chosen = network.config, form_of(network)
    cap = config.fixed_steps if config.halting == "fixed" else config.max_evaluation_steps
    running = torch.ones(symbols.shape[:2], dtype=torch.bool, device=symbols.device)
    survival = torch.ones_like(running, dtype=torch.float32)
    steps = torch.full_like(running, cap, dtype=torch.int64)
    predicted = torch.zeros(*symbols.shape[:2], size.width, dtype=torch.int64, device=symbols.device)
    seen = watch is not None or chosen == "plain"
    going = None if seen else lambda: running.any(0)
    for moment in unroll(Start(network, symbols, size, cap, hard, form=chosen), going):
        n, _, top, halting = moment
        if watch is not None:
            watch(moment)
        if n == cap:
            halt = running
        elif halting is None:
            continue
        elif rule == "sampled":
            assert draws is not None, "sampled halting needs its draws"
            halt = running & (draws[..., n] < halting)
        else:
            survival = survival * (1 - halting)
            halt = running & (survival <= 0.5)
        if bool(halt.any()):
            logits = network.read(top)
            if not bool(logits.isfinite().all()):
                raise UnsoundError(f"the network produced NaN after {n} steps; train it again")
            predicted = torch.where(halt[..., None], logits.argmax(-1), predicted)
            steps = torch.where(halt, n, steps)
            running = running & ~halt
            if not bool(running.any()):
                break
    return Outcome(predicted, steps, (steps == cap) & (rule != "fixed"))
