"""Which patterns are one state is tried, and results are the judge.

Minimisation has to guess where too little was seen. From its guess this goes on: all cells of one state, or those of
one pattern and one kind, are counted as another state that reads alike, or as a new one. What makes more sums right is
kept, and what makes no sum wrong and leaves fewer states: the fewest that answer all sums. Then sums that were left out
so far are asked, and those that come out wrong count from there on. Nothing here knows what is added.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.automaton.minimise import Shown, TooManyStates, partition
from gridsum.automaton.observe import asked
from gridsum.automaton.rule import LearnedRule, around, come_to_rest
from gridsum.automaton.targets import ANY, TargetTable, target_table
from gridsum.config.exact import ConsolidationConfig
from gridsum.tasks import PAD

# Sums that judge at first, and of the others at most so many that are wrong in the end, so often.
_JUDGES, _MORE, _ROUNDS = 1000, 500, 5
# Tables tried at most, and all sums that judges are drawn from.
_TRIES, _SUMS = 2500, 50_000
# Of the judges so many are asked first.
_FIRST = 200


class Trial:
    """Grids that step by a table. A context that it does not have leads to the start.

    Sums on grids of all sizes are worked on together: where a smaller grid ends stands a symbol more, and cells with it
    stay outside.
    """

    def __init__(self, rule: LearnedRule, learnt: TargetTable, steps: np.ndarray | None = None) -> None:
        """With other `steps` than those of the table."""
        self.device, self.n, self.places = rule.device, len(learnt.states), rule.places
        steps = np.where(learnt.targets == ANY, 0, learnt.targets) if steps is None else steps
        steps = np.concatenate((steps, np.full_like(steps[:1], self.n)))
        self.steps = torch.tensor(steps, dtype=torch.uint8, device=self.device)
        self.outputs = F.pad(rule.outputs()[torch.tensor(learnt.states, device=self.device)], (0, 1), value=PAD)

    def keys(self, x: Tensor, state: Tensor) -> Tensor:
        """The number of the table's entry for each cell [B,H,W]."""
        side = self.n + 1
        left, right, below = around(state, self.n, self.places)
        return ((x * side + left) * side + right) * side + below

    def rest(self, x: Tensor, start: Tensor, tables: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """What grids come to by the table, or an equal share of the grids by each of these tables."""
        flat = (self.steps if tables is None else tables).flatten()
        count = len(flat) // self.steps.numel()
        first = torch.arange(count, device=self.device).repeat_interleave(len(x) // count)[:, None, None]

        def step(which: Tensor, state: Tensor) -> Tensor:
            return flat[self.keys(x[which], state) + first[which] * self.steps.numel()].long()

        return come_to_rest(step, start)

    def right(self, state: Tensor, resting: Tensor, wanted: Tensor) -> Tensor:
        """A grid that goes to and fro may read right at one step and wrong at the next, so it counts as wrong."""
        return (self.outputs[state[:, 0]] == wanted).all(-1) & resting


@dataclass(frozen=True)
class Sums:
    """Sums in an order of chance, each on a grid of the largest size."""

    x: Tensor
    wanted: Tensor

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
        return Sums(torch.cat(cells)[order], torch.cat(wanted)[order])

    def __len__(self) -> int:
        return len(self.x)

    def of(self, which: Tensor | slice) -> "Sums":
        return Sums(self.x[which], self.wanted[which])

    def and_then(self, others: "Sums") -> "Sums":
        return Sums(torch.cat((self.x, others.x)), torch.cat((self.wanted, others.wanted)))

    def right(self, rule: LearnedRule, learnt: TargetTable) -> Tensor:
        """Which of them [B] a table answers right."""
        trial = Trial(rule, learnt)
        return trial.right(*trial.rest(self.x, torch.zeros_like(self.x)), self.wanted)


class Search:
    """A partition of the types that a run shows, and its table, as good as trying makes them."""

    def __init__(self, rule: LearnedRule, shown: Shown, sums: Sums, classes: np.ndarray) -> None:
        """It begins with these classes, which can be written as a table."""
        self.rule, self.shown, self.sums = rule, shown, sums
        self.classes, self.learnt = classes, target_table(shown.behaviour(classes))
        self.tried, self.known = 0, set[bytes]()
        self.ask(sums.of(slice(_JUDGES)))

    @classmethod
    def begin(cls, rule: LearnedRule, shown: Shown, sums: Sums) -> "Search":
        """From the best of these partitions: the fewest states that explain what is shown, the same with strangers
        apart, and with each pattern a state of its own at first."""
        _, patterns = np.unique(np.stack((shown.reads, shown.seen.patterns)), axis=1, return_inverse=True)
        found, why = list[Search](), list[TooManyStates]()
        for first, apart in ((shown.reads, False), (shown.reads, True), (patterns, False)):
            try:
                found.append(cls(rule, shown, sums, partition(shown.seen, first, apart=apart)))
            except TooManyStates as error:
                why.append(error)
        if not found:
            raise why[0]
        return max(found, key=lambda search: search.right)

    @property
    def share(self) -> float:
        """Of the judges that are right."""
        return self.right / len(self.judges)

    def ask(self, judges: Sums) -> None:
        """These sums judge from now on."""
        self.judges, self.known = judges, set()
        self.right = int(judges.right(self.rule, self.learnt).sum())

    def run(self) -> TargetTable:
        """Until nothing is better any more."""
        for _ in range(_ROUNDS):
            while any([self.improve(members) for members in self.groups()]):  # all of them, then once more
                pass
            wrong = (~self.sums.right(self.rule, self.learnt)).nonzero()[:_MORE, 0]
            if not len(wrong) or self.tried >= _TRIES:
                break
            self.ask(self.sums.of(wrong).and_then(self.judges))
        return self.learnt

    def groups(self) -> list[np.ndarray]:
        """Types that may be counted as another state together. While sums are wrong, frequent ones come first; later
        rare ones, of which a state may not be one of its own."""
        shown, found = self.shown, list[np.ndarray]()
        for keys in ([self.classes], [self.classes, shown.seen.patterns, shown.seen.kinds]):
            _, group = np.unique(np.stack(keys), axis=1, return_inverse=True)
            order = np.argsort(np.bincount(group, shown.frequency), kind="stable")
            found += [group == each for each in order]
        return found[::-1] if self.right < len(self.judges) else found

    def improve(self, members: np.ndarray) -> bool:
        """Whether it is better if these types count as another state; if so, they do."""
        (now, *others), classes = np.unique(self.classes[members]), self.classes
        if others or self.tried >= _TRIES:
            return False  # they were parted by what was better in the meantime
        alike = np.unique(classes[self.shown.reads == self.shown.reads[members][0]])
        for to in (*alike[alike != now], classes.max() + 1):
            changed = np.where(members, to, classes)
            smaller = self.size(changed) < self.size(classes)
            if changed.tobytes() not in self.known and (smaller or self.right < len(self.judges)):
                self.known.add(changed.tobytes())
                self.tried += 1
                if self.take(changed, self.right + (not smaller)):
                    return True
        return False

    def size(self, classes: np.ndarray) -> tuple[int, int]:
        """How many kinds of cells the states have in all, and how many states there are."""
        return len(np.unique(np.stack((classes, self.shown.seen.kinds)), axis=1).T), len(np.unique(classes))

    def take(self, classes: np.ndarray, least: int) -> bool:
        """Go over to these classes, if so many sums are right at least by their table."""
        try:
            learnt = target_table(self.shown.behaviour(classes))
        except TooManyStates:
            return False
        right, asked = 0, 0
        for part in (self.judges.of(slice(_FIRST)), self.judges.of(slice(_FIRST, None))):  # most fail at the first
            right, asked = right + int(part.right(self.rule, learnt).sum()), asked + len(part)
            if right + len(self.judges) - asked < least:
                return False
        self.classes, self.learnt, self.right = classes, learnt, right
        return True
