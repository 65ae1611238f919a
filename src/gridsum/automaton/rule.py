"""The rule of one run of the network of bits, as a function of local contexts.

A context is a cell's own symbol and the states of its left, right and lower neighbour; a state is m bits as one
integer, 2^m stands for outside the grid. The function is the network's own (`RuleNetwork.react`), evaluated on lists of
contexts instead of grids, so that what is enumerated and what is solved with are one.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.automaton.run import most_steps, size_of
from gridsum.automaton.table import RuleTable
from gridsum.config.exact import POSITIONS, PROVABLE
from gridsum.data.answers import Answer, answered
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.model.inside import Trace
from gridsum.model.rule import RuleNetwork
from gridsum.ops.grids import neighbours
from gridsum.ops.placement.cpu import place_hard
from gridsum.tasks import FIRST_DIGIT

# Contexts are evaluated so many at a time; of a table, where rounding is followed, too.
_AT_ONCE, _ENTRIES = 1 << 16, 1 << 14
# Sums that show which states are in use: the fewest and the most terms, and the most digits.
_SHAPES = ((1, 4, 10), (1, 2, 20), (5, 8, 6), (2, 3, 3))
_SUMS = 2000
_RARE = 1e-4


class RuleError(ValueError):
    """A network from which no rule can be taken; the message says why."""


class Rules:
    """The rules of R runs. z [R,N,m] is a function of symbols [R,N] and contexts [R,N,3]."""

    places: tuple[str, ...] = PROVABLE
    """Where the neighbours of a context stand, in their order."""

    def __init__(self, network: RuleNetwork) -> None:
        positions = network.config.positions
        if set(positions) != set(self.places):
            raise RuleError(
                f"a rule can be taken from cells that see {', '.join(self.places)}; "
                f"this run's see {', '.join(positions)}"
            )
        self.network, self.task = network, network.task
        weight = network.embedding.weight
        self.device, self.dtype = weight.device, weight.dtype
        self.bits = network.config.bits
        self.outside = 2**self.bits
        states = torch.arange(self.outside, device=self.device)
        self.patterns = ((states[:, None] >> torch.arange(self.bits, device=self.device)) & 1).to(self.dtype) * 2 - 1

    def prepare(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What is the same for all contexts: cells and queries by symbol, keys and values by state, each [R,...,E]."""
        network = self.network
        patterns = self.patterns.expand(network.runs, -1, -1)
        keys, values = (F.pad(part, (0, 0, 0, 1)) for part in network.show(patterns))
        return *network.meet(self.vectors()), keys, values

    def vectors(self) -> Tensor:
        """What a cell meets by what it holds [R,x,E]; digits and signs follow each other in Σ."""
        written = self.network.vectors()[:, FIRST_DIGIT : self.task.alphabet.equals_symbol]
        return F.pad(written, (0, 0, 0, 1))

    def all_logits(self, x: Tensor, contexts: Tensor, prepared: tuple[Tensor, ...] | None = None) -> Tensor:
        """z [R,N,m] for symbols x [R,N] and contexts [R,N,3]: left, right, below."""
        cell, query, keys, values = prepared or self.prepare()
        seen = [contexts[..., self.places.index(name)] for name in self.network.config.positions]
        around = [torch.stack([_rows(part, state) for state in seen]) for part in (keys, values)]
        return self.network.react(_rows(cell, x), _rows(query, x), *around)


class LearnedRule(Rules):
    """One run's rule. It remembers every context it has been asked about."""

    def __init__(self, network: RuleNetwork) -> None:
        if network.runs != 1:
            raise RuleError(f"a rule is one run's, and this network has {network.runs}; take one with `alone`")
        super().__init__(network)
        # The contexts that it was asked about, each as one number, in order, and the states after them.
        self._asked = torch.tensor([torch.iinfo(torch.int64).max], device=self.device)
        self._after = torch.zeros_like(self._asked)

    def exchanged(self) -> "LearnedRule":
        """The same rule as one whose left is its right."""
        other, (left, right, below) = LearnedRule(self.network), self.places
        other.places = (right, left, below)
        return other

    def logits(self, x: Tensor, contexts: Tensor, prepared: tuple[Tensor, ...] | None = None) -> Tensor:
        """z [N,m] for symbols x [N] and contexts [N,3]: left, right, below."""
        return self.all_logits(x[None], contexts[None], prepared)[0]

    def states_of(self, z: Tensor) -> Tensor:
        return ((z > 0).long() << torch.arange(self.bits, device=z.device)).sum(-1)

    @torch.no_grad()
    def __call__(self, x: Tensor, contexts: Tensor) -> Tensor:
        """The state [N] after one step."""
        prepared = self.prepare()
        parts = zip(x.split(_AT_ONCE), contexts.split(_AT_ONCE), strict=True)
        return torch.cat([self.states_of(self.logits(a, b, prepared)) for a, b in parts])

    @torch.no_grad()
    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """Whole grids [B,H,W] of symbols and states, one step on."""
        side, key = self.outside + 1, x
        for beside in around(state, self.outside, self.places):
            key = key * side + beside
        place = torch.searchsorted(self._asked, key)
        fresh = key[self._asked[place] != key].unique()
        if len(fresh):
            contexts = torch.stack([fresh // side**power % side for power in (2, 1, 0)], 1)
            self._asked, order = torch.cat((self._asked, fresh)).sort()
            self._after = torch.cat((self._after, self(fresh // side**3, contexts)))[order]
            place = torch.searchsorted(self._asked, key)
        return self._after[place]

    def rest(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The states [B,H,W] that grids come to, and which of them [B] are at rest."""
        return come_to_rest(self.step, x, torch.zeros_like(x))

    @torch.no_grad()
    def answer(self, terms: Sequence[str]) -> Answer:
        """The network's own answer to one expression: steps of whole grids until nothing changes."""
        size, symbols = size_of(terms, self.task), torch.tensor([self.task.encode(terms)], device=self.device)
        readout = self.network(symbols, size, most_steps(size))
        said = self.task.decode(readout.logits[-1, 0, 0].argmax(-1).tolist())
        return answered(self.task, terms, said, readout.steps[-1], readout.steps[-1] == most_steps(size))

    @torch.no_grad()
    def outputs(self) -> Tensor:
        """The symbol of Σ read in each state [2^m]."""
        return self.network.read(self.patterns[None])[0].argmax(-1)

    @torch.no_grad()
    def actions(self) -> Tensor:
        """The action of every symbol of Σ [13]."""
        return self.network.actions(hard=True)[0].argmax(-1)

    def table(self, codes_in_use: Sequence[int] | None = None) -> RuleTable:
        """The rule on the states that cells come to rest in, and the start; what leads out of these is rounded to one.

        Which states these are, if they are not given, is seen on random sums of all shapes. The table is a rule of its
        own, proved by itself.
        """
        rest = self._resting() if codes_in_use is None else torch.tensor(list(codes_in_use), device=self.device)
        states = torch.cat((rest.new_zeros(1), rest[rest != 0]))
        places = torch.cat((states, states.new_tensor([self.outside])))
        side = len(places)
        contexts = torch.cartesian_prod(
            torch.arange(len(self.task.alphabet.cell_symbols), device=self.device),
            *[torch.arange(side, device=self.device)] * 3,
        )
        after = self(contexts[:, 0], places[contexts[:, 1:]])
        distance = (self.patterns[:, None] != self.patterns[states]).sum(-1)
        steps = distance.argmin(1)[after].to(torch.uint8).cpu().numpy()
        outputs, actions = (tuple(part.tolist()) for part in (self.outputs()[states], self.actions()))
        steps = steps.reshape(-1, side, side, side)
        return RuleTable(self.bits, tuple(states.tolist()), steps, outputs, actions, self.task)

    def _resting(self) -> Tensor:
        """The states of cells at rest, but for those that are rarer than mistakes."""
        counts = torch.zeros(self.outside, dtype=torch.int64, device=self.device)
        for index, (fewest, most, digits) in enumerate(_SHAPES):
            space = Space((fewest, most), (1, digits))
            if self.task.most_terms is not None and most > self.task.most_terms:
                continue
            stream = Stream.of_seeds([index], self.device)
            symbols = sample(space, _SUMS // len(_SHAPES), stream, 0.5, self.task).symbols[0]
            x = cells(symbols, self.actions(), most + 1, max(space.columns_of(self.task), digits + 1) + 1)
            state, resting = self.rest(x)
            counts += torch.bincount(state[resting].flatten(), minlength=self.outside)
        return (counts > _RARE * counts.sum()).nonzero().squeeze(1)


def entries(rule: Rules, table: RuleTable) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """All entries of a table, in parts, as the network has them: symbols [N], contexts [N,3], the states [N] after."""
    states = torch.tensor([*table.states, rule.outside], device=rule.device)
    places = torch.tensor(np.indices(table.steps.shape).reshape(4, -1).T, device=rule.device)
    after = states[torch.tensor(table.steps.reshape(-1).astype(np.int64), device=rule.device)]
    for part, wanted in zip(places.split(_ENTRIES), after.split(_ENTRIES), strict=True):
        yield part[:, 0], states[part[:, 1:]], wanted


@dataclass(frozen=True)
class Agreement:
    """How far a network does what its table says, over all entries of the table."""

    entries: int
    different: int
    margin: float
    """How far from 0 the nearest logit is."""


@torch.no_grad()
def agreement(rule: LearnedRule, table: RuleTable) -> Agreement:
    """The network against every entry of the table: where none differs, the table is the network on these states."""
    prepared, different, margin = rule.prepare(), 0, math.inf
    for x, contexts, wanted in entries(rule, table):
        z = rule.logits(x, contexts, prepared)
        different += int((rule.states_of(z) != wanted).sum())
        margin = min(margin, float(z.abs().min()))
    return Agreement(table.steps.size, different, margin)


def _rows(part: Tensor, which: Tensor) -> Tensor:
    """Some rows [R,N] of [R,n,E]. The gradient of plain indexing would add up the copies of a row one by one."""
    first = torch.arange(len(part), device=part.device)[:, None] * part.shape[1]
    return F.embedding(which + first, part.flatten(0, 1))


def come_to_rest(step: Callable[[Tensor, Tensor], Tensor], x: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    """The states [B,H,W] that grids x come to from a start, and which of them [B] are at rest.

    `step` is told some of the grids, and their states.
    """
    state, moving = start.clone(), torch.arange(len(start), device=start.device)
    changed, now = moving >= 0, start
    for _ in range(4 * sum(start.shape[1:])):
        after = step(x, now)
        changed, now = (after != now).flatten(1).any(1), after
        count = int(changed.sum())
        if 2 * count <= len(moving):  # grids at rest may go on until it pays to leave them
            state[moving] = now
            moving, x, now, changed = moving[changed], x[changed], now[changed], changed[changed]
        if not count:
            break
    state[moving] = now
    resting = torch.ones(len(start), dtype=torch.bool, device=start.device)
    resting[moving[changed]] = False
    return state, resting


def around(state: Tensor, outside: int, places: Sequence[str]) -> list[Tensor]:
    """The states at these places around every cell of grids [B,H,W]."""
    seen = neighbours(state[None, ..., None], [POSITIONS[place] for place in places], outside)
    return [part[0, ..., 0] for part in seen]


def cells(symbols: Tensor, actions: Tensor, height: int, width: int) -> Tensor:
    """What every cell holds [B,H,W] after placing symbols [B,S] by the actions [13] of one run.

    PAD and `=` on a grid count as nothing.
    """
    one_hot = F.one_hot(symbols, len(actions)).float()[None]
    certain = F.one_hot(actions, 3).float()[symbols][None]
    grid = place_hard(one_hot, certain, height, width)[0]
    empty = len(actions) - 2  # Σ has PAD and `=` beside what a cell can hold, and a cell may hold nothing
    written = grid.argmax(-1)
    return torch.where((grid.sum(-1) > 0) & (written >= FIRST_DIGIT), written - FIRST_DIGIT, empty)


def trace_of_rule(table: RuleTable, terms: Sequence[str], states: np.ndarray) -> Trace:
    """The internals of a computation from its states [N+1,H,W]: bits as ±1, and outputs that are certain."""
    numbers = torch.from_numpy(states).long()
    bits = (torch.tensor(table.states)[numbers][..., None] >> torch.arange(table.bits)) & 1
    symbols = torch.tensor(table.task.encode(terms))
    actions = F.one_hot(torch.tensor(table.actions), 3).float()[symbols]
    outputs = F.one_hot(torch.tensor(table.outputs)[numbers], len(table.task.alphabet)).float()
    return Trace(symbols, actions, bits.float() * 2 - 1, outputs, None, None, table.task.alphabet.symbols)
