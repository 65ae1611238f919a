"""The objective of `exact`: what a rollout of bits costs, as a pure function of it.

With K frames, the loss of a run is Σ_n n·L_n / Σ_n n: every frame counts, the later the more. L_n is the mean over
the two halves of the batch, which have grids of their own, of the cross-entropy weighted by class.

Shapes: R runs, K frames, B problems, W columns. Every cost is returned per run, [R].
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from gridsum.objective.paper import character_accuracy, class_weights, cross_entropy


@dataclass(frozen=True)
class Cost:
    """Per run [R]: the objective, and what training shows of it."""

    total: Tensor
    accuracy: Tensor
    """The share of characters right in the last frame."""
    results: Tensor
    """The same of whole results."""
    certain: Tensor
    """The share of characters right in problems that were placed by the most probable actions."""


def cost(logits: Tensor, targets: Tensor, columns: Tensor, certain: int, pad_weight: float) -> Cost:
    """The cost of what is read in the top row after each recurrent step, logits [R,K,B,W,symbols], against targets
    [R,B,W]; `columns` [R,B,W] is 1 in those of each problem's grid. The last `certain` problems of the batch were
    placed by the most probable actions."""
    weight = class_weights(targets, pad_weight) * columns
    halves = weight.unflatten(1, (2, -1)).sum((2, 3))
    losses = cross_entropy(logits.transpose(0, 1), targets, weight).unflatten(2, (2, -1)).sum(3) / halves
    number = torch.arange(1, len(losses) + 1, device=losses.device)
    loss = (losses.mean(2) * number[:, None]).sum(0) / number.sum()

    predicted = logits[:, -1].detach().argmax(-1)
    inside = columns > 0
    characters = character_accuracy(predicted, targets, inside)
    wrong = (predicted != targets) & inside
    return Cost(loss, characters.mean(1), (~wrong.any(-1)).float().mean(1), characters[:, -certain:].mean(1))
