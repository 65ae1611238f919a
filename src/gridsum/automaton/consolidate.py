"""Consolidation: a run is taught, by itself, to do in one step what it settles to.

A trained run is right at rest, but in contexts that occur only on the way it may be wrong for a step and mend itself.
It is its own teacher here. Nothing in this file knows what is added; all it is told are the results of training problems.

1. It solves many sums. Where its result is right, what stands around every cell at rest is noted (`observe`).
2. Codes that read alike and lead their neighbours to the same codes are one and the same (`merge`).
3. What a cell holds at rest is a function of its symbol, its right and its lower neighbour, and among a few codes
   (siblings) also of its left one. This is the lesson (`lesson`): for any left neighbour, go there in one step. Siblings
   count as the same to the right of a cell, because which of them stands there depends on that cell itself.
4. Contexts that were never seen keep what the run does there now, rounded to a code in use, so that no other code ever
   appears.
5. The step is trained on all these contexts, until none differs and every logit has a margin (`fit`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.automaton.rule import LearnedRule, cells
from gridsum.automaton.table import CELL_SYMBOLS
from gridsum.model.rule import RuleNetwork
from gridsum.problems import Space, sample
from gridsum.recipe import ConsolidationConfig
from gridsum.streams import Stream

# Empty rows under the terms, columns beyond the longest result, and how many problems have few digits.
_GRIDS = ((1, 1, 1.0), (1, 2, 1.0), (2, 1, 1.0), (1, 1, 0.0))
_AT_ONCE = 25_000
# A code counts as a neighbour's other choice if a context takes it in this share of its cases, in so many contexts.
_SIBLING_SHARE, _SIBLING_CONTEXTS = 0.02, 3
# Two codes act alike if this share of what they do together differs at most, over at least so many cases.
_ALIKE, _TOGETHER = 0.1, 3
# Between two looks at all contexts.
_LOOK = 250
_FROZEN = ("embedding", "placement", "view", "reading", "gate")


@dataclass(frozen=True)
class Observed:
    """What stands around cells at rest: rows of (own symbol, left, right, below, own code), and how often each."""

    windows: np.ndarray
    counts: np.ndarray
    right: float
    """The share of the problems that were answered right."""


@torch.no_grad()
def observe(rule: LearnedRule, config: ConsolidationConfig, seed: int) -> Observed:
    """Windows at rest, in problems that were answered right."""
    side = rule.outside + 1
    reading, actions = rule.reading(), rule.actions()
    keys, solved, asked = [], 0, 0
    parts = max(len(_GRIDS), config.problems // _AT_ONCE)
    for part in range(parts):
        rows, columns, few = _GRIDS[part % len(_GRIDS)]
        space = Space((1, 4), config.digits)
        stream = Stream.of_seeds([seed], rule.device).fold(part)
        batch = sample(space, config.problems // parts, stream, few)
        height, width = space.terms[1] + rows, max(space.columns, space.digits[1] + 1) + columns
        x = cells(batch.symbols[0], actions, height, width)
        state, resting = rule.rest(x, 4 * (height + width))
        right = (reading[state[:, 0]] == batch.targets_for(width)[0]).all(-1) & resting
        solved, asked = solved + int(right.sum()), asked + len(x)
        x, state = x[right], state[right]
        around = F.pad(state, (1, 1, 0, 1), value=rule.outside)
        left, beside, below = around[:, :-1, :-2], around[:, :-1, 2:], around[:, 1:, 1:-1]
        key = (((x * side + left) * side + beside) * side + below) * side + state
        keys.append(torch.stack(key.flatten().unique(return_counts=True)))
    all_keys, counts = torch.cat(keys, 1)
    unique, where = all_keys.unique(return_inverse=True)
    total = torch.zeros_like(unique).index_add_(0, where, counts)
    columns = [unique // side**k % side for k in (4, 3, 2, 1, 0)]
    return Observed(torch.stack(columns, 1).cpu().numpy(), total.cpu().numpy(), solved / asked)


@dataclass(frozen=True)
class Behaviour:
    """How often each code follows each context, over the codes in use: [12, n+1, n+1, n+1, n]; n is outside."""

    codes: np.ndarray
    """The bit pattern of each code in use, and of those merged into it the most frequent."""
    counts: np.ndarray
    members: dict[int, int]
    """Every code that was seen often, as bits → the number of the one it was merged into."""


def merge(observed: Observed, reading: np.ndarray, rare: float) -> Behaviour:
    """The codes in use, those that read alike and act alike taken together."""
    windows, counts = observed.windows, observed.counts
    outside = len(reading)
    frequency = np.bincount(windows[:, 4], counts, minlength=outside + 1)
    used = np.flatnonzero(frequency >= rare * counts.sum())
    number = np.full(outside + 1, -1)
    number[used] = np.arange(len(used))
    number[outside] = len(used)
    rows = np.column_stack((windows[:, 0], number[windows[:, 1:]]))
    known = (rows >= 0).all(1) & (rows[:, 4] < len(used))
    side = len(used) + 1
    dense = np.zeros((len(CELL_SYMBOLS), side, side, side, len(used)), np.int64)
    np.add.at(dense, tuple(rows[known].T), counts[known])
    into = np.arange(len(used))
    order = sorted(range(len(used)), key=lambda code: -frequency[used[code]])
    again = True
    while again:
        again = False
        for place, code in enumerate(order):
            for other in order[:place]:
                alive = into[code] == code and into[other] == other
                if alive and reading[used[code]] == reading[used[other]] and _alike(dense, code, other):
                    for axis in range(1, 5):
                        lanes = np.moveaxis(dense, axis, 0)
                        lanes[other] += lanes[code]
                        lanes[code] = 0
                    into[into == code] = other
                    again = True
    kept = np.flatnonzero(into == np.arange(len(used)))
    keep = np.append(kept, len(used))
    position = {int(code): index for index, code in enumerate(kept)}
    members = {int(used[code]): position[int(into[code])] for code in range(len(used))}
    return Behaviour(used[kept], dense[:, keep][:, :, keep][:, :, :, keep][..., kept], members)


def _alike(dense: np.ndarray, code: int, other: int) -> bool:
    """Whether neighbours of either code come to the same code, wherever both were seen in the same context."""
    same = different = 0
    for axis in (1, 2, 3):
        ours, theirs = (np.moveaxis(dense, axis, 0)[which] for which in (code, other))
        shared = np.minimum(ours.sum(-1), theirs.sum(-1))
        seen = shared > 0
        a, b = ours[seen].argmax(-1), theirs[seen].argmax(-1)
        equal = np.where(a == code, other, a) == np.where(b == code, other, b)
        same, different = same + shared[seen][equal].sum(), different + shared[seen][~equal].sum()
    return bool(same >= _TOGETHER and different <= _ALIKE * same)


def siblings(behaviour: Behaviour) -> np.ndarray:
    """The class of each code: codes that one context takes, depending on its left neighbour alone, share one."""
    counts = behaviour.counts.sum(1)
    share = counts >= np.maximum(2, _SIBLING_SHARE * counts.sum(-1, keepdims=True))
    taken = share.reshape(-1, share.shape[-1]).astype(np.int64)
    together = taken.T @ taken >= _SIBLING_CONTEXTS
    classes = np.arange(len(behaviour.codes))
    for a, b in zip(*np.nonzero(together), strict=True):
        classes[classes == classes[a]] = classes[b]
    return classes


@dataclass(frozen=True)
class Lesson:
    """Contexts [N,4] (own symbol, left, right, below, as bits) and what follows each [N]; the first were seen at rest."""

    contexts: Tensor
    targets: Tensor
    seen: int


@torch.no_grad()
def lesson(rule: LearnedRule, behaviour: Behaviour) -> Lesson:
    """What the run shows at rest for any left neighbour, and what it does now in every other context of codes in use."""
    codes, counts, classes = behaviour.codes, behaviour.counts, siblings(behaviour)
    n = len(codes)
    same = np.append(classes, n)[:, None] == np.append(classes, n)[None]
    # By the class of the right neighbour: what any of a class was seen to do counts for all of it.
    pooled = np.einsum("xlrbo,rs->xlsbo", counts, same.astype(np.int64))
    total = pooled.sum(1)
    taught = total.sum(-1) > 0
    main = total.argmax(-1)
    allowed = classes[main][..., None] == classes
    seen = pooled * allowed[:, None]
    choice = total * allowed
    several = ((choice > _SIBLING_SHARE * choice.sum(-1, keepdims=True)) & (choice > 1)).sum(-1) > 1
    # How each left neighbour decides among siblings, over all contexts where there is a choice.
    vote = np.einsum("xlrbo,xrb->lo", seen, several.astype(np.int64))
    target = np.where(taught, main, -1)[:, None].repeat(n + 1, 1)
    voted = vote[None, :, None, None] * allowed[:, None]
    target = np.where((several[:, None] & (voted.sum(-1) > 0)), voted.argmax(-1), target)
    target = np.where(seen.sum(-1) > 0, seen.argmax(-1), target)
    device, outside = rule.device, rule.outside
    bits = torch.tensor(np.append(codes, outside), device=device)
    left_of = torch.full((outside + 1,), n, device=device)  # any other code on the left is taken for the usual one
    for code, number in behaviour.members.items():
        left_of[code] = number
    x, right, below = (torch.tensor(part, device=device) for part in np.nonzero(taught))
    usual = torch.tensor(main, device=device)[x, right, below]
    grid = torch.tensor(target, device=device)[x, :, right, below][:, left_of]
    stranger = left_of == n
    stranger[outside] = False
    grid = torch.where(stranger, usual[:, None], grid)
    anything = torch.arange(outside + 1, device=device).expand(len(x), -1)
    first = torch.stack((x[:, None].expand_as(anything), anything, bits[right][:, None].expand_as(anything),
                         bits[below][:, None].expand_as(anything)), -1).flatten(0, 1)  # fmt: skip
    known = torch.zeros(len(CELL_SYMBOLS), outside + 1, outside + 1, dtype=torch.bool, device=device)
    known[x, bits[right], bits[below]] = True
    start = bits.new_zeros(0 if bool((bits == 0).any()) else 1)
    every = torch.cat((bits, start))
    rest = torch.cartesian_prod(torch.arange(len(CELL_SYMBOLS), device=device), every, every, every)
    rest = rest[~known[rest[:, 0], rest[:, 2], rest[:, 3]]]
    now = rule(rest[:, 0], rest[:, 1:])
    nearest = _nearest(rule, bits[:-1], behaviour)
    targets = torch.cat((bits[grid.flatten()], nearest[now]))
    return Lesson(torch.cat((first, rest)), targets, len(first))


def _nearest(rule: LearnedRule, codes: Tensor, behaviour: Behaviour) -> Tensor:
    """For each of the 2^m codes the code in use that it was merged into, or else one that differs in the fewest bits."""
    distance = (rule.patterns[:, None] != rule.patterns[codes]).sum(-1)
    nearest = codes[distance.argmin(1)]
    for code, number in behaviour.members.items():
        nearest[code] = codes[number]
    return nearest


def fit(
    rule: LearnedRule, learnt: Lesson, config: ConsolidationConfig, seed: int, report: Callable[[int, int], None]
) -> int:
    """Train the step on the lesson, in place, until no context differs; returns how many still do."""
    network = rule.network
    free = [p for name, p in network.named_parameters() if not name.startswith(_FROZEN)]
    contexts, wanted = learnt.contexts, rule.patterns[learnt.targets]
    generator = torch.Generator(contexts.device).manual_seed(seed)
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in free]
    hard = torch.zeros(0, dtype=torch.int64, device=contexts.device)
    wrong = 0
    for step in range(config.steps + 1):
        if step % _LOOK == 0:
            hard, wrong = _unsure(rule, learnt, config.margin)
            report(step, wrong)
            if not len(hard) or step == config.steps:
                break
        chosen = [torch.randint(learnt.seen, (config.batch // 2,), generator=generator, device=contexts.device)]
        rest = config.batch // 4
        chosen.append(torch.randint(len(contexts), (rest,), generator=generator, device=contexts.device))
        chosen.append(hard[torch.randint(len(hard), (rest,), generator=generator, device=contexts.device)])
        which = torch.cat(chosen)
        z = rule.logits(contexts[which, 0], contexts[which, 1:])
        loss = F.softplus(2 * config.margin - wanted[which] * z).sum(-1).mean()
        rate = config.rate * min(1.0, (step + 1) / 20) * (1 + math.cos(math.pi * step / config.steps)) / 2
        _descend(free, torch.autograd.grad(loss, free), moments, step, rate)
    return wrong


@torch.no_grad()
def _descend(
    free: list[Tensor], gradient: tuple[Tensor, ...], moments: list[tuple[Tensor, Tensor]], step: int, rate: float
) -> None:
    """Adam."""
    for parameter, by, (mean, square) in zip(free, gradient, moments, strict=True):
        mean.lerp_(by, 0.1)
        square.lerp_(by * by, 0.01)
        root = (square / (1 - 0.99 ** (step + 1))).sqrt() + 1e-8
        parameter -= rate * mean / (1 - 0.9 ** (step + 1)) / root


@torch.no_grad()
def _unsure(rule: LearnedRule, learnt: Lesson, margin: float) -> tuple[Tensor, int]:
    """The contexts that differ or are closer to 0 than the margin, and how many differ."""
    prepared, unsure, wrong = rule.prepare(), [], 0
    for low in range(0, len(learnt.contexts), 1 << 16):
        contexts = learnt.contexts[low : low + (1 << 16)]
        signed = rule.logits(contexts[:, 0], contexts[:, 1:], prepared) * rule.patterns[learnt.targets[low : low + (1 << 16)]]
        least = signed.amin(-1)
        unsure.append((least < margin).nonzero().squeeze(1) + low)
        wrong += int((least <= 0).sum())
    return torch.cat(unsure), wrong


@dataclass(frozen=True)
class Round:
    """What one round of consolidation came to."""

    right: float
    codes: int
    contexts: int
    wrong: int
    steps: int


def consolidate(
    network: RuleNetwork, config: ConsolidationConfig, seed: int, report: Callable[[str], None] = lambda _: None
) -> Round:
    """One round of looking and learning, in place, for a network of one run."""
    rule = LearnedRule(network)
    observed = observe(rule, config, seed)
    behaviour = merge(observed, rule.reading().cpu().numpy(), config.rare)
    learnt = lesson(rule, behaviour)
    taught = learnt.seen // (rule.outside + 1)
    report(f"{observed.right:.4f} of the sums right, {len(behaviour.codes)} codes, {taught} contexts seen")
    looked: list[tuple[int, int]] = []

    def look(step: int, wrong: int) -> None:
        looked.append((step, wrong))
        report(f"step {step}: {wrong} of {len(learnt.contexts)} contexts differ")

    network.requires_grad_(True)
    wrong = fit(rule, learnt, config, seed, look)
    return Round(observed.right, len(behaviour.codes), taught, wrong, looked[-1][0])
