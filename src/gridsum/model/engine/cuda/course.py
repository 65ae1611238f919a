"""Rollouts by Triton kernels.

Two things shape this engine. A GPU must not wait for answers from the host, so shapes stay and the kernels are told,
run by run, which samples are left. And what lies between large products is bound by memory, so the kernels read and
write everything once. Where sizes do not fit a kernel, torch computes that part as `eager` does.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.data.streams import Stream
from gridsum.model.dropout import Dropouts
from gridsum.model.engine.cuda import attention, transition
from gridsum.model.engine.cuda.attention import KernelAttention
from gridsum.model.engine.cuda.cells import everyone, leave
from gridsum.model.engine.cuda.context import KernelContext, Reading, Readings
from gridsum.model.engine.cuda.dropout import PackedDropout, PackedDropouts, packs
from gridsum.model.engine.cuda.gathering import Gathered
from gridsum.model.engine.cuda.norm import norm_of_sum
from gridsum.model.engine.cuda.placement import LONGEST_ROW, KernelEnds, rows_back
from gridsum.model.engine.cuda.products import SHARES
from gridsum.model.engine.cuda.transition import KernelTransition
from gridsum.model.engine.eager import Eager, EagerCourse
from gridsum.model.engine.placement import place_hard, place_soft
from gridsum.model.engine.plain import Course, Sites, Start
from gridsum.model.paper import Drop, FeedForward, GridSize, Linear, Network, Transition, only_inside
from gridsum.model.runs import flatten

# Kernels hold a sample's whole grid, in registers or as one tile, which is for grids of training size.
_PLACED_CELLS, _CONTEXT_CELLS = 512, 256
# And those of the transition hold all features of their cells, that of the context all that its heads ask.
_WIDTH, _HIDDEN, _VECTORS, _ROWS = 128, 256, 16, 64


class Cuda(Eager):
    def __init__(self, network: Network) -> None:
        super().__init__(network)
        config = network.config
        self.fits_attention = _power_of_two(config.width)
        self.fits_transition = _fits((config.width, _WIDTH), (config.step_hidden, _HIDDEN))
        sides = (config.width, config.context_hidden, config.halting_hidden)
        self.fits_context = _fits(*((side, _WIDTH) for side in sides)) and (
            config.context_length <= _VECTORS and config.context_length * config.context_heads <= _ROWS
        )

    def dropouts(
        self, stream: Stream, problems: int, size: GridSize, largest: tuple[int, int], steps: int
    ) -> Sites | None:
        drops = Dropouts.of(stream, self.config, problems, size, largest, steps)
        return PackedDropouts.of(drops, steps, self.config) if drops and packs(self.config) else drops

    def begin(self, start: Start) -> Course:
        return CudaCourse(self, start)

    def read(self, vectors: Tensor, drop: Drop | None = None) -> Tensor:
        return padded_linear(drop(vectors) if drop else vectors, self.network.output.weight, self.network.output.bias)

    def feed(
        self,
        module: FeedForward,
        x: Tensor,
        drops: Sequence[Drop] | None = None,
        kind: torch.dtype | None = None,  # noqa: ARG002
    ) -> Tensor:
        for index, layer in enumerate(cast("Sequence[Linear]", module.layers)):
            x = F.silu(x) if index else x
            x = padded_linear(drops[index](x) if drops else x, layer.weight, layer.bias)
        return x

    def project(self, grid: Tensor, matrix: Tensor) -> Tensor:
        return padded_linear(grid, matrix)

    def encodings(self, cells: int) -> "Parameters":
        """What attention adds to queries and keys, for grids of so many cells a run."""
        step = self.network.step.attention
        query = step.relative.new_zeros(step.relative[:, 0, 0].shape) if step.query is None else step.query
        packed = flatten([step.relative, query])
        return Parameters(packed.detach(), packed.detach(), [Gathered.apply(packed, attention.programs(cells))])

    def attend_to(
        self, projected: Tensor, sizes: Tensor | None = None, encodings: "Parameters | None" = None
    ) -> Tensor:
        """`sizes` says which cells are computed (see `cells`). A rollout has one `encodings` for all its steps."""
        if not self.fits_attention:
            return super().attend_to(projected)
        encodings = encodings or self.encodings(math.prod(projected.shape[1:4]))
        heads = self.network.step.attention.heads
        attended, *encodings.ways = KernelAttention.apply(projected, *encodings.ways, encodings.packed, heads, sizes)
        return attended

    def transition(self, grid: Tensor, attended: Tensor, size: GridSize, drops: Sequence[Drop] | None) -> Tensor:
        if torch.is_grad_enabled() or not _power_of_two(grid.shape[-1]):
            return super().transition(grid, attended, size, drops)
        step = self.network.step.transition
        between = norm_of_sum(grid, only_inside(size, attended), step.norm_attention)
        fed = self.feed(step.feed_forward, between, drops)
        return only_inside(size, norm_of_sum(between, fed, step.norm_feed_forward))

    def put(self, vectors: Tensor, actions: Tensor, size: GridSize, hard: bool) -> Tensor:
        if hard:
            return place_hard(vectors, actions, size.height, size.width)
        ends = KernelEnds.apply if size.height * size.width <= _PLACED_CELLS else None
        back = rows_back if size.width <= LONGEST_ROW else None
        return place_soft(vectors, actions, size.height, size.width, ends, back)


@dataclass
class Parameters:
    """Of all runs, and the ways on which their gradients are gathered from the steps of a rollout (see `gathering`)."""

    packed: Tensor
    low: Tensor
    """The same in the precision of the products."""
    ways: list[Tensor]


class CudaCourse(EagerCourse):
    """The grid comes once for each of its readers, where a kernel adds up their gradients."""

    engine: Cuda

    def __init__(self, engine: Cuda, start: Start) -> None:
        super().__init__(engine, start)
        self.halting: Tensor | None = None
        self.sizes = start.size.own
        """Which cells the kernels compute: each run's own, then those of the samples that are left."""
        cells = self.problems * start.size.height * start.size.width
        self.encodings = engine.encodings(cells) if engine.fits_attention else None
        self.transition: Parameters | None = None
        if self._trains():
            self.transition = packed_transition(engine.network.step.transition, self.matrix, cells)
            # Zeros outside a run's own grid, and for samples that have left.
            self.tops = self.top.new_zeros(self.steps, *self.top.shape)
        # Without asking, samples are left out by a list that the kernels read.
        leaving = start.exactly and start.epsilon is not None
        self.lists = leaving and self.transition is not None and self.sizes is not None
        if self.lists:
            assert self.sizes is not None
            # A list from the beginning: a kernel is compiled for each form of `sizes`.
            self.sizes, epsilon = everyone(self.sizes, self.problems), start.epsilon
            self.thresholds = epsilon if isinstance(epsilon, Tensor) else torch.full_like(self.running, epsilon)
        self.readings: Readings | None = None
        if self.network.context is not None and self._reads():
            self.readings = Readings.of(self.network.context, start.steps + 1, self.problems)
            self.ledger = self.readings.begin()

    def _trains(self) -> bool:
        """Solving may have more cells than the kernels' 32-bit offsets reach; and who reads the grid must be a kernel,
        as cells that are not computed have no meaning."""
        reads = self.network.context is None or self._reads()
        return self.epsilon is not None and reads and self._drops_packed() and self.engine.fits_transition

    def _reads(self) -> bool:
        cells = self.size.height * self.size.width
        return self.engine.fits_context and self._drops_packed() and cells <= _CONTEXT_CELLS

    def _drops_packed(self) -> bool:
        return self.drops is None or isinstance(self.drops, PackedDropouts)

    def show(self, grid: Tensor) -> None:
        super().show(grid)
        self.seen, self.projected = grid, None

    def select(self, problems: Tensor) -> None:
        if self.projected is None:
            super().select(problems)
            return
        # several tensors, whose gradients come back apart
        parts = [part[:, problems] for part in (self.projected, self.seen, self.top)]
        super().select(problems)
        self.projected, self.seen, self.top = parts

    def look(self, n: int) -> tuple[Tensor, Tensor | None]:
        if self.lists and self.halting is not None and n < self.steps:
            assert self.sizes is not None
            self.sizes, self.running = leave(self.sizes, self.running, self.halting.detach(), self.thresholds)
        row, self.halting = super().look(n)
        return row, self.halting

    def take(self, n: int) -> None:
        drops = self.drops and self.drops.step(n)
        projected = self.projected
        if projected is None:  # by torch, which sums over all cells to get the gradient of the matrix
            projected = only_inside(self.size, self.engine.project(self.grid, self.matrix))
        attended = self.engine.attend_to(projected, self.sizes, self.encodings)
        if self.transition is None:
            self.show(self.engine.transition(self.grid, attended, self.size, drops))
            return
        sites = cast("Sequence[PackedDropout]", drops or ())
        bits, factor = tuple(site.bits for site in sites) or None, sites[0].factor if sites else 1.0
        hidden = self.network.config.step_hidden
        given = (self.grid, attended, *self.transition.ways, self.transition.packed, self.transition.low)
        top = self.tops[n - 1, :, : len(self.present)].contiguous()
        self.grid, self.projected, self.seen, self.top, *self.transition.ways = KernelTransition.apply(
            *given, hidden, self.sizes, bits, factor, (top,), n == self.steps
        )
        if self.truncates:  # torch computes the last rows of those who leave
            self.grid = only_inside(self.size, self.grid)

    def decide(self, n: int) -> Tensor:
        if n == self.steps and self.epsilon is not None:
            assert self.context is not None
            return torch.ones_like(self.context[..., 0, 0])  # the last step takes what remains, whatever λ is
        if self.readings is None:
            return super().decide(n)
        drops = cast("Sequence[PackedDropout]", self.drops.context(n) if self.drops else ())
        self.context, halting, *self.ledger = KernelContext.apply(
            self.context, self.seen, self.readings, Reading(n, self.sizes, drops), *self.ledger
        )
        return halting


def padded_linear(x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """As `paper.linear`. Products whose sides are no multiples of 8 have slow kernels. The sum fuses with what follows
    it, where baddbmm would copy the bias to every cell first."""
    runs, inputs, outputs = matrix.shape
    if runs == 1:
        return F.linear(x, matrix.squeeze(0).T, None if bias is None else bias.squeeze(0))
    lines = x.reshape(runs, -1, inputs)
    if bias is None:
        product = torch.bmm(lines, matrix)
    else:
        product = torch.bmm(lines, F.pad(matrix, (0, -outputs % 8)))[..., :outputs] + bias[:, None]
    return product.view(*x.shape[:-1], outputs)


def packed_transition(step: Transition, matrix: Tensor, cells: int) -> Parameters:
    """A run's parameters in one row, as the kernels take them, for grids of so many cells.

    They are the layers of FFN_3, each its weights and its bias; the projections' `matrix` for the next step's
    attention; the weight and bias of either norm.
    """
    reduced = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else matrix.dtype
    layers = cast("Sequence[Linear]", step.feed_forward.layers)
    matrices = flatten([*(part for layer in layers for part in (layer.weight, layer.bias)), matrix])
    norms = flatten(
        [part for norm in (step.norm_attention, step.norm_feed_forward) for part in (norm.weight, norm.bias)]
    )
    ways = [Gathered.apply(matrices, SHARES), Gathered.apply(norms, transition.programs(cells, reduced))]
    packed = torch.cat((matrices, norms), 1).detach()
    return Parameters(packed, packed.to(reduced), ways)


def _fits(*sides: tuple[int, int]) -> bool:
    """Whether a kernel can have numbers of features like these, of so many at most."""
    return all(_power_of_two(features) and 16 <= features <= most for features, most in sides)


def _power_of_two(number: int) -> bool:
    return number & (number - 1) == 0
