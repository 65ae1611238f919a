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

# Sums of either sort that judge one context, sums of each grid size and sort that are kept, contexts tried at most.
_JUDGES, _KEPT, _TRIES = 64, 2000, 500
# An entry is suspect if it stands in wrong sums so many times as often as entries do on the whole.
_SUSPECT = 4.0


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
        which = torch.arange(count, device=self.device).repeat_interleave(len(x) // count)[:, None, None]
        for _ in range(4 * sum(x.shape[1:])):
            after = flat[self.keys(x, state) + which * self.steps.numel()].long()
            if torch.equal(after, state):
                break
            state = after
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
    ranks = torch.where(suspect.flatten(), share, 0.0)
    tried: set[tuple[int, int, int]] = set()
    found = 0
    while len(tried) < _TRIES and (context := sums.worst(trial, ranks, tried)) is not None:
        tried.add(context)
        own, right, below = context
        entries = (own, suspect[own, :, right, below], right, below)
        code = _best(trial, entries, sums.holding(trial, context))
        if code is not None:
            trial.steps[entries] = code
            targets[own, entries[1].cpu().numpy(), right, below] = code
            found += 1
    return Mended(Lesson(learnt.codes, targets), wrong, len(tried), found)


class _Sums:
    """Some of the sums that were asked, by their grids' size, each as (cells, what should be read)."""

    def __init__(self) -> None:
        self.wrong: dict[torch.Size, tuple[Tensor, Tensor]] = {}
        self.right: dict[torch.Size, tuple[Tensor, Tensor]] = {}

    def keep(self, x: Tensor, wanted: Tensor, right: Tensor) -> None:
        for kept, which in ((self.wrong, ~right), (self.right, right)):
            before = kept.get(x.shape[1:], (x[:0], wanted[:0]))
            more = (x[which], wanted[which])
            kept[x.shape[1:]] = tuple(torch.cat(pair)[:_KEPT] for pair in zip(before, more, strict=True))  # type: ignore

    def worst(self, trial: _Trial, ranks: Tensor, tried: set[tuple[int, int, int]]) -> tuple[int, int, int] | None:
        """The context with the highest rank, of those that a sum which is still wrong shows."""
        side, best = trial.n + 1, (0.0, None)
        for size, (x, wanted) in self.wrong.items():
            state = trial.rest(x)
            still = ~trial.right(state, wanted)
            self.wrong[size] = (x[still], wanted[still])
            for key in trial.keys(x[still], state[still]).unique().tolist():
                context = (key // side**3, key // side % side, key % side)
                rank = float(ranks[key])
                if rank > best[0] and context not in tried:
                    best = (rank, context)
        return best[1]

    def holding(self, trial: _Trial, context: tuple[int, int, int]) -> list[tuple[Tensor, Tensor]]:
        """Sums that show the context, wrong ones and right ones."""
        side, found = trial.n + 1, []
        for group in (self.wrong, self.right):
            for x, wanted in group.values():
                keys = trial.keys(x, trial.rest(x))
                same = (keys // side**3 == context[0]) & (keys % side**2 == context[1] * side + context[2])
                holds = same.flatten(1).any(1).nonzero().squeeze(1)[:_JUDGES]
                found.append((x[holds], wanted[holds]))
        return found


def _best(trial: _Trial, entries: tuple[int, Tensor, int, int], judges: list[tuple[Tensor, Tensor]]) -> int | None:
    """The code in these entries with which most of the sums are right, if there is one that beats the code now."""
    tables = trial.steps.repeat(trial.n + 1, 1, 1, 1, 1)
    for code in range(trial.n):
        tables[(code, *entries)] = code
    right = torch.zeros(len(tables), device=trial.device)
    for x, wanted in judges:
        state = trial.rest(x.repeat(len(tables), 1, 1), tables)
        right += trial.right(state, wanted.repeat(len(tables), 1)).view(len(tables), -1).sum(1)
    best = int(right[:-1].argmax())
    alone = int((right[:-1] == right[best]).sum()) == 1
    return best if alone and right[best] > right[-1] else None
