"""What a run has never had right it finds by trying: the state with which results come right is taken.

A sum that is answered wrong holds a context, at rest, that wrong sums show far more often than right ones do. For each
such context every state in use is tried, and the results of sums that hold it, wrong and right ones, are the judge.
Every second grid begins with random states: a result must not depend on the start. Nothing here knows what is added.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.automaton.observe import asked
from gridsum.automaton.rule import LearnedRule
from gridsum.automaton.search import Trial
from gridsum.automaton.targets import ANY, TargetTable
from gridsum.config.exact import ConsolidationConfig
from gridsum.tasks import PAD

# Sums of either sort that judge one context, and that are kept of each part of those asked.
_JUDGES, _KEPT = 256, 1000
# Contexts tried at most, and tried in vain one after another before the rest is left.
_TRIES, _PATIENCE = 500, 40
# As many right sums more are taken to hold an entry, so that one seen once and by chance in a wrong sum ranks low.
_CHANCE = 5
# An entry is suspect if it stands in wrong sums so many times as often as entries do on the whole.
_SUSPECT = 4.0
# The share of the wrong sums that a state must correct.
_CONVINCING = 0.4


def _filled(rule: LearnedRule, learnt: TargetTable) -> Trial:
    """Where the table is silent, the run's own step fills in."""
    steps = np.where(learnt.targets == ANY, rule.table(learnt.states.tolist()).steps, learnt.targets)
    return Trial(rule.outputs(), rule.places, learnt, steps)


@torch.no_grad()
def judge(rule: LearnedRule, learnt: TargetTable, config: ConsolidationConfig, seed: int) -> tuple[float, TargetTable]:
    """The share of the sums asked that the target table answers right, and the table without the gaps it stood on.

    Where the target table is silent, the run's own step fills in here, and fitting may choose any state. So what filled
    in where right sums came to rest becomes part of the table, unless it is a start that else is never at rest. (Cells
    that nobody reads may never rest in the run itself, and then it shows nothing of them.)
    """
    trial, right, problems = _filled(rule, learnt), 0, 0
    met = torch.zeros(trial.steps.numel(), dtype=torch.int64, device=trial.device)
    for x, wanted in asked(rule, config, seed):
        state, resting = trial.rest(x, torch.zeros_like(x))
        fine = trial.right(state, resting, wanted)
        met += torch.bincount(trial.keys(x, state)[fine].flatten(), minlength=len(met))
        right, problems = right + int(fine.sum()), problems + len(x)
    seen, steps = (part.view_as(trial.steps)[:-1].cpu().numpy() for part in (met, trial.steps))
    usual = np.take_along_axis(steps, seen.argmax(1)[:, None], 1)
    silent = ((learnt.targets == ANY).all(1) & seen.any(1))[:, None] & np.isin(usual, learnt.targets)
    return right / problems, replace(learnt, targets=np.where(silent, usual, learnt.targets))


@torch.no_grad()
def repair(
    rule: LearnedRule, learnt: TargetTable, config: ConsolidationConfig, seed: int
) -> tuple[TargetTable, int, int]:
    """The target table, and where sums stay wrong by it what trying finds; how many contexts were tried, and for how
    many another state makes more results right."""
    trial, targets = _filled(rule, learnt), learnt.targets.copy()
    of_wrong, of_all = (torch.zeros(trial.steps.numel(), dtype=torch.int64, device=trial.device) for _ in range(2))
    parts = list[_Sums]()
    generator = torch.Generator(trial.device).manual_seed(seed)
    for part, (x, wanted) in enumerate(asked(rule, config, seed)):
        start = torch.randint(trial.n, x.shape, generator=generator, device=trial.device) * (part % 2)
        state, resting = trial.rest(x, start)
        right, keys = trial.right(state, resting, wanted), trial.keys(x, state)
        of_all += torch.bincount(keys.flatten(), minlength=len(of_all))
        of_wrong += torch.bincount(keys[~right].flatten(), minlength=len(of_all))
        parts.append(_Sums(x, start, wanted, keys, right).some(torch.ones_like(right), _KEPT))
    if not of_wrong.any():
        return learnt, 0, 0
    sums = _together(parts, trial, generator)
    share = of_wrong / of_all.clamp_min(1)
    usual = float(of_wrong.sum() / of_all.sum())
    suspect = ((of_all == 0) | (share > min(0.5, _SUSPECT * usual))).view_as(trial.steps)
    suspect[-1] = False  # no cell
    weights = torch.where(suspect, 1 / (of_all + _CHANCE).view_as(trial.steps), 0.0)
    tried = found = in_vain = 0
    while tried < _TRIES and in_vain < _PATIENCE and (context := sums.worst(weights)) is not None:
        tried, in_vain = tried + 1, in_vain + 1
        alike = _alike(learnt, context, trial.device)
        entries = suspect & alike[:, None]
        weights.masked_fill_(alike[:, None], 0.0)  # a context is tried once
        better = _best(trial, entries, sums.holding(alike))
        if better is not None:
            trial.steps[entries] = better
            targets[entries[:-1].cpu().numpy()] = better
            found, in_vain = found + 1, 0
            sums.look(trial)
    return replace(learnt, targets=targets), tried, found


def _alike(learnt: TargetTable, context: tuple[int, int, int], device: torch.device) -> Tensor:
    """The contexts [x+1,n+1,n+1] that count as the same: a change of one alone would send a cell to and fro."""
    own, right, below = context
    same = np.zeros((len(learnt.targets) + 1, *learnt.targets.shape[2:]), bool)
    same[own] = (learnt.beside == learnt.beside[right])[:, None] & (learnt.under == learnt.under[below])
    return torch.tensor(same, device=device)


@dataclass
class _Sums:
    """Sums on grids of one size: cells and first states [B,H,W], what should be read [B,W], what they come to."""

    x: Tensor
    start: Tensor
    wanted: Tensor
    keys: Tensor
    right: Tensor

    def of(self, which: Tensor) -> "_Sums":
        return _Sums(self.x[which], self.start[which], self.wanted[which], self.keys[which], self.right[which])

    def some(self, among: Tensor, most: int) -> "_Sums":
        """Of these, so many wrong ones and so many right ones at most."""
        return self.of(torch.cat([(among & (self.right == sort)).nonzero()[:most, 0] for sort in (False, True)]))

    def look(self, trial: Trial) -> None:
        """What the sums come to by the table as it is now."""
        state, resting = trial.rest(self.x, self.start)
        self.keys, self.right = trial.keys(self.x, state), trial.right(state, resting, self.wanted)

    def worst(self, weights: Tensor) -> tuple[int, int, int] | None:
        """The context that stands in the largest share of wrong sums, by how often they show it times its weight."""
        shown = torch.bincount(self.keys[~self.right].flatten(), minlength=weights.numel())
        ranked = shown * weights.flatten()
        best, side = int(ranked.argmax()), weights.shape[-1]
        return (best // side**3, best // side % side, best % side) if ranked[best] > 0 else None

    def holding(self, contexts: Tensor) -> "_Sums":
        """Sums that show one of the contexts [x,right,below], wrong ones and right ones."""
        side = contexts.shape[-1]
        same = contexts.flatten()[self.keys // side**3 * side**2 + self.keys % side**2]
        return self.some(same.flatten(1).any(1), _JUDGES)


def _together(parts: list[_Sums], trial: Trial, generator: torch.Generator) -> _Sums:
    """The sums of all parts in an order of chance, each on a grid of the largest size."""
    height, width = (max(part.x.shape[axis] for part in parts) for axis in (1, 2))
    cells, starts, results = [], [], []
    for part in parts:
        more = (width - part.x.shape[2], 0, 0, height - part.x.shape[1])
        cells.append(F.pad(part.x, more, value=len(trial.steps) - 1))
        starts.append(F.pad(part.start, more, value=trial.n))
        results.append(F.pad(part.wanted, more[:2], value=PAD))
    order = torch.randperm(sum(map(len, cells)), generator=generator, device=trial.device)
    x, start, wanted = (torch.cat(part)[order] for part in (cells, starts, results))
    sums = _Sums(x, start, wanted, x, x)
    sums.look(trial)
    return sums


def _best(trial: Trial, entries: Tensor, judges: _Sums) -> int | None:
    """The state in these entries with which most of the sums are right, if it convinces.

    It must correct many of the wrong sums, more than it spoils, and more than any other state does; a single sum could
    be right by chance.
    """
    tables = trial.steps.repeat(trial.n + 1, 1, 1, 1, 1)
    for state in range(trial.n):
        tables[state, entries] = state
    x, start, wanted = (
        part.repeat(len(tables), *[1] * (part.ndim - 1)) for part in (judges.x, judges.start, judges.wanted)
    )
    right = trial.right(*trial.rest(x, start, tables), wanted).view(len(tables), -1).sum(1)
    best, now = int(right[:-1].argmax()), right[-1]
    gain, wrong = float(right[best] - now), len(judges.x) - float(now)
    alone = int((right[:-1] == right[best]).sum()) == 1
    return best if alone and gain > _CONVINCING * wrong and (gain > 1 or gain == wrong) else None
