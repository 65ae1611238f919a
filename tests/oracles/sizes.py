"""Networks and training runs so small that they take a moment."""

from collections.abc import Mapping
from typing import Any

import torch

from gridsum.config.exact import RuleConfig
from gridsum.model.paper import Linear
from gridsum.model.rollout import Network

SMALLEST = {
    "training.batch": 4,
    "model.width": 16,
    "model.groups": 4,
    "model.heads": 16,
    "model.step_hidden": 16,
    "model.placement_hidden": 16,
    "model.context_heads": 4,
    "model.context_hidden": 16,
    "model.halting_hidden": 16,
}
"""A network of the paper's."""
TINY = SMALLEST | {"training.epochs": 1, "training.steps_per_epoch": 1}
"""A training run of it."""
TINY_EXACT = {
    **{f"rule.{name}": 8 for name in ("width", "hidden", "placement_hidden")},
    **{f"phases.{name}.steps": 0 for name in ("soft", "bits", "long")},
    "rule.bits": 3,
    "rule.groups": 2,
    "phases.place.steps": 1,
    "discovery.batch": 4,
    "discovery.epoch_steps": 1,
    "consolidation.rounds": 0,
}
"""A training run of exact, which learns nothing."""

SMALL_RULE = RuleConfig(bits=4, width=16, hidden=16, placement_hidden=8, groups=4)
"""A network of bits."""


def undecided(network: Network) -> Network:
    """With halting that hangs on the sample, and on each of up to three runs."""
    if network.context is not None:
        with torch.no_grad():
            decision = network.context.decision.layers[-1]
            assert isinstance(decision, Linear)
            decision.weight.mul_(6)
            decision.bias.add_(torch.tensor([[1.0], [-0.5], [0.0]])[: network.runs])
    return network


def as_options(settings: Mapping[str, Any]) -> list[str]:
    """Settings for a command line."""
    texts = {name: ",".join(map(str, value)) if isinstance(value, tuple) else value for name, value in settings.items()}
    return [f"--{name}={text}" for name, text in texts.items()]
