"""The network: symbols → grid → steps → digits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.autograd import Function

from gridsum.config import ModelConfig
from gridsum.model.attention import LocalAttention
from gridsum.model.halting import ContextTransformer, halting_distribution
from gridsum.model.layers import Cells, Dropout, FeedForward, LayerNorm, Linear, RunModule, draw_all
from gridsum.model.rollout import GridSize, Rollout
from gridsum.model.seq2grid import Placement, place_hard, seq2grid
from gridsum.streams import Stream
from gridsum.symbols import ALPHABET

# Dropout sites of one step: the three layers of FFN_3 and the two of FFN_ctx.
_STEP_SITES, _CONTEXT_SITES = 3, 2
_SITES = _STEP_SITES + _CONTEXT_SITES
# Truncated samples are left out of the computation once they are an eighth of it: leaving costs a copy.
_WORTH_LEAVING = 7 / 8


class Embedding(RunModule):
    """Σ → R^E, without any positional information."""

    def __init__(self, runs: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, len(ALPHABET), width))

    def draw(self, run: int, generator: Generator) -> None:
        self.weight[run].normal_(generator=generator)


class Transition(nn.Module):
    """The part of a step that looks at one cell at a time: residual, norm, FFN_3, residual, norm."""

    def __init__(self, runs: int, width: int, hidden: int) -> None:
        super().__init__()
        self.norm_attention = LayerNorm(runs, width)
        self.feed_forward = FeedForward(runs, (width, hidden, hidden, width))
        self.norm_feed_forward = LayerNorm(runs, width)

    def forward(
        self,
        grid: Tensor,
        attended: Tensor,
        inside: Tensor | None = None,
        dropouts: Sequence[Dropout] | None = None,
    ) -> Tensor:
        between = self.norm_attention(grid + attended)
        result = self.norm_feed_forward(between + self.feed_forward(between, dropouts))
        # Zero vectors have zero keys and values: cells outside a run's own grid look like the border they are.
        return result if inside is None else result * inside[:, None, :, :, None]


class Step(nn.Module):
    """G_n → G_{n+1} (Eq. 5): local attention, then a feed-forward network, post-norm."""

    def __init__(self, runs: int, config: ModelConfig) -> None:
        super().__init__()
        self.attention = LocalAttention(
            runs, config.width, config.groups, config.heads, config.kernel, config.query_encoding
        )
        self.transition = Transition(runs, config.width, config.step_hidden)

    def forward(self, grid: Tensor, inside: Tensor | None = None, dropouts: Sequence[Dropout] | None = None) -> Tensor:
        return self.transition(grid, self.attention(grid), inside, dropouts)

    def observe(self, grid: Tensor) -> tuple[Tensor, Tensor]:
        """The next grid, and the attention that led to it."""
        attended, weights = self.attention.observe(grid)
        return self.transition(grid, attended), weights


@dataclass(frozen=True)
class _Dropouts:
    """The dropout of every site of every step of one rollout."""

    streams: list[Stream]
    grid: Cells
    contexts: Cells
    readings: Cells
    probability: float

    def _at(self, step: int, sites: range, cells: Cells) -> list[Dropout]:
        return [Dropout(self.streams[step * _SITES + site], cells, self.probability) for site in sites]

    def step(self, step: int) -> list[Dropout]:
        return self._at(step, range(_STEP_SITES), self.grid)

    def context(self, step: int) -> list[Dropout]:
        return self._at(step, range(_STEP_SITES, _SITES), self.contexts)

    def only(self, problems: Tensor) -> "_Dropouts":
        """For some of the problems; the readings stay those of all."""
        grid, contexts = (Cells(cells.numbers[problems]) for cells in (self.grid, self.contexts))
        return replace(self, grid=grid, contexts=contexts)

    def output(self, steps: slice) -> Dropout:
        """Of the readings at `steps`, all at once."""
        return Dropout(self.streams[-1], Cells(self.readings.numbers[steps]), self.probability)


class Network(nn.Module):
    """R networks of one configuration, computed together; run r begins from seeds[r]."""

    def __init__(self, config: ModelConfig, seeds: Sequence[int] = (0,)) -> None:
        super().__init__()
        runs = len(seeds)
        self.config, self.runs = config, runs
        self.embedding = Embedding(runs, config.width)
        self.placement = Placement(runs, config.width, config.placement_hidden)
        self.step = Step(runs, config)
        self.output = Linear(runs, config.width, len(ALPHABET))
        self.context = None
        if config.halting == "ponder":
            self.context = ContextTransformer(
                runs,
                config.width,
                config.context_length,
                config.context_heads,
                config.context_hidden,
                config.halting_hidden,
            )
        draw_all(self, seeds)

    def fuse(self) -> None:
        """Compile what lies between the kernels: for a GPU, and for shapes that stay the same."""
        self.step.transition.compile(dynamic=False)
        if self.context is not None:
            self.context.fuse()

    def actions(self, symbols: Tensor) -> Tensor:
        """The action probabilities [R,B,S,3] of symbols [R,B,S]."""
        with _full_precision(symbols.device):  # small errors here would add up over the length of the input
            table = self.placement(self.embedding.weight)  # of each symbol of Σ: placement sees nothing else
        return LookUp.apply(table, symbols)

    def place(self, symbols: Tensor, size: GridSize, hard: bool = False) -> Tensor:
        """G_0 [R,B,H,W,E], by expected placement or by the most probable actions."""
        vectors = LookUp.apply(self.embedding.weight, symbols)
        put = place_hard if hard else seq2grid
        with _full_precision(symbols.device):
            grid = put(vectors, self.actions(symbols), size.height, size.width)
        return grid if size.inside is None else grid * size.inside[:, None, :, :, None]

    def read(self, row: Tensor) -> Tensor:
        """The logits of vectors [R,...,E]."""
        return self.output(row)

    def forward(
        self,
        symbols: Tensor,
        size: GridSize,
        dropout: Stream | None = None,
        steps: int | None = None,
        largest: tuple[int, int] | None = None,
    ) -> Rollout:
        """A rollout as training needs it.

        `dropout` is the source of its randomness (none: no dropout). Under ponder halting the computation goes on
        until every sample is truncated; with `steps` given it takes exactly that many, which spares a GPU the
        question after each, and gives the same rollout if they are enough. `largest` is the height and width that
        the cells' numbers for dropout refer to (by default, the grid's own).
        """
        config = self.config
        assert steps is None or steps <= config.max_steps, "training takes at most max_steps"
        limit = config.fixed_steps if self.context is None else config.max_steps if steps is None else steps
        drops = self._dropouts(dropout, symbols, size, limit, largest)
        grid = self.place(symbols, size)
        if self.context is None:
            for n in range(limit):
                grid = self.step(grid, size.inside, drops and drops.step(n))
            row = grid[:, None, :, 0]
            logits = self.read(drops.output(slice(limit, None))(row) if drops else row).transpose(0, 1)
            certain = logits.new_ones(1, *symbols.shape[:2])
            return Rollout(range(limit, limit + 1), logits, None, certain, certain[0].long() * limit)

        problems = symbols.shape[1]
        context = self.context.start(problems)
        rows, halting = [], []
        # Samples leave the computation when they are truncated: `present` are those that are still in it.
        present = torch.arange(problems, device=symbols.device)
        running = torch.ones(symbols.shape[:2], device=symbols.device)
        for n in range(limit + 1):
            if n:
                grid = self.step(grid, size.inside, drops and drops.step(n - 1))
            context, probability = self.context(context, grid, size.inside, drops and drops.context(n))
            rows.append(_among_all(grid[:, :, 0], present, problems, 0.0))
            halting.append(_among_all(probability, present, problems, 1.0))
            if steps is None:
                needed = (running[:, present] >= config.epsilon).any(0)
                if not bool(needed.any()):
                    break
                if int(needed.sum()) <= len(present) * _WORTH_LEAVING:
                    grid, context, present = grid[:, needed], context[:, needed], present[needed]
                    drops = drops and drops.only(needed)
                running = running * (1 - halting[-1].detach())
        top = torch.stack(rows, 1)
        logits = self.read(drops.output(slice(len(rows)))(top) if drops else top).transpose(0, 1)
        stacked = torch.stack(halting)
        p, truncation = halting_distribution(stacked, config.epsilon)
        return Rollout(range(len(rows)), logits, stacked, p, truncation)

    def _dropouts(
        self,
        stream: Stream | None,
        symbols: Tensor,
        size: GridSize,
        steps: int,
        largest: tuple[int, int] | None,
    ) -> _Dropouts | None:
        if stream is None or self.config.dropout == 0:
            return None
        height, width = largest or (size.height, size.width)
        problems, device = symbols.shape[1], symbols.device

        def numbers(*shape: int) -> Tensor:
            return torch.arange(math.prod(shape), device=device).view(shape)

        # One stream more than the most steps need, whatever `steps` is: the readings' masks must not depend on it.
        streams = stream.children((max(self.config.max_steps, self.config.fixed_steps) + 1) * _SITES + 1)
        return _Dropouts(
            streams,
            Cells(numbers(problems, height, width)[:, : size.height, width - size.width :]),
            Cells(numbers(problems, self.config.context_length)),
            Cells(numbers(steps + 1, problems, width)[..., width - size.width :]),
            self.config.dropout,
        )


def _among_all(x: Tensor, present: Tensor, problems: int, otherwise: float) -> Tensor:
    """x [R,present,...] among all problems: [R,B,...], with a constant for the others."""
    if len(present) == problems:
        return x
    return x.new_full((x.shape[0], problems, *x.shape[2:]), otherwise).index_copy(1, present, x)


class LookUp(Function):
    """table [R,13,F] at symbols [R,B,S]: [R,B,S,F]. The gradient is a product, where torch's would scatter."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, symbols: Tensor) -> Tensor:
        ctx.save_for_backward(symbols)
        ctx.size = table.shape[1]
        run = torch.arange(table.shape[0], device=table.device)[:, None, None]
        return table[run, symbols]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (symbols,) = ctx.saved_tensors
        chosen = symbols.flatten(1)[..., None] == torch.arange(ctx.size, device=symbols.device)
        gradient = gradients[0].flatten(1, 2)
        return torch.bmm(chosen.transpose(1, 2).to(gradient.dtype), gradient), None


def _full_precision(device: torch.device) -> torch.autocast:
    return torch.autocast(device.type, enabled=False)


def parameter_count(network: Network) -> int:
    """The parameters of one run."""
    return sum(math.prod(parameter.shape[1:]) for parameter in network.parameters())
