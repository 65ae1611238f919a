"""Rollouts by Triton kernels.

Two things shape this engine. A GPU must not wait for answers from the host, so shapes stay and the kernels are told,
run by run, which samples are left. And what lies between large products is bound by memory, so the kernels read and
write everything once. Where sizes do not fit a kernel, torch computes that part as `eager` does.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F

from gridsum.model.dropout import Dropouts
from gridsum.model.engine import context as folded
from gridsum.model.engine.cuda.aside import Aside
from gridsum.model.engine.cuda.attention import KernelAttention
from gridsum.model.engine.cuda.cells import leave
from gridsum.model.engine.cuda.context import KernelContext
from gridsum.model.engine.cuda.dropout import PackedDropout, PackedDropouts, packs
from gridsum.model.engine.cuda.placement import KernelEnds
from gridsum.model.engine.cuda.transition import KernelTransition
from gridsum.model.engine.eager import Eager, EagerCourse
from gridsum.model.engine.placement import place_hard, place_soft
from gridsum.model.engine.plain import Course, Sites, Start
from gridsum.model.paper import ContextTransformer, Drop, FeedForward, GridSize, Linear, Network, Transition
from gridsum.model.runs import flatten
from gridsum.streams import Stream

# Kernels hold a sample's whole grid, in registers or as one tile, which is for grids of training size.
_PLACED_CELLS, _CONTEXT_CELLS = 512, 256
# And those of the transition hold all features of their cells.
_WIDTH, _HIDDEN = 128, 256


class Cuda(Eager):
    """`static`: what lies around the context's kernel is compiled, for shapes that stay the same."""

    def __init__(self, network: Network, static: bool = False) -> None:
        super().__init__(network)
        config = network.config
        self.fits_attention = _power_of_two(config.width)
        self.fits_context = self.fits_attention and config.width >= 16
        sides = ((config.width, _WIDTH), (config.step_hidden, _HIDDEN))
        self.fits_transition = all(_power_of_two(n) and 16 <= n <= most for n, most in sides)
        self.compiled: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        if static and network.context is not None and packs(config):
            self.compiled = _compiled(network.context, _ask), _compiled(network.context, _conclude)

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
        return _feed(module, x, drops)

    def project(self, grid: Tensor, matrix: Tensor) -> Tensor:
        return padded_linear(grid, matrix)

    def attend_to(self, projected: Tensor, sizes: Tensor | None = None) -> Tensor:
        """`sizes` says which cells are computed (see `cells`)."""
        if not self.fits_attention:
            return super().attend_to(projected)
        attention = self.network.step.attention
        query = attention.relative.new_zeros(attention.relative.shape[0], attention.relative.shape[-1])
        query = query if attention.query is None else attention.query
        return KernelAttention.apply(projected, query, attention.relative, attention.heads, sizes)

    def put(self, vectors: Tensor, actions: Tensor, size: GridSize, hard: bool) -> Tensor:
        if hard:
            return place_hard(vectors, actions, size.height, size.width)
        ends = KernelEnds.apply if size.height * size.width <= _PLACED_CELLS else None
        return place_soft(vectors, actions, size.height, size.width, ends)


class CudaCourse(EagerCourse):
    """The grid comes once for each of its readers, where a kernel adds up their gradients."""

    engine: Cuda

    def __init__(self, engine: Cuda, start: Start) -> None:
        super().__init__(engine, start)
        self.sizes = start.size.own
        """Which cells the kernels compute: each run's own, then those of the samples that are left."""
        self.transition = packed_transition(engine.network.step.transition, self.matrix) if self._trains() else None
        # Without asking, samples are left out by a list that the kernels read.
        leaving = start.exactly and start.epsilon is not None
        self.lists = leaving and self.transition is not None and self.sizes is not None
        self.following: Tensor | None = None
        """`sizes` for the step after the next: the context works on them while the next step is taken."""
        if self.lists:
            epsilon = start.epsilon
            self.thresholds = epsilon if isinstance(epsilon, Tensor) else torch.full_like(self.running, epsilon)
        self.aside = Aside(start.symbols.device) if start.exactly and self.network.context is not None else None
        self.packed = None
        if start.exactly and engine.compiled is not None and self.network.context is not None:
            # The parameters in one row a run, once for many readings: their gradients are then added up in one go.
            self.packed = flatten(self.network.context.parameters())
        if self.aside is not None:
            self.aside.lend(self.context, self.running, self.packed)
            if isinstance(self.drops, PackedDropouts):
                self.aside.lend(*self.drops.contexts)

    def _trains(self) -> bool:
        """Solving may have more cells than the kernels' 32-bit offsets reach."""
        packed = self.drops is None or isinstance(self.drops, PackedDropouts)
        return self.epsilon is not None and packed and self.engine.fits_transition

    def show(self, grid: Tensor) -> None:
        super().show(grid)
        self.seen, self.projected = grid, None

    def select(self, problems: Tensor) -> None:
        projected = None if self.projected is None else self.projected[:, problems]
        seen, top = self.seen[:, problems], self.top[:, problems]
        super().select(problems)
        if projected is not None:  # several tensors, whose gradients come back apart
            self.projected, self.seen, self.top = projected, seen, top

    def look(self, n: int) -> tuple[Tensor, Tensor | None]:
        if self.aside is None:
            return super().look(n)
        self.aside.lend(self.seen, self.sizes)
        with self.aside.work():
            row, halting = super().look(n)
            following = None
            if self.lists and halting is not None:
                assert self.sizes is not None
                following, self.running = leave(self.sizes, self.running, halting.detach(), self.thresholds)
        # Who leaves is known a step late, so that nothing waits for the context.
        self.aside.wait_for_all_but_the_last()
        self.aside.hand_over(following, halting)
        self.sizes, self.following = self.following if self.following is not None else self.sizes, following
        if n == self.steps:
            self.aside.wait()
        return row, halting

    def take(self, n: int) -> None:
        drops = self.drops and self.drops.step(n)
        projected = self.engine.project(self.grid, self.matrix) if self.projected is None else self.projected
        attended = self.engine.attend_to(projected, self.sizes)
        if self.transition is None:
            self.show(self.engine.transition(self.grid, attended, self.size, drops))
            return
        packed, low = self.transition
        sites = cast("Sequence[PackedDropout]", drops or ())
        bits, factor = tuple(site.bits for site in sites) or None, sites[0].factor if sites else 1.0
        hidden = self.network.config.step_hidden
        self.grid, self.projected, self.seen, self.top = KernelTransition.apply(
            self.grid, attended, packed, low, hidden, self.sizes, bits, factor, n < self.steps
        )

    def decide(self, n: int) -> Tensor:
        reader = self.network.context
        assert reader is not None
        assert self.context is not None
        drops = self.drops and self.drops.context(n)
        if self.packed is None or self.engine.compiled is None:
            attended = self._attend(reader, _ask(reader, self.context))
            self.context, halting = _conclude(reader, self.context, attended, drops)
            return halting
        ask, conclude = self.engine.compiled
        attended = self._attend(reader, ask(self.packed, self.context))
        self.context, halting = conclude(self.packed, self.context, attended, drops)
        return halting

    def _attend(self, reader: ContextTransformer, queries: Tensor) -> Tensor:
        height, width = self.seen.shape[2:4]
        if not self.engine.fits_context or height * width > _CONTEXT_CELLS:
            return folded.attend(reader.attention, queries, self.seen, self.size.inside)
        length, scale = queries.shape[2] // reader.attention.heads, folded.scale_of(reader.attention)
        return KernelContext.apply(queries, self.seen, self.sizes, length, scale)


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


def _feed(module: FeedForward, x: Tensor, drops: Sequence[Drop] | None = None) -> Tensor:
    for index, layer in enumerate(cast("Sequence[Linear]", module.layers)):
        x = F.silu(x) if index else x
        x = padded_linear(drops[index](x) if drops else x, layer.weight, layer.bias)
    return x


def _ask(reader: ContextTransformer, context: Tensor) -> Tensor:
    return folded.ask(reader.attention, context, padded_linear)


def _conclude(
    reader: ContextTransformer, context: Tensor, attended: Tensor, drops: Sequence[Drop] | None
) -> tuple[Tensor, Tensor]:
    return folded.conclude(reader, context, attended, drops, padded_linear, _feed)


def packed_transition(transition: Transition, matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A run's parameters in one row, as the kernel takes them, and the same in the precision of the products.

    `matrix` is that of the projections for the next step's attention.
    """
    layers = cast("Sequence[Linear]", transition.feed_forward.layers)
    norms = (transition.norm_attention, transition.norm_feed_forward)
    parts = [*(layer.weight for layer in layers), *(layer.bias for layer in layers)]
    packed = flatten([*parts, *(part for norm in norms for part in (norm.weight, norm.bias)), matrix])
    reduced = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else packed.dtype
    return packed, packed.detach().to(reduced)


def _power_of_two(number: int) -> bool:
    return number & (number - 1) == 0


class _Call(nn.Module):
    """A function of a module, as the forward of a module of its own."""

    def __init__(self, whole: nn.Module, function: Callable[..., Any]) -> None:
        super().__init__()
        self.whole, self.function = whole, function

    def forward(self, *arguments: Any) -> Any:
        return self.function(self.whole, *arguments)


def _compiled(module: nn.Module, function: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled `function(module, …)` as a function of the module's parameters, packed, and of the arguments."""
    whole = _Call(module, function)
    named = {path: parameter.shape for path, parameter in whole.named_parameters()}
    counts = [math.prod(shape[1:]) for shape in named.values()]

    def call(packed: Tensor, *arguments: Any) -> Any:
        parts = zip(named.items(), packed.split(counts, 1), strict=True)
        return functional_call(whole, {path: part.view(shape) for (path, shape), part in parts}, arguments)

    return torch.compile(call, dynamic=False)
