"""The objective: what a rollout costs, as pure functions of what was read in it (Eq. 11 and 12).

Shapes: K frames, R runs, B problems, W columns. Every cost is returned per run, [R].
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.config.paper import ObjectiveConfig
from gridsum.model.paper import Readout
from gridsum.tasks import PAD


@dataclass(frozen=True)
class Cost:
    """Per run [R]: the objective, and what it is made of."""

    total: Tensor
    expected_loss: Tensor
    regulariser: Tensor
    accuracy: Tensor
    """Character accuracy expected under p."""
    steps: Tensor
    """E[N_h], the mean number of steps before halting."""


def cost(
    rollout: Readout,
    targets: Tensor,
    config: ObjectiveConfig,
    columns: Tensor | None = None,
    success: Tensor | None = None,
) -> Cost:
    """The cost of `rollout` against targets [R,B,W] (Eq. 11). `columns` (bool [R,W]) says which columns belong to each
    run's grid. `success` is the measure a [R,B] where that is `sampled` (see `sampled_success`)."""
    inside = _inside(targets, columns)
    step = torch.arange(rollout.steps.start, rollout.steps.stop, device=targets.device).view(-1, 1, 1)
    kind = torch.promote_types(rollout.logits.dtype, torch.float32)  # weights add up, whatever the products' precision
    p = rollout.probability
    weight = class_weights(targets, config.pad_weight).to(kind) * inside
    losses = cross_entropy(rollout.logits, targets, weight)
    if config.normalise == "batch":
        scale = weight.sum((-1, -2))[None, :, None]
    else:
        running = (step <= rollout.truncation).to(weight.dtype)
        scale = (running * weight.sum(-1)).sum(-1, keepdim=True).clamp_min(torch.finfo(weight.dtype).tiny)
    expected_loss = (p * losses / scale).sum((0, 2))

    accuracies = character_accuracy(rollout.logits.detach().argmax(-1), targets, inside)
    expected_accuracy = (p.detach() * accuracies).sum(0)
    if config.regulariser == "none":
        regulariser = torch.zeros_like(expected_loss)
    elif config.regulariser == "kl":
        regulariser = kl_from_geometric(p, rollout.truncation, config.prior, config.truncate_prior).mean(-1)
    else:
        a = expected_accuracy if config.success == "expected" else success
        assert a is not None, "a sampled measure of success is drawn beforehand"
        regulariser = explore_reinforce(p, a, step).mean(-1)
    return Cost(
        expected_loss + config.weight * regulariser,
        expected_loss.detach(),
        regulariser.detach(),
        expected_accuracy.mean(-1),
        (p.detach() * step).sum(0).mean(-1),
    )


@torch.no_grad()
def sampled_success(rollout: Readout, targets: Tensor, draws: Tensor, columns: Tensor | None = None) -> Tensor:
    """a [R,B]: each sample's character accuracy at one step drawn from p by `draws` [R,B], uniform in [0, 1): the first
    after which it has halted with a probability above the draw."""
    accuracies = character_accuracy(rollout.logits.argmax(-1), targets, _inside(targets, columns))
    # One too far where the draw exceeds p's rounded sum.
    drawn = (torch.cumsum(rollout.probability, 0) <= draws).sum(0)
    return accuracies.gather(0, drawn.minimum(rollout.truncation - rollout.steps.start)[None])[0]


def _inside(targets: Tensor, columns: Tensor | None) -> Tensor:
    return torch.ones_like(targets, dtype=torch.bool) if columns is None else columns[:, None].expand_as(targets)


def class_weights(targets: Tensor, pad_weight: float) -> Tensor:
    """The weight of each position: `pad_weight` where the target is PAD, 1 elsewhere."""
    return torch.where(targets == PAD, pad_weight, 1.0)


def cross_entropy(logits: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    """[K,R,B]: every sample's weighted cross-entropy, summed over columns."""
    chosen = F.log_softmax(logits, -1).gather(-1, targets[None, ..., None].expand(*logits.shape[:-1], 1))
    return -(weight * chosen.squeeze(-1)).sum(-1)


def character_accuracy(predicted: Tensor, targets: Tensor, inside: Tensor) -> Tensor:
    """[K,R,B]: the share of right characters of each sample, among positions where either is not PAD."""
    valid = ((predicted != PAD) | (targets != PAD)) & inside
    right = valid & (predicted == targets)
    return right.sum(-1) / valid.sum(-1).clamp_min(1)


def explore_reinforce(p: Tensor, success: Tensor, step: Tensor) -> Tensor:
    """−(1 − a)·H(p) + a·E[log(1 + N_h)] of each sample; `success` is a, p leads with the reading."""
    entropy = -_p_log_p(p).sum(0)
    effort = (p * torch.log1p(step.to(p.dtype))).sum(0)
    return -(1 - success) * entropy + success * effort


def kl_from_geometric(p: Tensor, truncation: Tensor, prior: float, truncated: bool = False) -> Tensor:
    """KL(p ‖ geometric(λ_p)) of each sample, p leading with the reading. If the geometric distribution is `truncated`
    at the same N as p, its last step takes what remains: (1 − λ_p)^N."""
    step = torch.arange(p.shape[0], device=p.device).view(-1, *[1] * (p.dim() - 1))
    log_survival = step * math.log1p(-prior)
    chance = torch.where(step < truncation, math.log(prior), 0.0) if truncated else math.log(prior)
    return (_p_log_p(p) - p * (log_survival + chance)).sum(0)


def _p_log_p(p: Tensor) -> Tensor:
    """p log p, 0 at 0 with a finite gradient there (which torch.special.xlogy does not have)."""
    return p * p.clamp_min(torch.finfo(p.dtype).tiny).log()
