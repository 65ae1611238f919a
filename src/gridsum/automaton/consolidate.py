"""Consolidation: a run is taught, by itself, to do in one step what it settles to.

A trained run is right at rest, but in contexts that occur only on the way it may be wrong for a step and mend itself.
It is its own teacher here. Nothing in this file knows what is added; all it is told are the results of training
problems.

1. It solves many sums. Where its result is right, what stands around every cell at rest is noted (`observe`).
2. Codes that read alike and lead their neighbours to the same codes are one and the same (`merge`).
3. What a cell holds at rest is a function of its symbol, its right and its lower neighbour, and among a few codes
   (siblings) also of its left one. This is the lesson (`lesson`): for any left neighbour, go there in one step.
   Siblings count as the same to the right of a cell, because which of them stands there depends on that cell itself.
4. The step is trained on these contexts with every one of the 2^m codes on the left, until none differs and every logit
   has a margin (`fit`).
"""

import math
from collections.abc import Callable, Sequence
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
_CONTEXTS = 1 << 16
# A code counts as a neighbour's other choice if a context takes it in this share of its cases, in so many contexts.
_SIBLING_SHARE, _SIBLING_CONTEXTS = 0.02, 3
# Two codes act alike if this share of what they do together differs at most, over at least so many cases.
_ALIKE, _TOGETHER = 0.1, 3
# Added to the root of the squared gradient: where nearly all contexts are right, steps become small.
_DAMPING = 1e-4
# How often a hard context comes in a batch at most.
_COPIES = 4
# Between two looks at all contexts.
_LOOK = 200
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
        state, _ = rule.rest(x, 4 * (height + width))
        right = (reading[state[:, 0]] == batch.targets_for(width)[0]).all(-1)
        solved, asked = solved + int(right.sum()), asked + len(x)
        x, state = x[right], state[right]
        resting = rule.step(x, state) == state
        around = F.pad(state, (1, 1, 0, 1), value=rule.outside)
        left, beside, below = around[:, :-1, :-2], around[:, :-1, 2:], around[:, 1:, 1:-1]
        key = (((x * side + left) * side + beside) * side + below) * side + state
        keys.append(torch.stack(key[resting].unique(return_counts=True)))
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
    frequency = np.bincount(windows[:, 4], counts, minlength=outside)
    used = np.flatnonzero(frequency >= max(1, rare * counts.sum()))
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
    """Whether neighbours of either code come to the same code, wherever both were seen in the same context.

    On its right and below a cell's code is seen whatever stands to the left of the one that sees it. Each side must
    agree: codes of one digit with and without a carry differ to their left alone.
    """
    over_left = dense.sum(1)
    together = 0
    for counts, axis in ((dense, 1), (over_left, 1), (over_left, 2)):
        same, different = _agreement(counts, axis, code, other)
        if different > _ALIKE * same:
            return False
        together += same
    return bool(together >= _TOGETHER)


def siblings(behaviour: Behaviour) -> np.ndarray:
    """The class of each code: codes that one context takes, depending on its left neighbour alone, share one.

    They must also lead the cell to their left to the same code wherever both were seen: else they tell it something.
    """
    counts = behaviour.counts.sum(1)
    share = counts >= np.maximum(2, _SIBLING_SHARE * counts.sum(-1, keepdims=True))
    taken = share.reshape(-1, share.shape[-1]).astype(np.int64)
    together = taken.T @ taken >= _SIBLING_CONTEXTS
    classes = np.arange(len(behaviour.codes))
    for a, b in zip(*np.nonzero(np.triu(together, 1)), strict=True):
        same, different = _agreement(counts, 1, a, b)
        if different <= _ALIKE * same:
            classes[classes == classes[a]] = classes[b]
    return classes


def _agreement(counts: np.ndarray, axis: int, code: int, other: int) -> tuple[int, int]:
    """In how many cases two codes at `axis` of a context lead to the same code, and to different ones."""
    ours, theirs = (np.moveaxis(counts, axis, 0)[which] for which in (code, other))
    shared = np.minimum(ours.sum(-1), theirs.sum(-1))
    seen = shared > 0
    a, b = ours[seen].argmax(-1), theirs[seen].argmax(-1)
    equal = np.where(a == code, other, a) == np.where(b == code, other, b)
    return int(shared[seen][equal].sum()), int(shared[seen][~equal].sum())


@dataclass(frozen=True)
class Lesson:
    """Contexts [N,4] (own symbol, left, right, below, as bits) and what follows each [N]."""

    contexts: Tensor
    targets: Tensor
    free: Tensor
    """Where any sibling will do: a choice that hangs on the left neighbour, beside a code that is not in use."""
    codes: Tensor
    """The codes in use, as bits."""
    groups: Tensor
    """The class of each."""
    taught: int
    """How many contexts there are, whatever the left neighbour."""


@torch.no_grad()
def lesson(rule: LearnedRule, behaviour: Behaviour) -> Lesson:
    """What the run shows at rest, for any left neighbour."""
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
    x, right, below = (torch.tensor(part, device=device) for part in np.nonzero(taught))
    usual, choices = (torch.tensor(part, device=device)[x, right, below] for part in (main, several))
    number = torch.full((outside + 1,), -1, device=device)
    for code, kept in behaviour.members.items():
        number[code] = kept
    number[outside] = n
    known = torch.tensor(target, device=device)[x, :, right, below][:, number.clamp_min(0)]
    follows = torch.where(number >= 0, known, usual[:, None])
    lefts = torch.arange(outside + 1, device=device)
    parts = torch.broadcast_tensors(x[:, None], lefts, bits[right][:, None], bits[below][:, None])
    free = choices[:, None] & (number < 0)
    groups = torch.tensor(classes, device=device)
    return Lesson(
        torch.stack(parts, -1).flatten(0, 1), bits[follows].flatten(), free.flatten(), bits[:-1], groups, len(x)
    )


def fit(
    rule: LearnedRule, learnt: Lesson, config: ConsolidationConfig, seed: int, report: Callable[[int, int], None]
) -> int:
    """Train the step on the lesson, in place, until no context differs; returns how many still do."""
    network = rule.network
    free = [p for name, p in network.named_parameters() if not name.startswith(_FROZEN)]
    contexts, targets = learnt.contexts, learnt.targets.clone()
    generator = torch.Generator(contexts.device).manual_seed(seed)
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in free]
    wrong = unsure = torch.zeros(0, dtype=torch.int64, device=contexts.device)

    def some(among: Tensor | int, count: int) -> Tensor:
        """Numbers of contexts, drawn from a list of them or from the first ones."""
        size = among if isinstance(among, int) else len(among)
        drawn = torch.randint(size, (count,), generator=generator, device=contexts.device)
        return drawn if isinstance(among, int) else among[drawn]

    for step in range(config.steps + 1):
        if step % _LOOK == 0:
            wrong, unsure = _look(rule, learnt, targets, config.margin, choose=step == 0)
            report(step, len(wrong))
            if not len(unsure) or step == config.steps:
                break
        # A few hard contexts must not outweigh the rest, or they are learnt at its cost.
        hard = [some(among, min(config.batch // 4, _COPIES * len(among))) for among in (wrong, unsure) if len(among)]
        which = torch.cat((some(len(contexts), config.batch - sum(map(len, hard))), *hard))
        z = rule.logits(contexts[which, 0], contexts[which, 1:])
        loss = F.softplus(2 * config.margin - rule.patterns[targets[which]] * z).sum(-1).mean()
        rate = config.rate * min(1.0, (step + 1) / 20) * (1 + math.cos(math.pi * step / config.steps)) / 2
        _descend(free, torch.autograd.grad(loss, free), moments, step, rate)
    return len(wrong)


@torch.no_grad()
def _descend(
    free: Sequence[Tensor], gradient: tuple[Tensor, ...], moments: list[tuple[Tensor, Tensor]], step: int, rate: float
) -> None:
    """Adam."""
    for parameter, by, (mean, square) in zip(free, gradient, moments, strict=True):
        mean.lerp_(by, 0.1)
        square.lerp_(by * by, 0.01)
        root = (square / (1 - 0.99 ** (step + 1))).sqrt() + _DAMPING
        parameter -= rate * mean / (1 - 0.9 ** (step + 1)) / root


@torch.no_grad()
def _look(rule: LearnedRule, learnt: Lesson, targets: Tensor, margin: float, choose: bool) -> tuple[Tensor, Tensor]:
    """The contexts that differ, and those that differ or are closer to 0 than the margin.

    If asked to choose, where any sibling will do the one that the logits are nearest to becomes the target.
    """
    prepared, unsure, wrong = rule.prepare(), [], []
    group_of = torch.full((rule.outside,), -1, device=targets.device)
    group_of[learnt.codes] = learnt.groups
    for low in range(0, len(learnt.contexts), _CONTEXTS):
        part = slice(low, low + _CONTEXTS)
        z = rule.logits(learnt.contexts[part, 0], learnt.contexts[part, 1:], prepared)
        near = z @ rule.patterns[learnt.codes].T
        near = near.masked_fill(group_of[targets[part], None] != learnt.groups, -torch.inf)
        if choose:
            targets[part] = torch.where(learnt.free[part], learnt.codes[near.argmax(-1)], targets[part])
        least = (z * rule.patterns[targets[part]]).amin(-1)
        unsure.append((least < margin).nonzero().squeeze(1) + low)
        wrong.append((least <= 0).nonzero().squeeze(1) + low)
    return torch.cat(wrong), torch.cat(unsure)


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
    if not len(observed.counts):
        report("no sum is answered right, so there is nothing to learn from")
        return Round(observed.right, 0, 0, 0, 0)
    behaviour = merge(observed, rule.reading().cpu().numpy(), config.rare)
    learnt = lesson(rule, behaviour)
    report(f"{observed.right:.4f} of the sums right, {len(behaviour.codes)} codes, {learnt.taught} contexts seen")
    looked: list[tuple[int, int]] = []

    def look(step: int, wrong: int) -> None:
        looked.append((step, wrong))
        report(f"step {step}: {wrong} of {len(learnt.contexts)} contexts differ")

    network.requires_grad_(True)
    wrong = fit(rule, learnt, config, seed, look)
    return Round(observed.right, len(behaviour.codes), learnt.taught, wrong, looked[-1][0])
