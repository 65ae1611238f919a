"""The network: symbols → grid → steps → digits."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.autograd import Function

from gridsum.config import ModelConfig
from gridsum.model.course import SITES, Course, Dropouts, PackedDropouts, numbered
from gridsum.model.halting import ContextTransformer, halting_distribution
from gridsum.model.layers import (
    Cells,
    Linear,
    RunModule,
    draw_all,
    triton_serves,
)
from gridsum.model.rollout import GridSize, Rollout
from gridsum.model.seq2grid import Placement, place_hard, seq2grid
from gridsum.model.step import Readers, Step, only_inside
from gridsum.streams import Stream
from gridsum.symbols import ALPHABET

# Truncated samples are left out of the computation once they are an eighth of it: leaving costs a copy.
_WORTH_LEAVING = 7 / 8


class Embedding(RunModule):
    """Σ → R^E, without any positional information."""

    def __init__(self, runs: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, len(ALPHABET), width))

    def draw(self, run: int, generator: Generator) -> None:
        self.weight[run].normal_(generator=generator)


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
        vectors, actions = LookUp.apply(self.embedding.weight, symbols), self.actions(symbols)
        put = place_hard if hard else seq2grid
        with _full_precision(symbols.device):
            grid = put(vectors, actions, size.height, size.width)
        return only_inside(size.inside, grid)

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
        until every sample is truncated; with `steps` given it takes exactly that many, which spares a GPU the question
        after each, and gives the same rollout if they are enough. `largest` is the height and width that the cells'
        numbers for dropout refer to (by default, the grid's own).
        """
        config = self.config
        most = most_steps(config)
        assert steps is None or steps <= most, "training takes no more steps than the configuration says"
        limit = most if steps is None or config.halting == "fixed" else steps
        drops = self._dropouts(dropout, symbols, size, limit, largest)
        course = Course(self.step, size, drops, self.step.prepare())
        grid = Readers.of(self.place(symbols, size))
        if self.context is not None:
            ponder = self._ponder_until_truncated if steps is None else self._ponder_for
            rows, halting = ponder(self.context, grid, course, limit)
            stacked = torch.stack(halting)
            p, truncation = halting_distribution(stacked, config.epsilon)
            return Rollout(range(len(rows)), self._readings(rows, drops, 0), stacked, p, truncation)

        for n in range(limit):
            grid = course.advance(grid, n)
        logits = self._readings([grid.top], drops, limit)
        certain = logits.new_ones(1, *symbols.shape[:2])
        return Rollout(range(limit, limit + 1), logits, None, certain, torch.full_like(symbols[..., 0], limit))

    def _readings(self, rows: list[Tensor], drops: Dropouts | PackedDropouts | None, first: int) -> Tensor:
        """The logits [K,R,B,W,13] of the top rows at the steps from `first` on."""
        top = torch.stack(rows, 1)
        return self.read(drops.output(slice(first, first + len(rows)))(top) if drops else top).transpose(0, 1)

    def _ponder_until_truncated(
        self, reader: ContextTransformer, grid: Readers, course: Course, limit: int
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The top rows and λ at every step until all samples are truncated.

        A sample leaves before its last step, the one at which it is truncated: that is known beforehand, its λ does not
        count, and of its grid the top row alone is computed.
        """
        problems = grid.top.shape[1]
        context, present = reader.start(problems), torch.arange(problems, device=grid.top.device)
        rows: list[Tensor] = []
        halting: list[Tensor] = []
        running = torch.ones(grid.top.shape[:2], device=grid.top.device)
        for n in range(limit + 1):
            row, probability = torch.zeros_like(grid.top[:, :1]).expand(-1, problems, -1, -1), torch.ones_like(running)
            if n:
                going = (running[:, present] >= self.config.epsilon).any(0) & (n < limit)
                if int(going.sum()) <= len(present) * _WORTH_LEAVING:
                    row = row.index_copy(1, present[~going], course.last(grid, n - 1, ~going))
                    grid, context, present = grid.only(going), context[:, going], present[going]
                    course = course.only(going)
            if len(present):
                grid = course.advance(grid, n - 1) if n else grid
                context, chance = reader(context, grid.context, course.size, course.context_drops(n))
                row, probability = (_put(*parts, present) for parts in ((row, grid.top), (probability, chance)))
            rows.append(row)
            halting.append(probability)
            if not len(present):
                break
            running = running * (1 - halting[-1].detach())
        return rows, halting

    def _ponder_for(
        self, reader: ContextTransformer, grid: Readers, course: Course, steps: int
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The same for exactly `steps` steps, without asking the tensors anything: kernels, where they compute the
        steps, are told, run by run, which samples to leave out."""
        context, packed = reader.start(grid.top.shape[1]), reader.prepare()
        rows, halting = [], []
        running = torch.ones(grid.top.shape[:2], device=grid.top.device)
        for n in range(steps + 1):
            grid = course.advance(grid, n - 1) if n else grid
            context, probability = reader(context, grid.context, course.size, course.context_drops(n), packed)
            rows.append(grid.top)
            halting.append(probability)
            if course.lists and n < steps:
                size, running = _without_truncated(course.size, running, probability.detach(), self.config.epsilon)
                course = replace(course, size=size)
        return rows, halting

    def _dropouts(
        self,
        stream: Stream | None,
        symbols: Tensor,
        size: GridSize,
        steps: int,
        largest: tuple[int, int] | None,
    ) -> Dropouts | PackedDropouts | None:
        if stream is None or self.config.dropout == 0:
            return None
        _, width = largest or (size.height, size.width)
        problems, device = symbols.shape[1], symbols.device

        def numbers(*shape: int) -> Tensor:
            return torch.arange(math.prod(shape), device=device).view(shape)

        # One stream more than the most steps need, whatever `steps` is: the readings' masks must not depend on it.
        most = max(self.config.max_steps, self.config.fixed_steps, most_steps(self.config))
        streams = stream.children((most + 1) * SITES + 1)
        dropouts = Dropouts(
            streams,
            numbered(symbols, size, largest),
            Cells(numbers(problems, self.config.context_length)),
            Cells(numbers(steps + 1, problems, width)[..., width - size.width :]),
            self.config.dropout,
        )
        return dropouts.packed(steps, self.config) if self._packs() else dropouts

    def _packs(self) -> bool:
        """Whether dropout can be decided by a kernel: on a GPU, for features that come in bytes."""
        config = self.config
        sizes = (config.width, config.step_hidden, config.context_hidden)
        return triton_serves(self.embedding.weight) and all(size % 8 == 0 for size in sizes)


def most_steps(config: ModelConfig) -> int:
    """The most steps that a rollout takes in training."""
    return {"ponder": config.max_steps, "fixed": config.fixed_steps}[config.halting]


def _without_truncated(size: GridSize, running: Tensor, halting: Tensor, epsilon: float) -> tuple[GridSize, Tensor]:
    """The size for the samples whose probability of `running` [R,B] still counts, and that probability a step on."""
    from gridsum.model.kernels.cells import leave

    assert size.own is not None
    own, running = leave(size.own, running, halting, epsilon)
    return replace(size, own=own), running


def _put(whole: Tensor, part: Tensor, problems: Tensor) -> Tensor:
    """`whole` [R,B,...], but `part` for some of the problems."""
    return part if len(problems) == whole.shape[1] else whole.index_copy(1, problems, part)


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
