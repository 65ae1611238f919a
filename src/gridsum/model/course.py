"""The course of a rollout: the dropout of each of its steps, and what the steps are taken with."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gridsum.config import ModelConfig
from gridsum.model.layers import Cells, Drop, Dropout, PackedDropout
from gridsum.model.rollout import GridSize
from gridsum.model.step import Prepared, Readers, Step
from gridsum.streams import Stream, lane_threshold

# Dropout sites of one step: the three layers of FFN_3 and the two of FFN_ctx.
_STEP_SITES, _CONTEXT_SITES = 3, 2
SITES = _STEP_SITES + _CONTEXT_SITES


def numbered(symbols: Tensor, size: GridSize, largest: tuple[int, int] | None) -> Cells:
    """The cells of every problem's grid, numbered as on the `largest`."""
    problems, (height, width) = symbols.shape[1], largest or (size.height, size.width)
    numbers = torch.arange(problems * height * width, device=symbols.device).view(problems, height, width)
    return Cells(numbers[:, : size.height, width - size.width :])


@dataclass(frozen=True)
class Dropouts:
    """The dropout of every site of every step of one rollout."""

    streams: list[Stream]
    grid: Cells
    contexts: Cells
    readings: Cells
    probability: float

    def _at(self, step: int, sites: range, cells: Cells) -> list[Dropout]:
        return [Dropout(self.streams[step * SITES + site], cells, self.probability) for site in sites]

    def step(self, step: int) -> Sequence[Drop]:
        return self._at(step, range(_STEP_SITES), self.grid)

    def context(self, step: int) -> Sequence[Drop]:
        return self._at(step, range(_STEP_SITES, SITES), self.contexts)

    def last(self, step: int, problems: Tensor) -> Sequence[Drop]:
        """Of the top row of some problems."""
        return self._at(step, range(_STEP_SITES), Cells(self.grid.numbers[problems, :1]))

    def only(self, problems: Tensor) -> "Dropouts":
        """For some of the problems; the readings stay those of all."""
        grid, contexts = (Cells(cells.numbers[problems]) for cells in (self.grid, self.contexts))
        return replace(self, grid=grid, contexts=contexts)

    def output(self, steps: slice) -> Drop:
        """Of the readings at `steps`, all at once."""
        return Dropout(self.streams[-1], Cells(self.readings.numbers[steps]), self.probability)

    def packed(self, steps: int, config: ModelConfig) -> "PackedDropouts":
        """The same, decided in one go for the first `steps` steps and the readings around them."""
        from gridsum.model.kernels.dropout import keep_bits

        keys = torch.stack([stream.key for stream in self.streams])
        sites = keys[: (steps + 1) * SITES].view(steps + 1, SITES, -1)
        threshold = lane_threshold(self.probability)
        first, hidden = (slice(0, 1), config.width), (slice(1, _STEP_SITES), config.step_hidden)
        inside = _STEP_SITES + 1
        context, inner = (slice(_STEP_SITES, inside), config.width), (slice(inside, SITES), config.context_hidden)
        grid = [keep_bits(sites[:, at], self.grid.numbers, size, threshold) for at, size in (first, hidden)]
        contexts = [keep_bits(sites[:, at], self.contexts.numbers, size, threshold) for at, size in (context, inner)]
        readings = keep_bits(keys[-1], self.readings.numbers, config.width, threshold)
        return PackedDropouts(grid, contexts, readings, self.probability)


@dataclass(frozen=True)
class PackedDropouts:
    """The same as bits: [steps, sites, R, B, ..., F / 8] for sites of equal size, [R, steps, ...] for the readings."""

    grid: list[Tensor]
    contexts: list[Tensor]
    readings: Tensor
    probability: float

    def _at(self, step: int, sites: list[Tensor]) -> list[PackedDropout]:
        return [PackedDropout(bits, self.probability) for site in sites for bits in site[step]]

    def step(self, step: int) -> Sequence[Drop]:
        return self._at(step, self.grid)

    def context(self, step: int) -> Sequence[Drop]:
        return self._at(step, self.contexts)

    def last(self, step: int, problems: Tensor) -> Sequence[Drop]:
        return self._at(step, [bits[:, :, :, problems, :1] for bits in self.grid])

    def only(self, problems: Tensor) -> "PackedDropouts":
        grid, contexts = ([bits[:, :, :, problems] for bits in sites] for sites in (self.grid, self.contexts))
        return replace(self, grid=grid, contexts=contexts)

    def output(self, steps: slice) -> Drop:
        return PackedDropout(self.readings[:, steps], self.probability)


@dataclass(frozen=True)
class Course:
    """What the steps of a rollout are taken with."""

    step: Step
    size: GridSize
    drops: Dropouts | PackedDropouts | None
    prepared: Prepared

    @property
    def lists(self) -> bool:
        """Whether kernels compute the steps, which can be told which samples to leave out."""
        return self.size.own is not None and self.prepared.transition is not None

    def advance(self, grid: Readers, n: int) -> Readers:
        return self.step.advance(grid, self.size, self.drops and self.drops.step(n), self.prepared)

    def last(self, grid: Readers, n: int, problems: Tensor) -> Tensor:
        """The top row of some problems after a step that is their last: [R,b,W,E]."""
        drops = self.drops and self.drops.last(n, problems)
        return self.step.last(grid.residual[:, problems], self.size, drops, self.prepared)

    def context_drops(self, n: int) -> Sequence[Drop] | None:
        return self.drops and self.drops.context(n)

    def only(self, problems: Tensor) -> "Course":
        return replace(self, drops=self.drops and self.drops.only(problems))
