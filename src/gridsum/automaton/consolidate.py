"""Consolidation: a run is taught, by itself, to do in one step what it settles to.

A trained run is right at rest, but in contexts that occur only on the way it may be wrong for a step and mend itself.
It is its own teacher here. Nothing in this file, or in those that it calls, knows what is added; all it is told are the
results of training problems.

1. It solves many sums. Where its result is right, what stands around every cell at rest is noted (`observe`).
2. Codes that read alike and lead their neighbours to the same codes are one and the same (`merge`).
3. What a cell holds at rest is a function of its symbol, its right and its lower neighbour, and among a few codes
   (siblings) also of its left one. This is the lesson (`lesson`): for any left neighbour, go there in one step.
   Siblings count as the same to the right of a cell, because which of them stands there depends on that cell itself.
4. Where sums stay wrong, each code is tried in the contexts that no right sum shows, and results judge (`mend`). In all
   other contexts never seen at rest any code in use will do, so that the run stays within its codes.
5. The step is trained on all contexts of these codes until none differs and every logit has a margin (`fit`). The run
   then is a table, entry by entry.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.automaton.lesson import ANY, Lesson, lesson, merge
from gridsum.automaton.mend import mend
from gridsum.automaton.observe import kinds_of, observe
from gridsum.automaton.rule import LearnedRule
from gridsum.config.exact import ConsolidationConfig
from gridsum.model.rule import RuleNetwork
from gridsum.ops.devices import Replayed, on_gpu

_CONTEXTS = 1 << 16
# A few hard contexts must not outweigh the rest: how often each comes in a batch at most.
_COPIES = 4
_WARM_UP = 20
# Between two looks at all contexts.
_LOOK = 100
_FROZEN = ("embedding", "placement", "view", "reading", "gate")


class _Schooling:
    """A lesson for a run: its contexts one by one, and how far the run's logits are from what each wants."""

    def __init__(self, rule: LearnedRule, learnt: Lesson) -> None:
        self.rule, device = rule, rule.device
        places = torch.tensor([*learnt.codes, rule.outside], device=device)
        self.contexts = torch.tensor(np.indices(learnt.targets.shape).reshape(4, -1).T, device=device)
        self.contexts[:, 1:] = places[self.contexts[:, 1:]]
        self.targets = torch.tensor(learnt.targets, device=device).flatten()
        self.patterns = rule.patterns[places[:-1]]

    def logits(self, which: Tensor | slice, prepared: tuple[Tensor, ...] | None = None) -> Tensor:
        return self.rule.logits(self.contexts[which, 0], self.contexts[which, 1:], prepared)

    def loss(self, which: Tensor, margin: float) -> Tensor:
        """How unlikely the code that a context wants is by its logits; where any will do, that all are."""
        z, target = self.logits(which), self.targets[which]
        on = (self.patterns > 0).to(z.dtype)
        cost = F.softplus(2 * margin - z) @ on.T + F.softplus(2 * margin + z) @ (1 - on).T
        taught = cost.gather(1, target.clamp_min(0)[:, None])[:, 0]
        return torch.where(target == ANY, -torch.logsumexp(-cost, 1), taught).mean()

    @torch.no_grad()
    def distances(self) -> Tensor:
        """How far the logit nearest to 0 of each context is on its right side; where any will do, of the best code."""
        prepared, found = self.rule.prepare(), []
        for low in range(0, len(self.targets), _CONTEXTS):
            part = slice(low, low + _CONTEXTS)
            target = self.targets[part]
            least = (self.logits(part, prepared)[:, None] * self.patterns).amin(-1)
            found.append(torch.where(target == ANY, least.amax(1), least.gather(1, target.clamp_min(0)[:, None])[:, 0]))
        return torch.cat(found)


def fit(
    rule: LearnedRule, learnt: Lesson, config: ConsolidationConfig, seed: int, report: Callable[[int, int], None]
) -> int:
    """Train the step on the lesson, in place, until no context differs; returns how many still do."""
    free = [p for name, p in rule.network.named_parameters() if not name.startswith(_FROZEN)]
    school = _Schooling(rule, learnt)
    device, count = rule.device, len(school.targets)
    batch = min(config.batch, count)
    generator = torch.Generator(device).manual_seed(seed)
    rate = torch.zeros((), device=device)
    descent = torch.optim.Adam(free, rate, betas=(0.9, 0.99), capturable=on_gpu(device))

    def learn(drawn: Tensor) -> Tensor:
        loss = school.loss(drawn, config.margin)
        for parameter, gradient in zip(free, torch.autograd.grad(loss, free), strict=True):
            parameter.grad = gradient
        descent.step()
        return loss.detach()

    update = Replayed(learn) if on_gpu(device) else learn
    unsure, wrong = torch.zeros(0, dtype=torch.int64, device=device), 0
    for step in range(config.steps + 1):
        if step % _LOOK == 0:
            distances = school.distances()
            unsure, wrong = (distances <= config.margin).nonzero().squeeze(1), int((distances <= 0).sum())
            report(step, wrong)
            if not len(unsure) or step == config.steps:
                break
        drawn = torch.randint(count, (batch,), generator=generator, device=device)
        hard = min(batch // 4, _COPIES * len(unsure))
        if hard:
            drawn[:hard] = unsure[drawn[:hard] % len(unsure)]
        warm = min(1.0, (step + 1) / _WARM_UP)
        rate.fill_(config.rate * warm * (1 + math.cos(math.pi * step / config.steps)) / 2)
        update(drawn)
    return wrong


@dataclass(frozen=True)
class Round:
    """What one round of consolidation came to."""

    right: float
    codes: int
    contexts: int
    tried: int
    found: int
    wrong: int
    steps: int


def consolidate(
    network: RuleNetwork, config: ConsolidationConfig, seed: int, report: Callable[[str], None] = lambda _: None
) -> Round:
    """One round of looking and learning, in place, for a network of one run."""
    rule = LearnedRule(network)
    observed = observe(rule, config, seed)
    if observed.right < config.enough:
        report(f"{observed.right:.4f} of the sums right, which is too few to learn from")
        return Round(observed.right, 0, 0, 0, 0, 0, 0)
    behaviour = merge(observed, rule.reading().cpu().numpy(), config.rare)
    shown = lesson(behaviour, kinds_of(rule.actions()))
    seen = int((shown.targets != ANY).any(1).sum())
    report(f"{observed.right:.4f} of the sums right, {len(behaviour.codes)} codes, {seen} contexts seen")
    mended = mend(rule, shown, config, seed)
    if mended.tried:
        report(f"{mended.wrong} sums wrong by these: {mended.tried} contexts tried, a code found for {mended.found}")
    learnt, looked = mended.lesson, [0]

    def look(step: int, wrong: int) -> None:
        looked.append(step)
        report(f"step {step}: {wrong} of {learnt.targets.size} contexts differ")

    network.requires_grad_(True)
    wrong = fit(rule, learnt, config, seed, look)
    return Round(observed.right, len(behaviour.codes), seen, mended.tried, mended.found, wrong, looked[-1])
