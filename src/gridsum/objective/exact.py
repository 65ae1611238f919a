"""The objective of `exact`: what a rollout of bits costs, as a pure function of it.

With K frames, the loss of a run is Σ_n n·L_n / Σ_n n: every frame counts, the later the more. L_n is the mean over
the two halves of the batch, which have grids of their own, of the cross-entropy weighted by class. Bits that are on
cost something.

Shapes: R runs, K frames, B problems, W columns. Every cost is returned per run, [R].
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.config.exact import DiscoveryConfig
from gridsum.objective.paper import character_accuracy, class_weights
from gridsum.tasks import PAD


@dataclass(frozen=True)
class Cost:
    """Per run [R]: the objective, and what it is made of."""

    total: Tensor
    loss: Tensor
    bits_on: Tensor
    """The mean share of bits that are on."""
    accuracy: Tensor
    """The share of characters right in the last frame."""
    results: Tensor
    """The same of whole results."""
    certain: Tensor
    """The characters right in problems that were placed by the most probable actions, the last of the batch."""


@dataclass(frozen=True)
class BitRollout:
    """What a training step's K recurrent steps came to."""

    logits: Tensor
    """[R,K,B,W,symbols]: what is read in the top row after each."""
    bits_on: Tensor
    """[R]: the mean share of bits that are on."""
    corrupted: Tensor
    """[R,B]: the problems whose cells are randomised in the first half of the steps."""


def cost(
    rollout: BitRollout,
    targets: Tensor,
    columns: Tensor,
    config: DiscoveryConfig,
    bit_cost: float | Tensor,
    pad_weight: float = 0.0,
) -> Cost:
    """The cost of a rollout against targets [R,B,W]; `columns` [R,B,W] is 1 in those of each problem's grid."""
    weight = class_weights(targets, pad_weight or config.pad_weight) * columns
    halves = weight.unflatten(1, (2, -1)).sum((2, 3))
    readings = readings_loss(rollout.logits, targets, rollout.corrupted) * weight[:, None]
    losses = readings.unflatten(2, (2, -1)).sum((3, 4)) / halves[:, None]
    number = torch.arange(1, losses.shape[1] + 1, device=losses.device)
    loss = (losses.mean(2) * number).sum(1) / number.sum()
    total = loss + bit_cost * rollout.bits_on

    predicted = rollout.logits[:, -1].detach().argmax(-1)
    inside = columns > 0
    characters = character_accuracy(predicted, targets, inside)
    wrong = (predicted != targets) & ((predicted != PAD) | (targets != PAD)) & inside
    sure = max(1, int(config.hard_share * targets.shape[1]))
    return Cost(
        total,
        loss.detach(),
        rollout.bits_on.detach(),
        characters.mean(1),
        (~wrong.any(-1)).float().mean(1),
        characters[:, -sure:].mean(1),
    )


def readings_loss(logits: Tensor, targets: Tensor, corrupted: Tensor) -> Tensor:
    """The cross-entropy [R,K,B,W] of every frame. While cells of a problem are being randomised, nothing is asked."""
    steps = logits.shape[1]
    losses = F.cross_entropy(logits.movedim(-1, 1), targets[:, None].expand(-1, steps, -1, -1), reduction="none")
    number = torch.arange(1, steps + 1, device=logits.device).view(-1, 1, 1)
    return losses.masked_fill(corrupted[:, None, :, None] & (2 * number <= steps), 0.0)
