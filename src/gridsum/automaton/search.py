"""Which patterns are one state is tried, and results are the judge.

Minimisation has to guess where too little was seen. From its guess this goes on: all cells of one state, or those of
one pattern and one kind, are counted as another state that reads alike, or as a new one. What makes more sums right is
kept; then what spoils no sum and leaves fewer states: the fewest that answer all sums. Sums that come out wrong then
judge, too, and it begins again. Nothing here knows what is added.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.automaton.minimise import Behaviour, Shown, TooManyStates, partition, tally
from gridsum.automaton.observe import asked
from gridsum.automaton.rule import LearnedRule, around, come_to_rest
from gridsum.automaton.targets import ANY, TargetTable, both_ways, one_way
from gridsum.config.exact import ConsolidationConfig
from gridsum.tasks import PAD

# Sums that judge at first, and of the others at most so many that are wrong in the end, so often.
_JUDGES, _MORE, _ROUNDS = 1000, 500, 3
# Tables tried at most, and all sums that judges are drawn from.
_TRIES, _SUMS = 2500, 50_000
# Of proposals to make more right so many are tried.
_LIKELY = 100
# The share of what is not said so far that a new state may come to say.
_HOPE = 0.3
# After so many tables there is news.
_NEWS = 200
# Of the judges so many are asked first; of all sums so many at once.
_FIRST, _PART = 200, 5000
# In place of a type: a state of its own.
_NEW = -1

Form = Callable[[Behaviour], TargetTable]
"""How a table is written."""
Proposal = tuple[bool, int, int]
"""Whether a whole state is counted as another, or those of one pattern and kind in it; one of its types; and one of the
other state's, or _NEW."""


class Trial:
    """Grids that step by a table. A context that it does not have leads to the start.

    Sums on grids of all sizes are worked on together: where a smaller grid ends stands a symbol more, and cells with it
    stay outside.
    """

    def __init__(
        self, outputs: Tensor, places: Sequence[str], learnt: TargetTable, steps: np.ndarray | None = None
    ) -> None:
        """`outputs` are by pattern; with other `steps` than those of the table."""
        self.device, self.n, self.places = outputs.device, len(learnt.states), places
        steps = np.where(learnt.targets == ANY, 0, learnt.targets) if steps is None else steps
        steps = np.concatenate((steps, np.full_like(steps[:1], self.n)))
        self.steps = torch.tensor(steps, dtype=torch.uint8, device=self.device)
        self.outputs = F.pad(outputs[torch.tensor(learnt.states, device=self.device)], (0, 1), value=PAD)

    def keys(self, x: Tensor, state: Tensor) -> Tensor:
        """The number of the table's entry for each cell [B,H,W]."""
        side = self.n + 1
        left, right, below = around(state, self.n, self.places)
        return ((x * side + left) * side + right) * side + below

    def rest(self, x: Tensor, start: Tensor, tables: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """What grids come to by the table, or an equal share of the grids by each of these tables."""
        flat, side = (self.steps if tables is None else tables).flatten(), self.n + 1
        table = torch.arange(len(flat) // self.steps.numel(), device=self.device).repeat_interleave(
            len(x) * self.steps.numel() // len(flat)
        )
        # A column and a row more on each grid, where it ends: then neighbours in one line of all cells are its own.
        own = F.pad(x, (0, 1, 0, 1), value=len(self.steps) - 1) + len(self.steps) * table[:, None, None]
        (to_left, to_right), width = (1, -1) if self.places[0] == "left" else (-1, 1), own.shape[2]

        def step(own: Tensor, state: Tensor) -> Tensor:
            line = F.pad(state.flatten(), (1, width), value=self.n)
            left, right, below = (line[1 - by : len(line) - width - by] for by in (to_left, to_right, -width))
            key = own.flatten().add(left, alpha=side**2).add_(right, alpha=side).add_(below)
            return flat.index_select(0, key).int().view_as(state)

        start = F.pad(start, (0, 1, 0, 1), value=self.n)
        state, resting = come_to_rest(step, (own * side**3).int(), start.int())
        return state[:, :-1, :-1], resting

    def right(self, state: Tensor, resting: Tensor, wanted: Tensor) -> Tensor:
        """A grid that goes to and fro may read right at one step and wrong at the next, so it counts as wrong."""
        return (self.outputs[state[:, 0].long()] == wanted).all(-1) & resting


@dataclass(frozen=True)
class Sums:
    """Sums in an order of chance, each on a grid of the largest size. Every second one begins with numbers of chance,
    which are taken for states: a result must not depend on the start."""

    x: Tensor
    wanted: Tensor
    start: Tensor

    @staticmethod
    def asked(rule: LearnedRule, config: ConsolidationConfig, seed: int) -> "Sums":
        """An equal share of each part of those that are asked."""
        parts = list(asked(rule, config, seed))
        share, nowhere = -(-_SUMS // len(parts)), len(rule.task.alphabet.cell_symbols)
        height, width = (max(x.shape[axis] for x, _ in parts) for axis in (1, 2))
        cells = [F.pad(x[:share], (width - x.shape[2], 0, 0, height - x.shape[1]), value=nowhere) for x, _ in parts]
        wanted = [F.pad(part[:share], (width - part.shape[1], 0), value=PAD) for _, part in parts]
        generator = torch.Generator(rule.device).manual_seed(seed)
        order = torch.randperm(sum(map(len, cells)), generator=generator, device=rule.device)
        x, wanted = torch.cat(cells)[order].cpu(), torch.cat(wanted)[order].cpu()
        start = torch.randint(256, x.shape, generator=generator, dtype=torch.uint8, device=rule.device)
        return Sums(x, wanted, (start * (order % 2)[:, None, None]).cpu())

    def of(self, which: Tensor | slice) -> "Sums":
        return Sums(self.x[which], self.wanted[which], self.start[which])

    def and_then(self, others: "Sums") -> "Sums":
        return Sums(*[torch.cat(parts) for parts in zip(vars(self).values(), vars(others).values(), strict=True)])


class Search:
    """A partition of the types that a run shows, and its table, as good as trying makes them."""

    def __init__(self, shown: Shown, form: Form, places: Sequence[str], sums: Sums, classes: np.ndarray) -> None:
        """It begins with these classes, which can be written as a table."""
        self.shown, self.form, self.places, self.sums = shown, form, places, sums
        self.classes, self.learnt = self.written(classes)
        self.tried, self.failed = 0, set[Proposal]()
        self.ask(sums.of(slice(_JUDGES)))

    @classmethod
    def begin(
        cls, shown: Shown, goes: str, places: Sequence[str], sums: Sums, report: Callable[[str], None]
    ) -> "Search":
        """From the best of those that it can begin with where rows hand on to this side, or both."""
        found, why = list[Search](), list[TooManyStates]()
        for form, classes in _starts(shown, goes):
            try:
                found.append(cls(shown, form, places, sums, classes))
            except TooManyStates as error:
                why.append(error)
        if not found:
            raise why[0]
        best = max(found, key=lambda search: search.share)
        report(f"{len(shown.reads)} types of cells, {len(best.learnt.states)} states at first, {best.share:.4f} right")
        return best

    @property
    def share(self) -> float:
        """Of the judges that are right."""
        return float(self.right.double().mean())

    def written(self, classes: np.ndarray) -> tuple[np.ndarray, TargetTable]:
        """The table of a partition, and its number for the state of each type."""
        behaviour = self.shown.behaviour(classes)
        learnt = self.form(behaviour)
        return np.searchsorted(learnt.states, behaviour.states)[behaviour.types], learnt

    def ask(self, judges: Sums) -> None:
        """These sums judge from now on."""
        self.judges, self.failed = judges, set()
        self.right = self.answered(judges, self.learnt)

    def answered(self, sums: Sums, learnt: TargetTable) -> Tensor:
        """Which of these sums [B] a table answers right."""
        trial = Trial(torch.from_numpy(self.shown.outputs), self.places, learnt)
        return trial.right(*trial.rest(sums.x, sums.start % trial.n), sums.wanted)

    def run(self, report: Callable[[str], None]) -> "Search":
        """First what makes more sums right, then what leaves smaller states; and again with those that are wrong."""
        told = 0

        def passes(more: int, most: int | None = None) -> bool:
            """Whether one of the proposals, by the table as it is, is taken."""
            nonlocal told
            for proposal in islice(self.proposals(), most):
                taken = self.take(proposal, more)
                if self.tried >= told + _NEWS:
                    told += _NEWS
                    report(f"{told} partitions tried, {len(self.learnt.states)} states, {self.share:.4f} right")
                if taken:
                    return True
            return False

        for _ in range(_ROUNDS):
            while passes(1, _LIKELY):
                pass
            parts = [self.sums.of(slice(first, first + _PART)) for first in range(0, len(self.sums.x), _PART)]
            self.solved = [(part, self.answered(part, self.learnt)) for part in parts]
            self.failed.clear()
            while passes(0):
                pass
            wrong = (~self.answered(self.sums, self.learnt)).nonzero()[:_MORE, 0]
            if not len(wrong):
                break
            self.ask(self.sums.of(wrong).and_then(self.sums.of(slice(_JUDGES))))
        return self

    def proposals(self) -> Iterator[Proposal]:
        """Partitions that count the cells of one state, or those of one pattern and kind in it, as another state that
        reads alike, or as a new one. First come those by which the table, as it is now, says most of what was seen; of
        a new state it is hoped that it says a share of what is not said so far."""
        shown, classes, n = self.shown, self.classes, len(self.learnt.states)
        (state, *_), first, group = np.unique(
            np.stack((classes, shown.seen.patterns, shown.seen.kinds)), axis=1, return_index=True, return_inverse=True
        )
        said, total = self._said(group, state, shown.reads[first])
        now = said[np.arange(len(state)), state].clip(min=0)  # the lowest row may read as something else
        gain = np.column_stack((said - now[:, None], _HOPE * (total - now)))
        whole = np.zeros((n, n))
        np.add.at(whole, state, gain[:, :n])
        whole[np.triu_indices(n)] = -math.inf  # whichever of two is named first, they become one
        gain[np.arange(len(state)), state] = -math.inf
        gain[np.bincount(state)[state] == 1] = -math.inf  # as the whole state is counted
        of_state = np.full(n + 1, _NEW)
        of_state[state] = first
        ways: list[tuple[float, Proposal]] = [
            (score, (members is of_state, int(members[one]), int(of_state[to])))
            for members, scores in ((of_state, whole), (first, gain))
            for (one, to), score in np.ndenumerate(scores)
            if score > -math.inf
        ]
        for _, proposal in sorted(ways, key=lambda way: -way[0]):
            yield proposal

    def _said(self, group: np.ndarray, state: np.ndarray, reads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[G,n]: how often the table says what was seen if a group of types is the state of each column, not its own
        `state` [G]; −∞ where it reads as something else. And how often the group was seen at all [G]."""
        seen, targets, count = self.shown.seen, self.learnt.targets, len(state)
        shape = (seen.symbols, *[count + 1] * 4)
        windows = (seen.windows[:, 0], *np.append(group, count)[seen.windows[:, 1:]].T)
        keys, weights = tally(np.ravel_multi_index(windows, shape), seen.counts)
        symbols, *cells = np.unravel_index(keys, shape)
        states = [np.append(state, len(self.learnt.states))[cell] for cell in cells]
        entry, own = np.ravel_multi_index((symbols, *states[:3]), targets.shape), states[3]
        strides = (*(stride // targets.itemsize for stride in targets.strides[1:]), 0)
        found, of_state = np.zeros((count, len(self.learnt.states))), np.full(len(self.learnt.states), -1)
        of_state[state] = reads
        for read in np.unique(reads):
            alike = np.append(reads == read, False)
            for cell, now, stride in zip(cells, states, strides, strict=True):
                which = np.flatnonzero(alike[cell])
                group, weight, beside = cell[which], weights[which], entry[which] - now[which] * stride
                for to in np.flatnonzero(of_state == read):
                    right = targets.ravel()[beside + to * stride] == (own[which] if stride else to)
                    found[:, to] += np.bincount(group, weight * right, count)
        found[reads[:, None] != of_state] = -math.inf
        return found, np.bincount(np.concatenate(cells), np.tile(weights, len(cells)), count + 1)[:-1]

    def changed(self, proposal: Proposal) -> np.ndarray:
        """The classes that a proposal makes of these."""
        (whole, one, to), seen = proposal, self.shown.seen
        part = self.classes == self.classes[one]
        if not whole:
            part &= (seen.patterns == seen.patterns[one]) & (seen.kinds == seen.kinds[one])
        return np.where(part, len(self.learnt.states) if to == _NEW else self.classes[to], self.classes)

    def take(self, proposal: Proposal, more: int) -> bool:
        """Go over to these classes, if by their table so many more judges are right, or else if they are smaller states
        and spoil no sum at all. What they would spoil is a judge from there on."""
        least = int(self.right.sum()) + more
        if self.tried >= _TRIES or least > len(self.right) or proposal in self.failed:
            return False
        self.failed.add(proposal)
        classes = self.changed(proposal)
        if not more and self.size(classes) >= self.size(self.classes):
            return False
        try:
            classes, learnt = self.written(classes)
        except TooManyStates:
            return False
        self.tried += 1
        right = torch.ones_like(self.right)
        for part in (slice(_FIRST), slice(_FIRST, None)):  # most fail at the first
            right[part] = self.answered(self.judges.of(part), learnt)
            if int(right.sum()) < least:
                return False
        if not more:
            for sums, solved in self.solved:
                spoilt = sums.of((solved & ~self.answered(sums, learnt)).nonzero()[:, 0])
                if len(spoilt.x):
                    self.judges = spoilt.and_then(self.judges)
                    self.right = F.pad(self.right, (len(spoilt.x), 0), value=True)
                    return False
        self.classes, self.learnt, self.right = classes, learnt, right
        return True

    def size(self, classes: np.ndarray) -> tuple[int, int]:
        """How many kinds of cells the states have in all, and how many states there are."""
        kinds = self.shown.seen.kinds
        return len(np.unique(classes * (kinds.max() + 1) + kinds)), len(np.unique(classes))


def _starts(shown: Shown, goes: str) -> Iterator[tuple[Form, np.ndarray]]:
    """How to write tables, and partitions to begin with: the fewest states that explain what is shown, the same with
    strangers apart, and with each pattern a state of its own at first. Where rows hand on both ways: each pattern."""
    if goes == "both":
        yield both_ways, shown.seen.patterns
        return
    _, patterns = np.unique(np.stack((shown.reads, shown.seen.patterns)), axis=1, return_inverse=True)
    for first, apart in ((shown.reads, False), (shown.reads, True), (patterns, False)):
        yield one_way, partition(shown.seen, first, apart=apart)
