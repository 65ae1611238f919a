"""One step of the universal transformer: local attention, then what looks at one cell at a time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from gridsum.config import ModelConfig
from gridsum.model.attention import LocalAttention
from gridsum.model.layers import (
    Drop,
    FeedForward,
    LayerNorm,
    Linear,
    PackedDropout,
    flatten,
    is_power_of_two,
    triton_serves,
)
from gridsum.model.rollout import GridSize


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


class Step(nn.Module):
    """G_n → G_{n+1} (Eq. 5): local attention, then a feed-forward network, post-norm."""

    def __init__(self, runs: int, config: ModelConfig) -> None:
        super().__init__()
        self.attention = LocalAttention(
            runs, config.width, config.groups, config.heads, config.kernel, config.query_encoding
        )
        self.transition = Transition(runs, config.width, config.step_hidden)
        self.hidden = config.step_hidden

    def forward(
        self,
        grid: Tensor,
        size: GridSize | None = None,
        dropouts: Sequence[Drop] | None = None,
        projection: Tensor | None = None,
    ) -> Tensor:
        """`projection`, from `prepare`, spares making it at every step."""
        attended = self.attention(grid, size, projection)
        return self.transition(grid, attended, size and size.inside, dropouts)

    def advance(
        self,
        grid: Readers,
        size: GridSize,
        dropouts: Sequence[Drop] | None,
        prepared: Prepared,
    ) -> Readers:
        """The same among many steps: `prepared` says what serves."""
        if prepared.transition is None:
            return Readers.of(self(grid.residual, size, dropouts, prepared.projection))
        from gridsum.model.kernels.transition import KernelTransition

        attended = self.attention(grid.projected, size, prepared.projection)
        drops = cast("Sequence[PackedDropout]", dropouts or ())
        bits, factor = tuple(drop.bits for drop in drops) or None, drops[0].factor if drops else 1.0
        packed, low = prepared.transition
        parts = KernelTransition.apply(grid.residual, attended, packed, low, self.hidden, size.own, bits, factor)
        return Readers(*parts)

    def last(
        self,
        grid: Tensor,
        size: GridSize,
        dropouts: Sequence[Drop] | None,
        prepared: Prepared,
    ) -> Tensor:
        """The top row [R,B,W,E] after a step whose other rows nobody will read. `dropouts` are those of the top row."""
        near = size.upper(self.attention.kernel // 2 + 1)
        grid = grid[:, :, : near.height]
        attended = self.attention(grid, near, prepared.projection)
        inside = size.upper(1).inside
        return self.transition(grid[:, :, :1], attended[:, :, :1], inside, dropouts).squeeze(2)

    def reduce(self, products: torch.dtype) -> None:
        """Project, and compute FFN_3, in less precision where a CPU computes a gradient."""
        self.attention.products = self.transition.feed_forward.products = products

    def prepare(self) -> Prepared:
        """For many steps."""
        sizes = (self.attention.relative.shape[-1], self.hidden)
        if not triton_serves(self.attention.relative) or not all(is_power_of_two(n) and 16 <= n <= 1024 for n in sizes):
            return Prepared(self.attention.matrix(), None)
        packed = self.transition.packed()
        reduced = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else packed.dtype
        return Prepared(self.attention.matrix(), (packed, packed.detach().to(reduced)))

    def observe(self, grid: Tensor) -> tuple[Tensor, Tensor]:
        """The next grid, and the attention that led to it."""
        attended, weights = self.attention.observe(grid)
        return self.transition(grid, attended), weights
