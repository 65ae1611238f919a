"""Consolidation: a run is taught, by itself, to do in one step what it settles to.

A trained run is right at rest, but in contexts that occur only on the way it may be wrong for a step and mend itself.
It is its own teacher here. Nothing in this file knows what is added; all it is told are the results of training
problems.

1. It solves many sums. Where its result is right, what stands around every cell at rest is noted (`observe`).
2. Codes that read alike and lead their neighbours to the same codes are one and the same (`merge`).
3. What a cell holds at rest is a function of its symbol, its right and its lower neighbour, and among a few codes
   (siblings) also of its left one. This is the lesson (`lesson`): for any left neighbour, go there in one step.
   Siblings count as the same to the right of a cell, because which of them stands there depends on that cell itself.
   In contexts never seen at rest any code in use will do, so that the run stays within its codes.
4. The step is trained on all contexts of these codes until none differs and every logit has a margin (`fit`). The run
   then is a table, entry by entry.
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
_CONTEXTS = 1 << 16
# A code counts as a neighbour's other choice if a context takes it in this share of its cases, in so many contexts.
_SIBLING_SHARE, _SIBLING_CONTEXTS = 0.02, 3
# Two codes act alike if this share of what they do together differs at most, over at least so many cases.
_ALIKE, _TOGETHER = 0.1, 3
# A few hard contexts must not outweigh the rest: how often each comes in a batch at most.
_COPIES = 4
_WARM_UP = 20
# Between two looks at all contexts.
_LOOK = 100
# All bits off, as every cell starts.
_START = 0
ANY = -1
"""In place of a code: any will do."""
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
    """The table that a run should become."""

    codes: np.ndarray
    """The codes in use, as bits, the start first."""
    targets: np.ndarray
    """[12, n+1, n+1, n+1]: own symbol, left, right, below → the number of a code, or ANY; n is outside."""


def lesson(behaviour: Behaviour) -> Lesson:
    """What the run shows at rest, for any left neighbour. In contexts that it never shows any code in use will do."""
    counts, classes = behaviour.counts, siblings(behaviour)
    n = len(behaviour.codes)
    same = np.append(classes, n)[:, None] == np.append(classes, n)[None]
    # By the class of the right neighbour: what any of a class was seen to do counts for all of it.
    pooled = np.einsum("xlrbo,rs->xlsbo", counts, same.astype(np.int64))
    total = pooled.sum(1)
    main = total.argmax(-1)
    usual = np.where(total.sum(-1) > 0, main, ANY)
    allowed = classes[main][..., None] == classes
    seen = pooled * allowed[:, None]
    choice = total * allowed
    several = ((choice > _SIBLING_SHARE * choice.sum(-1, keepdims=True)) & (choice > 1)).sum(-1) > 1
    # How each left neighbour decides among siblings, over all contexts where there is a choice.
    vote = np.einsum("xlrbo,xrb->lo", seen, several.astype(np.int64))
    voted = vote[None, :, None, None] * allowed[:, None]
    targets = np.where((several[:, None] & (voted.sum(-1) > 0)), voted.argmax(-1), usual[:, None])
    targets = np.where(seen.sum(-1) > 0, seen.argmax(-1), targets)
    return _with_start(behaviour, targets, usual)


def _with_start(behaviour: Behaviour, targets: np.ndarray, usual: np.ndarray) -> Lesson:
    """The same over the table's numbers. A start that is never at rest is a left neighbour like any other."""
    codes, n = behaviour.codes, len(behaviour.codes)
    never = n + 1
    targets = np.pad(targets, ((0, 0), *[(0, 1)] * 3), constant_values=ANY)
    targets[:, never, :never, :never] = usual
    others = np.flatnonzero(codes != _START)
    places = np.array([behaviour.members.get(_START, never), *others, n])
    number = np.full(n + 1, ANY)  # the last is that of ANY
    number[:n][codes == _START] = 0
    number[others] = 1 + np.arange(len(others))
    return Lesson(np.array([_START, *codes[others]]), number[targets[:, places][:, :, places][:, :, :, places]])


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
    generator = torch.Generator(device).manual_seed(seed)
    descent = torch.optim.Adam(free, betas=(0.9, 0.99))
    unsure, wrong = torch.zeros(0, dtype=torch.int64, device=device), 0
    for step in range(config.steps + 1):
        if step % _LOOK == 0:
            distances = school.distances()
            unsure, wrong = (distances <= config.margin).nonzero().squeeze(1), int((distances <= 0).sum())
            report(step, wrong)
            if not len(unsure) or step == config.steps:
                break
        drawn = torch.randint(count, (config.batch,), generator=generator, device=device)
        hard = min(config.batch // 4, _COPIES * len(unsure))
        if hard:
            drawn[:hard] = unsure[drawn[:hard] % len(unsure)]
        warm = min(1.0, (step + 1) / _WARM_UP)
        descent.param_groups[0]["lr"] = config.rate * warm * (1 + math.cos(math.pi * step / config.steps)) / 2
        descent.zero_grad()
        school.loss(drawn, config.margin).backward()
        descent.step()
    return wrong


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
    learnt = lesson(behaviour)
    seen = int((learnt.targets != ANY).any(1).sum())
    report(f"{observed.right:.4f} of the sums right, {len(behaviour.codes)} codes, {seen} contexts seen")
    looked: list[tuple[int, int]] = []

    def look(step: int, wrong: int) -> None:
        looked.append((step, wrong))
        report(f"step {step}: {wrong} of {learnt.targets.size} contexts differ")

    network.requires_grad_(True)
    wrong = fit(rule, learnt, config, seed, look)
    return Round(observed.right, len(behaviour.codes), seen, wrong, looked[-1][0])
