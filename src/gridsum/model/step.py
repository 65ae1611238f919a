"""One step of the universal transformer: local attention, then what looks at one cell at a time."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.autograd import Function

from gridsum.config import ModelConfig
from gridsum.model.attention import LocalAttention
from gridsum.model.layers import (
    Drop,
    FeedForward,
    LayerNorm,
    Linear,
    PackedDropout,
    apply_matrix,
    flatten,
    is_power_of_two,
    triton_serves,
)
from gridsum.model.rollout import GridSize

Disturb = Callable[[Tensor], Tensor]


def only_inside(inside: Tensor | None, grid: Tensor) -> Tensor:
    """The grid, zero outside each run's own part.

    Zero vectors have zero keys and values: cells outside look like the border they are. What comes back for them as
    a gradient is never looked at, be it no number.
    """
    return grid if inside is None else torch.where(inside[:, None, :, :, None], grid, 0.0)


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
        dropouts: Sequence[Drop] | None = None,
    ) -> Tensor:
        # Outside, attention may leave what is no number, which the gradients of the parameters must not meet.
        between = self.norm_attention(grid + only_inside(inside, attended))
        result = self.norm_feed_forward(between + self.feed_forward(between, dropouts))
        return only_inside(inside, result)

    def packed(self) -> Tensor:
        """All parameters of a run in one row, as the kernel takes them: weights, biases, norms."""
        layers = cast("Iterable[Linear]", self.feed_forward.layers)
        norms = (self.norm_attention, self.norm_feed_forward)
        parts = [*(layer.weight for layer in layers), *(layer.bias for layer in layers)]
        return flatten([*parts, *(part for norm in norms for part in (norm.weight, norm.bias))])


class Readers(NamedTuple):
    """A grid for each of its readers: one tensor as a rule, several where a kernel adds up their gradients."""

    residual: Tensor
    projected: Tensor
    context: Tensor
    top: Tensor
    """[R,B,W,E], the top row, for the output."""

    @classmethod
    def of(cls, grid: Tensor) -> "Readers":
        return cls(grid, grid, grid, grid[:, :, 0])

    def only(self, problems: Tensor) -> "Readers":
        if self.projected is self.residual is self.context:  # one copy, and one sum of its gradients
            return Readers.of(self.residual[:, problems])
        return Readers(*(part[:, problems] for part in self))


@dataclass(frozen=True)
class Prepared:
    """What is made of a step's parameters once for many steps."""

    projection: Tensor
    transition: tuple[Tensor, Tensor] | None
    """The transition's parameters in one row a run, and the same in the precision of the products, as its kernel takes
    them; None where that does not serve."""
    remembered: Tensor | None
    """What `Step.remember` makes of G_0."""

    def only(self, problems: Tensor | slice) -> "Prepared":
        return self if self.remembered is None else replace(self, remembered=self.remembered[:, problems])


class Recall(Linear):
    """Linear(concat(G_n, G_0)) in two parts, of which that of G_0 is the same at every step."""

    def __init__(self, runs: int, width: int) -> None:
        super().__init__(runs, 2 * width, width)

    def remember(self, origin: Tensor) -> Tensor:
        return apply_matrix(origin, self.weight[:, origin.shape[-1] :], self.bias).to(origin.dtype)

    def mix(self, grid: Tensor, remembered: Tensor, inside: Tensor | None) -> Tensor:
        return only_inside(inside, apply_matrix(grid, self.weight[:, : grid.shape[-1]]).to(grid.dtype) + remembered)


class Discretise(Function):
    """Every feature at one of L levels from -1 to 1; the gradient is that of tanh, which leads to the ends.

    [-1, 1] is cut into L equal parts, the kth of which means the kth level; what lies beyond belongs to the ends.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, levels: int) -> Tensor:
        ctx.save_for_backward(x)
        return ((x + 1) * (levels / 2)).floor().clamp(0, levels - 1) * (2 / (levels - 1)) - 1

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(gradients[0], x.tanh()), None


class Step(nn.Module):
    """G_n → G_{n+1} (Eq. 5): local attention, then a feed-forward network, post-norm.

    With recall, both work on a mixture of G_n and G_0, which `remember` has to be shown first. With levels, a run's
    G_{n+1} is made of these alone once it is marked in `discrete`.
    """

    discrete: Tensor | None

    def __init__(self, runs: int, config: ModelConfig) -> None:
        super().__init__()
        self.attention = LocalAttention(
            runs, config.width, config.groups, config.heads, config.kernel, config.query_encoding
        )
        self.transition = Transition(runs, config.width, config.step_hidden)
        self.hidden = config.step_hidden
        self.recall = Recall(runs, config.width) if config.recall else None
        self.levels = config.levels
        self.register_buffer("discrete", torch.zeros(runs, dtype=torch.bool) if config.levels else None)

    def remember(self, origin: Tensor) -> Tensor | None:
        """What every step needs of G_0, made once; None without recall."""
        return None if self.recall is None else self.recall.remember(origin)

    def recalled(self, grid: Tensor, remembered: Tensor | None, size: GridSize | None) -> Tensor:
        """What attention and feed-forward network work on: the grid, or with recall its mixture with G_0."""
        if self.recall is None:
            return grid
        if remembered is None:
            raise ValueError("this network recalls its first grid at every step; pass remembered=step.remember(G_0)")
        return self.recall.mix(grid, remembered, size and size.inside)

    def forward(
        self,
        grid: Tensor,
        size: GridSize | None = None,
        dropouts: Sequence[Drop] | None = None,
        projection: Tensor | None = None,
        remembered: Tensor | None = None,
        disturb: Disturb | None = None,
    ) -> Tensor:
        """`projection`, from `prepare`, spares making it at every step; `remembered` is what `remember` returns."""
        grid = self.recalled(grid, remembered, size)
        attended = self.attention(grid, size, projection)
        inside = size and size.inside
        return self.arrive(self.transition(grid, attended, inside, dropouts), inside, disturb)

    def arrive(self, grid: Tensor, inside: Tensor | None, disturb: Disturb | None = None) -> Tensor:
        """A step's result as the next step sees it: disturbed, if training asks for it, and discrete if it is to be."""
        if disturb is None and self.discrete is None:
            return grid
        grid = grid if disturb is None else disturb(grid)
        if self.discrete is not None:
            discrete = self.discrete.view(-1, *[1] * (grid.dim() - 1))
            grid = torch.where(discrete, Discretise.apply(grid, self.levels), grid)
        return only_inside(inside, grid)

    def advance(
        self,
        grid: Readers,
        size: GridSize,
        dropouts: Sequence[Drop] | None,
        prepared: Prepared,
        disturb: Disturb | None = None,
    ) -> Readers:
        """The same among many steps: `prepared` says what serves."""
        if prepared.transition is None:
            return Readers.of(self(grid.residual, size, dropouts, prepared.projection, prepared.remembered, disturb))
        from gridsum.model.kernels.transition import KernelTransition

        if self.recall is not None:
            grid = Readers.of(self.recalled(grid.residual, prepared.remembered, size))
        attended = self.attention(grid.projected, size, prepared.projection)
        drops = cast("Sequence[PackedDropout]", dropouts or ())
        bits, factor = tuple(drop.bits for drop in drops) or None, drops[0].factor if drops else 1.0
        packed, low = prepared.transition
        parts = KernelTransition.apply(grid.residual, attended, packed, low, self.hidden, size.own, bits, factor)
        if disturb is None and self.discrete is None:
            return Readers(*parts)
        return Readers.of(self.arrive(parts[0], size.inside, disturb))

    def last(
        self,
        grid: Tensor,
        size: GridSize,
        dropouts: Sequence[Drop] | None,
        prepared: Prepared,
        disturb: Disturb | None = None,
    ) -> Tensor:
        """The top row [R,B,W,E] after a step whose other rows nobody will read. `dropouts` are those of the top row."""
        near = size.upper(self.attention.kernel // 2 + 1)
        remembered = prepared.remembered
        remembered = None if remembered is None else remembered[:, :, : near.height]
        grid = self.recalled(grid[:, :, : near.height], remembered, near)
        attended = self.attention(grid, near, prepared.projection)
        inside = size.upper(1).inside
        row = self.transition(grid[:, :, :1], attended[:, :, :1], inside, dropouts)
        return self.arrive(row, inside, disturb).squeeze(2)

    def reduce(self, products: torch.dtype) -> None:
        """Project, and compute FFN_3, in less precision where a CPU computes a gradient."""
        self.attention.products = self.transition.feed_forward.products = products

    def prepare(self, origin: Tensor) -> Prepared:
        """For many steps that begin from `origin`, G_0."""
        remembered = self.remember(origin)
        sizes = (self.attention.relative.shape[-1], self.hidden)
        if not triton_serves(self.attention.relative) or not all(is_power_of_two(n) and 16 <= n <= 1024 for n in sizes):
            return Prepared(self.attention.matrix(), None, remembered)
        packed = self.transition.packed()
        reduced = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else packed.dtype
        return Prepared(self.attention.matrix(), (packed, packed.detach().to(reduced)), remembered)

    def observe(self, grid: Tensor, remembered: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The next grid, and the attention that led to it."""
        grid = self.recalled(grid, remembered, None)
        attended, weights = self.attention.observe(grid)
        return self.arrive(self.transition(grid, attended), None), weights
