"""The rule of one run of the network of bits, as a function of local contexts.

A context is a cell's own symbol and the codes of its left, right and lower neighbour; a code is m bits as one integer,
2^m stands for outside the grid. The function is the network's own (`RuleNetwork.react`), evaluated on lists of contexts
instead of grids, so that what is enumerated and what is solved with are one.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.automaton.table import CELL_SYMBOLS, EMPTY_CELL, RuleTable
from gridsum.model.rule import RuleNetwork
from gridsum.recipe import PROVABLE
from gridsum.symbols import FIRST_DIGIT, PLUS

# Contexts are evaluated so many at a time.
_AT_ONCE = 1 << 16
# What a kept answer holds before it is known.
_UNKNOWN = -1


class RuleError(ValueError):
    """A network from which no rule can be taken; the message says why."""


def alone(network: RuleNetwork, run: int) -> RuleNetwork:
    """One run of a fleet as a network of its own."""
    single = RuleNetwork(network.config, [0]).to(network.decided.device, network.embedding.weight.dtype)
    single.load_state_dict({name: tensor[run : run + 1] for name, tensor in network.state_dict().items()})
    return single


class LearnedRule:
    """One run's rule. It remembers every context it has been asked about."""

    def __init__(self, network: RuleNetwork) -> None:
        if network.runs != 1:
            raise RuleError(f"a rule is one run's, and this network has {network.runs}; take one with `alone`")
        _check_neighbours(network)
        self.network = network
        weight = network.embedding.weight
        self.device, self.dtype = weight.device, weight.dtype
        self.bits = network.config.bits
        self.outside = 2**self.bits
        codes = torch.arange(self.outside, device=self.device)
        self.patterns = ((codes[:, None] >> torch.arange(self.bits, device=self.device)) & 1).to(self.dtype) * 2 - 1
        self._known: Tensor | None = None

    def prepare(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What is the same for all contexts: cells and queries by symbol, keys and values by code, each [1,...,E]."""
        network = self.network
        symbols = network.embedding.weight[:, FIRST_DIGIT : PLUS + 1]  # digits and `+` follow each other in Σ
        keys, values = (F.pad(part, (0, 0, 0, 1)) for part in network.show(self.patterns[None]))
        return *network.meet(F.pad(symbols, (0, 0, 0, 1))), keys, values

    def logits(self, x: Tensor, contexts: Tensor, prepared: tuple[Tensor, ...] | None = None) -> Tensor:
        """z [N,m] for symbols x [N] and contexts [N,3]: left, right, below."""
        cell, query, keys, values = prepared or self.prepare()
        hidden = torch.full_like(x, self.outside)
        seen = [contexts[:, PROVABLE.index(name)] if name in PROVABLE else hidden for name in self.network.config.positions]
        around = [[part[:, code] for code in seen] for part in (keys, values)]
        return self.network.react(cell[:, x], query[:, x], *around)[0]

    def codes_of(self, z: Tensor) -> Tensor:
        return ((z > 0).long() << torch.arange(self.bits, device=z.device)).sum(-1)

    @torch.no_grad()
    def __call__(self, x: Tensor, contexts: Tensor) -> Tensor:
        """The code [N] after one step."""
        prepared = self.prepare()
        parts = zip(x.split(_AT_ONCE), contexts.split(_AT_ONCE), strict=True)
        return torch.cat([self.codes_of(self.logits(a, b, prepared)) for a, b in parts])

    @torch.no_grad()
    def step(self, x: Tensor, state: Tensor) -> Tensor:
        """Whole grids [B,H,W] of symbols and codes, one step on."""
        side = self.outside + 1
        if self._known is None:
            shape = (len(CELL_SYMBOLS) * side**3,)
            self._known = torch.full(shape, _UNKNOWN, dtype=torch.int16, device=self.device)
        around = F.pad(state, (1, 1, 0, 1), value=self.outside)
        left, right, below = around[:, :-1, :-2], around[:, :-1, 2:], around[:, 1:, 1:-1]
        key = ((x * side + left) * side + right) * side + below
        after = self._known[key]
        unknown = key[after == _UNKNOWN].unique()
        if len(unknown):
            contexts = torch.stack((unknown // side**2 % side, unknown // side % side, unknown % side), 1)
            self._known[unknown] = self(unknown // side**3, contexts).to(torch.int16)
            after = self._known[key]
        return after.long()

    def rest(self, x: Tensor, limit: int, start: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The codes [B,H,W] that grids come to within `limit` steps, and which of them [B] are at rest by then."""
        state = torch.zeros_like(x) if start is None else start.clone()
        moving = torch.arange(len(x), device=x.device)
        for _ in range(limit):
            after = self.step(x[moving], state[moving])
            changed = (after != state[moving]).flatten(1).any(1)
            state[moving] = after
            moving = moving[changed]
            if not len(moving):
                break
        resting = torch.ones(len(x), dtype=torch.bool, device=x.device)
        resting[moving] = False
        return state, resting

    @torch.no_grad()
    def reading(self) -> Tensor:
        """The symbol of Σ read in each code [2^m]."""
        return self.network.read(self.patterns[None])[0].argmax(-1)

    @torch.no_grad()
    def actions(self) -> Tensor:
        """The action of every symbol of Σ [13]."""
        return self.network.actions(hard=True)[0].argmax(-1)

    def table(self, most: int = 200) -> RuleTable:
        """The rule on all codes that can appear from a start with all bits off, whatever the grid holds."""
        codes = [0]
        while True:
            steps, fresh = self._closed_over(codes)
            if not fresh:
                break
            codes += fresh
            if len(codes) > most:
                raise RuleError(f"more than {most} codes can appear: this run is not consolidated, so it has no small rule")
        reading = self.reading()[torch.tensor(codes, device=self.device)].tolist()
        return RuleTable(self.bits, tuple(codes), steps, tuple(reading), tuple(self.actions().tolist()))

    def _closed_over(self, codes: Sequence[int]) -> tuple[np.ndarray, list[int]]:
        """The steps on these codes by their numbers, and the codes that these do not hold yet."""
        side = len(codes) + 1
        known = torch.tensor([*codes, self.outside], device=self.device)
        grid = torch.cartesian_prod(*(torch.arange(n, device=self.device) for n in (len(CELL_SYMBOLS), *[side] * 3)))
        after = self(grid[:, 0], known[grid[:, 1:]])
        number = torch.full((self.outside,), -1, device=self.device)
        number[known[:-1]] = torch.arange(len(codes), device=self.device)
        fresh = after[number[after] < 0].unique().tolist()
        steps = number[after].clamp_min(0).to(torch.uint8).cpu().numpy()
        return steps.reshape(len(CELL_SYMBOLS), side, side, side), fresh


def _check_neighbours(network: RuleNetwork) -> None:
    gates = network.gates()
    opened = [name for k, name in enumerate(network.config.positions) if gates is None or gates[0, k] > 0]
    missing, more = set(PROVABLE) - set(network.config.positions), set(opened) - set(PROVABLE)
    if missing or more:
        raise RuleError(
            f"a rule can be taken from cells that see {', '.join(PROVABLE)}; this run's see {', '.join(opened)}"
        )


def cells(symbols: Tensor, actions: Tensor, height: int, width: int) -> Tensor:
    """What every cell holds [B,H,W] after placing symbols [B,S] by the actions [13] of one run."""
    from gridsum.model.engine.placement import place_hard

    one_hot = F.one_hot(symbols, len(actions)).float()[None]
    certain = F.one_hot(actions, 3).float()[symbols][None]
    grid = place_hard(one_hot, certain, height, width)[0]
    return torch.where(grid.sum(-1) > 0, grid.argmax(-1) - FIRST_DIGIT, EMPTY_CELL)
