"""The network of bits: cells that hold m bits, see their own symbol and their neighbours' bits, and nothing else.

A step makes m logits z of each cell; a bit is z > 0. Placement, attention, norms and FFN_3 are the paper's
(`gridsum.model.paper`, Eq. 2, 3 and 5 to 7); what differs is what a cell remembers and sees. The symbol of a cell is
seen at its own place only, so a step is a function of a symbol and a few bit patterns: it can be written down.

Shapes are the paper's, with m bits. A bit is +1 or −1; 0 stands for outside the grid.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gridsum.config.exact import POSITIONS, RuleConfig
from gridsum.data.problems import extent
from gridsum.model.paper import Embedding, Linear, Placement, Readout, Transition
from gridsum.model.runs import RunModule, RunsModule, as_written, generators, normal, written
from gridsum.ops.attention import block_matrix
from gridsum.ops.grids import linear, neighbours
from gridsum.ops.placement import look_up
from gridsum.ops.placement.cpu import place_hard
from gridsum.ops.placement.plain import most_probable
from gridsum.tasks import FIRST_DIGIT, Task, find

_DEFAULT = find()
SHARPNESS = 3.0
"""Logits are so many times as large as a layer makes them, so that bits are decided early in training."""


@written
class Looking(RunModule):
    """Attention of every feature to the neighbours: softmax over places of (Q + s)·(K + r), as in Eq. 6 and 7."""

    decayed = ("projection",)

    def __init__(self, runs: Sequence[torch.Generator], width: int, groups: int, places: int) -> None:
        super().__init__()
        part = width // groups
        self.projection = normal(runs, math.sqrt(2 / width), 3, groups, part, part)
        self.relative = normal(runs, 1.0, places, width)
        self.query = normal(runs, 1.0, width)

    def forward(self, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Queries [R,...,E]; keys and values of each place, [K,R,...,E]."""
        relative = self.relative.transpose(0, 1).unflatten(1, (-1, *[1] * (query.dim() - 2)))
        return ((query * (keys + relative)).softmax(0) * values).sum(0)


@written
class RuleNetwork(RunsModule):
    """R runs of the network of bits, each drawn from its seed."""

    decided: Tensor

    def __init__(self, config: RuleConfig, seeds: Sequence[int], task: Task = _DEFAULT) -> None:
        super().__init__()
        self.config, self.task, runs = config, task, generators(seeds)
        self.places = [POSITIONS[name] for name in config.positions]
        self.embedding = Embedding(runs, config.width, len(task.alphabet))
        self.placement = Placement(runs, config.width, config.placement_hidden)
        self.own = Linear(runs, config.width, config.width)
        self.view = Linear(runs, config.bits, config.width)
        self.looking = Looking(runs, config.width, config.groups, len(self.places))
        self.transition = Transition(runs, config.width, config.hidden)
        self.logits = Linear(runs, config.width, config.bits)
        self.reading = Linear(runs, config.width, len(task.alphabet))
        for part in (self.own, self.view, self.logits, self.reading, *self.transition.feed_forward.layers):
            nn.init.zeros_(part.bias)  # type: ignore[arg-type]
        self.register_buffer("decided", torch.zeros(len(seeds), dtype=torch.bool))
        """In which runs placement has hardened."""
        self.built = [type(part) for part in self.modules()]

    def vectors(self) -> Tensor:
        """Those of the symbols: [R,13,E]."""
        if as_written(self):
            return self.embedding.weight
        symbols = torch.arange(len(self.task.alphabet), device=self.decided.device)
        return self.embedding(symbols.expand(self.runs, 1, -1))[:, 0]

    def actions(self, hard: bool = False) -> Tensor:
        """The action probabilities [R,13,3] of the symbols; certain where placement has hardened, or if asked for."""
        soft = self.placement(self.vectors())
        chosen = most_probable(soft)
        return chosen if hard else torch.where(self.decided[:, None, None], chosen, soft)

    def meet(self, symbols: Tensor) -> tuple[Tensor, Tensor]:
        """What a cell makes of its symbol's vector [R,...,E], the same at every step: its own vector, and its query."""
        cell = self.own(symbols)
        shape = (-1, *[1] * (cell.dim() - 2), cell.shape[-1])
        to_query = block_matrix(self.looking.projection)[..., : self.config.width]
        return cell, linear(cell, to_query) + self.looking.query.view(shape)

    def sight(self) -> tuple[Tensor, Tensor]:
        """Matrix [R,m,2E] and bias [R,2E] that make keys and values of bits, by way of a cell's `view` of them."""
        both = self.to_keys_and_values()
        return torch.bmm(self.view.weight, both), torch.bmm(self.view.bias[:, None], both)[:, 0]

    def to_keys_and_values(self) -> Tensor:
        """The matrix [R,E,2E] behind that of the queries."""
        return block_matrix(self.looking.projection)[..., self.config.width :]

    def show(self, bits: Tensor, inside: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """What cells show to those beside them, of their bits [R,...,m]: keys and values, zero outside the grid."""
        shown = linear(bits, *self.sight()) if as_written(self) else linear(self.view(bits), self.to_keys_and_values())
        keys, values = (shown if inside is None else shown * inside).chunk(2, -1)
        return keys, values

    def react(self, cell: Tensor, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """The logits [R,...,m] of cells with these neighbours: the rule."""
        return SHARPNESS * self.logits(self.transition(cell, self.looking(query, keys, values)))

    def step(self, cell: Tensor, query: Tensor, bits: Tensor, inside: Tensor | None = None) -> Tensor:
        """The logits of every cell of grids: bits [R,B,H,W,m], inside [R,B,H,W,1]."""
        keys, values = (torch.stack(neighbours(part, self.places)) for part in self.show(bits, inside))
        return self.react(cell, query, keys, values)

    def forward(self, symbols: Tensor, size: tuple[int, int] | None = None, steps: int | None = None) -> Readout:
        """Symbols [B,S], or [R,B,S] where each run has its own, to the logits of every step, until no bit changes.

        They are placed by their most probable actions, by default on the grid that solving takes; what is no digit or
        sign leaves a cell empty. A bit has the gradient of its logit. `steps` are the most.
        """
        symbols, alphabet = symbols.expand(self.runs, *symbols.shape[-2:]), self.task.alphabet
        if size is None:
            terms, digits = extent(symbols, self.task)
            size = terms + 1, max(self.task.columns(terms, digits), digits + 1) + 1
        table, held = self.vectors(), torch.arange(len(alphabet), device=symbols.device)[:, None]
        table = torch.where((held >= FIRST_DIGIT) & (held < alphabet.equals_symbol), table, 0.0)
        grid = place_hard(look_up(table, symbols), look_up(self.actions(hard=True), symbols), *size)
        cell, query = self.meet(grid)
        bits = -grid.new_ones(*grid.shape[:-1], self.config.bits)
        rows = [bits[:, :, 0]]
        for _ in range(2 * size[0] * size[1] + 16 if steps is None else steps):
            z = self.step(cell, query, bits)
            after = torch.where(z > 0, 1.0, -1.0).to(z.dtype) + (z - z.detach())
            if torch.equal(after, bits):
                break
            bits = after
            rows.append(bits[:, :, 0])
        logits, last = self.read(torch.stack(rows, 1)).transpose(0, 1), len(rows) - 1
        probability = logits.new_zeros(len(rows), *symbols.shape[:2])
        probability[last] = 1
        return Readout(range(len(rows)), logits, None, probability, torch.full_like(symbols[..., 0], last))

    def read(self, bits: Tensor) -> Tensor:
        """The logits over Σ that the output layer reads in cells with these bits."""
        return self.reading(self.view(bits))


def soft_bits(z: Tensor, noise: Tensor, hard: bool) -> Tensor:
    """Numbers from 0 to 1, noisy and saturating; if `hard`, the bits that they are nearest to, with their gradient:
    improved semantic hashing (Kaiser & Bengio 2018)."""
    noisy = z + noise
    between = (1.2 * noisy.sigmoid() - 0.1).clamp(0, 1)
    return between + ((noisy > 0).to(between.dtype) - between).detach() if hard else between
