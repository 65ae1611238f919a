"""What a run has never had right it finds by trying: the code with which results come right is taken.

A sum that is answered wrong holds a context, at rest, that wrong sums show far more often than right ones do. For each
such context every code in use is tried, and the results of sums that hold it, wrong and right ones, are the judge.
Nothing here knows what is added.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gridsum.automaton.lesson import ANY, Lesson
from gridsum.automaton.observe import asked
from gridsum.automaton.rule import LearnedRule, around
from gridsum.recipe import ConsolidationConfig

# Sums of either sort that judge one context, sums of each grid size and sort that are kept.
_JUDGES, _KEPT = 64, 4000
# Contexts tried at most, and tried in vain one after another before the rest is left.
_TRIES, _PATIENCE = 500, 40
# As many right sums more are taken to hold an entry, so that one seen once and by chance in a wrong sum ranks low.
_CHANCE = 5
# An entry is suspect if it stands in wrong sums so many times as often as entries do on the whole.
_SUSPECT = 4.0
# The share of the wrong sums that a code must mend.
_CONVINCING = 0.4


@dataclass(frozen=True)
class Mended:
    """A lesson with what was found, and how much that is."""

    lesson: Lesson
    wrong: int
    """Sums that the lesson alone would answer wrong."""
    tried: int
    """Contexts."""
    found: int
    """Those for which another code makes more results right."""


class _Trial:
    """Grids that step by a table, which may be tried with changes."""

    def __init__(self, rule: LearnedRule, learnt: Lesson) -> None:
        self.device, self.n = rule.device, len(learnt.codes)
        table = rule.table(learnt.codes.tolist()).steps
        steps = np.where(learnt.targets == ANY, table, learnt.targets)
        self.steps = torch.tensor(steps, dtype=torch.uint8, device=self.device)
        self.reading = rule.reading()[torch.tensor(learnt.codes, device=self.device)]

    def keys(self, x: Tensor, state: Tensor) -> Tensor:
        """The number of the table's entry for each cell [B,H,W]."""
        side = self.n + 1
        left, right, below = around(state, self.n)
        return ((x * side + left) * side + right) * side + below

    def rest(self, x: Tensor, tables: Tensor | None = None) -> Tensor:
        """The codes that grids come to by the table; or an equal share of the grids by each of these tables."""
        state = torch.zeros_like(x)
        flat = (self.steps if tables is None else tables).flatten()
        count = len(flat) // self.steps.numel()
        first = torch.arange(count, device=self.device).repeat_interleave(len(x) // count)[:, None, None]
        moving, now, first = torch.arange(len(x), device=self.device), state, first * self.steps.numel()
        for _ in range(4 * sum(x.shape[1:])):
            after = flat[self.keys(x, now) + first].long()
            changed = (after != now).flatten(1).any(1)
            state[moving] = after
            if not changed.any():
                break
            x, now, first, moving = x[changed], after[changed], first[changed], moving[changed]
        return state

    def right(self, state: Tensor, wanted: Tensor) -> Tensor:
        return (self.reading[state[:, 0]] == wanted).all(-1)


@torch.no_grad()
def mend(rule: LearnedRule, learnt: Lesson, config: ConsolidationConfig, seed: int) -> Mended:
    """The lesson, and where sums stay wrong by it what trying finds."""
    trial, targets = _Trial(rule, learnt), learnt.targets.copy()
    of_wrong, of_all = (torch.zeros(trial.steps.numel(), dtype=torch.int64, device=trial.device) for _ in range(2))
    wrong, sums = 0, _Sums()
    for x, wanted in asked(rule, config, seed):
        state = trial.rest(x)
        right, keys = trial.right(state, wanted), trial.keys(x, state)
        of_all += torch.bincount(keys.flatten(), minlength=len(of_all))
        of_wrong += torch.bincount(keys[~right].flatten(), minlength=len(of_all))
        wrong += int((~right).sum())
        sums.keep(x, wanted, right)
    share = of_wrong / of_all.clamp_min(1)
    usual = float(of_wrong.sum() / of_all.sum())
    suspect = ((of_all == 0) | (share > min(0.5, _SUSPECT * usual))).view_as(trial.steps)
    weights = torch.where(suspect, 1 / (of_all + _CHANCE).view_as(trial.steps), 0.0)
    tried = found = in_vain = 0
    sums.look(trial)
    while tried < _TRIES and in_vain < _PATIENCE and (context := sums.worst(weights)) is not None:
        tried, in_vain = tried + 1, in_vain + 1
        own, right, below = context
        weights[own, :, right, below] = 0.0  # a context is tried once
        entries = (own, suspect[own, :, right, below], right, below)
        code = _best(trial, entries, sums.holding(trial.n + 1, context))
        if code is not None:
            trial.steps[entries] = code
            targets[own, entries[1].cpu().numpy(), right, below] = code
            found, in_vain = found + 1, 0
            sums.look(trial)
    return Mended(Lesson(learnt.codes, targets), wrong, tried, found)


@dataclass
class _Kept:
    """Sums on grids of one size: cells [B,H,W], what should be read [B,W], and what they come to by the table."""

    x: Tensor
    wanted: Tensor
    keys: Tensor
    right: Tensor


class _Sums:
    """Some of the sums that were asked, wrong ones and right ones."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, ...], _Kept] = {}

    def keep(self, x: Tensor, wanted: Tensor, right: Tensor) -> None:
        size = tuple(x.shape[1:])
        before = self.kept.get(size, _Kept(x[:0], wanted[:0], x[:0], right[:0]))
        both = [torch.cat(pair) for pair in ((before.x, x), (before.wanted, wanted), (before.right, right))]
        some = torch.cat([(both[2] == sort).nonzero().squeeze(1)[:_KEPT] for sort in (False, True)])
        x, wanted, right = (part[some] for part in both)
        self.kept[size] = _Kept(x, wanted, x, right)

    def look(self, trial: _Trial) -> None:
        """What the sums come to by the table as it is now."""
        for kept in self.kept.values():
            state = trial.rest(kept.x)
            kept.keys, kept.right = trial.keys(kept.x, state), trial.right(state, kept.wanted)

    def worst(self, weights: Tensor) -> tuple[int, int, int] | None:
        """The context that stands in the largest share of wrong sums, by how often they show it times its weight."""
        shown = torch.zeros(weights.numel(), device=weights.device)
        for kept in self.kept.values():
            shown += torch.bincount(kept.keys[~kept.right].flatten(), minlength=len(shown))
        ranked = shown * weights.flatten()
        best, side = int(ranked.argmax()), weights.shape[-1]
        return (best // side**3, best // side % side, best % side) if ranked[best] > 0 else None

    def holding(self, side: int, context: tuple[int, int, int]) -> list[tuple[Tensor, Tensor]]:
        """Sums that show the context, wrong ones and right ones."""
        found = []
        for kept in self.kept.values():
            keys = kept.keys
            same = (keys // side**3 == context[0]) & (keys % side**2 == context[1] * side + context[2])
            holds = same.flatten(1).any(1)
            for sort in (False, True):
                some = (holds & (kept.right == sort)).nonzero().squeeze(1)[:_JUDGES]
                found.append((kept.x[some], kept.wanted[some]))
        return found


def _best(trial: _Trial, entries: tuple[int, Tensor, int, int], judges: list[tuple[Tensor, Tensor]]) -> int | None:
    """The code in these entries with which most of the sums are right, if it convinces.

    It must mend many of the wrong sums, more than it spoils, and more than any other code does; a single sum could be
    right by chance.
    """
    tables = trial.steps.repeat(trial.n + 1, 1, 1, 1, 1)
    for code in range(trial.n):
        tables[(code, *entries)] = code
    right = torch.zeros(len(tables), device=trial.device)
    for x, wanted in judges:
        state = trial.rest(x.repeat(len(tables), 1, 1), tables)
        right += trial.right(state, wanted.repeat(len(tables), 1)).view(len(tables), -1).sum(1)
    best, now = int(right[:-1].argmax()), right[-1]
    gain, wrong = float(right[best] - now), sum(len(x) for x, _ in judges) - float(now)
    alone = int((right[:-1] == right[best]).sum()) == 1
    return best if alone and gain > _CONVINCING * wrong and (gain > 1 or gain == wrong) else None
