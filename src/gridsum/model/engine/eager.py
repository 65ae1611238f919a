"""Torch operation by operation, with the shortcuts that pay on a CPU.

- Feed-forward networks and local attention are functions of their own gradients, which keep little and compute the rest
  again; their products may be in bf16.
- Placement runs backwards in time, and the context never projects the grid.
- Truncated samples leave the batch. Which step is a sample's last is known before it is taken, and of that step the
  output reads the top row alone: so two rows of attention and one of FFN_3 are computed.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.model.dropout import Dropout, Dropouts
from gridsum.model.engine.attention import FusedAttention, block_matrix
from gridsum.model.engine.context import ask, attend, conclude
from gridsum.model.engine.feed_forward import FusedFeedForward
from gridsum.model.engine.placement import LookUp, place_hard, place_soft
from gridsum.model.engine.plain import WORTH_LEAVING, Course, Plain, PlainCourse, Start
from gridsum.model.paper import Drop, FeedForward, GridSize, Linear, Network, linear, only_inside


class Eager(Plain):
    """`products` is what a step multiplies in where there is a gradient to compute, if not in the grid's dtype."""

    def __init__(self, network: Network, products: torch.dtype | None = None) -> None:
        super().__init__(network)
        self.products = products

    def multiplying(self) -> AbstractContextManager[None]:
        """By BLAS alone, in fp32 on a CPU. Torch built without MKL, as for ARM, gives products with a transposed factor
        to oneDNN, which takes longer to prepare for many of ours than to compute them."""
        if self.products is not None or torch.backends.mkl.is_available():
            return super().multiplying()
        return _without_onednn()

    def begin(self, start: Start) -> Course:
        return EagerCourse(self, start)

    def feed(
        self, module: FeedForward, x: Tensor, drops: Sequence[Drop] | None = None, kind: torch.dtype | None = None
    ) -> Tensor:
        """A feed-forward network, by its own gradient where there is one to compute."""
        if not torch.is_grad_enabled():
            return module(x, drops)
        layers = cast("Sequence[Linear]", module.layers)
        parameters = (part for layer in layers for part in layer.parameters())
        return FusedFeedForward.apply(x, cast("Sequence[Dropout] | None", drops), kind or x.dtype, *parameters)

    def project(self, grid: Tensor, matrix: Tensor) -> Tensor:
        """Q, K and V side by side: [R,B,H,W,3E]."""
        if self.products is None or not torch.is_grad_enabled():
            return linear(grid, matrix)
        return FusedFeedForward.apply(grid, None, self.products, matrix, None)

    def attend(self, grid: Tensor, matrix: Tensor) -> Tensor:
        """Local attention; `matrix` is the attention's `block_matrix`."""
        return self.attend_to(self.project(grid, matrix))

    def attend_to(self, projected: Tensor, sizes: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """The same from the projections [R,B,H,W,3E]; an engine of kernels computes only the cells of `sizes`."""
        attention = self.network.step.attention
        return FusedAttention.apply(projected, attention.query, attention.relative, attention.heads)

    def transition(self, grid: Tensor, attended: Tensor, size: GridSize, drops: Sequence[Drop] | None) -> Tensor:
        """The rest of Eq. 5. Outside a run's own grid attention may leave what is no number, which must not be met."""
        step = self.network.step.transition
        between = step.norm_attention(grid + only_inside(size, attended))
        return only_inside(
            size, step.norm_feed_forward(between + self.feed(step.feed_forward, between, drops, self.products))
        )

    def actions(self, symbols: Tensor) -> Tensor:
        with full_precision(symbols):  # small errors here would add up over the length of the input
            network = self.network
            table = self.feed(network.placement.encoder, network.embedding.weight).softmax(-1)
        return LookUp.apply(table, symbols)

    def place(self, symbols: Tensor, size: GridSize, hard: bool) -> Tensor:
        embedding, actions = self.network.embedding.weight, self.actions(symbols)
        with full_precision(symbols):
            if hard or torch.is_grad_enabled():
                return only_inside(size, self.put(LookUp.apply(embedding, symbols), actions, size, hard))
            # How much of each symbol ends in a cell: there are fewer symbols than features.
            shares = self.put(F.one_hot(symbols, embedding.shape[1]).to(embedding.dtype), actions, size, hard)
            return only_inside(size, linear(shares, embedding))

    def put(self, vectors: Tensor, actions: Tensor, size: GridSize, hard: bool) -> Tensor:
        return (place_hard if hard else place_soft)(vectors, actions, size.height, size.width)


class EagerCourse(PlainCourse):
    """A rollout whose samples leave when they are truncated."""

    engine: Any

    def __init__(self, engine: Eager, start: Start) -> None:
        self.engine = engine
        super().__init__(engine, start)
        self.problems = start.symbols.shape[1]
        self.matrix = block_matrix(self.network.step.attention)
        self.present = torch.arange(self.problems, device=start.symbols.device)
        self.last_rows: Tensor | None = None

    def show(self, grid: Tensor) -> None:
        self.grid, self.top = grid, grid[:, :, 0]

    def look(self, n: int) -> tuple[Tensor, Tensor | None]:
        if self.network.context is None:
            return self.top, None
        if not self.truncates:
            return self.top, self.decide(n)
        rows = self.top.new_zeros(()).expand(len(self.running), self.problems, *self.top.shape[2:])
        rows, halting = rows if self.last_rows is None else self.last_rows, torch.ones_like(self.running)
        if len(self.present):
            chance = self.decide(n)
            rows, halting = (_put(*part, self.present) for part in ((rows, self.top), (halting, chance)))
        self.done = not len(self.present)
        self.running = self.running * (1 - halting.detach())
        return rows, halting

    def advance(self, n: int) -> None:
        self.last_rows = None
        if self.truncates:
            self.let_go(n)
        if len(self.present):
            self.take(n)

    def let_go(self, n: int) -> None:
        """The samples whose last step is step n leave, once they are many enough, with their top rows."""
        assert self.epsilon is not None
        going = (self.running >= self.epsilon)[:, self.present].any(0) & (n < self.steps)
        if int(going.sum()) > len(self.present) * WORTH_LEAVING:
            return
        rows = self.top.new_zeros(()).expand(len(self.running), self.problems, *self.top.shape[2:])
        self.last_rows = rows.index_copy(1, self.present[~going], self.last_row(n, ~going))
        self.present = self.present[going]
        self.select(going)

    def last_row(self, n: int, problems: Tensor) -> Tensor:
        """The top row [R,b,W,E] of some problems after a step whose other rows nobody will read."""
        drops = None if self.drops is None else cast("Dropouts", self.drops).top_row(n, problems)
        near = self.size.upper(self.network.step.attention.kernel // 2 + 1)
        grid = self.grid[:, problems][:, :, : near.height]
        attended = self.engine.attend(grid, self.matrix)
        top = self.engine.transition(grid[:, :, :1], attended[:, :, :1], self.size.upper(1), drops)
        return top.squeeze(2)

    def select(self, problems: Tensor) -> None:
        self.drops = self.drops and cast("Dropouts", self.drops).of_problems(problems)
        super().select(problems)

    def take(self, n: int) -> None:
        attended = self.engine.attend(self.grid, self.matrix)
        self.show(self.engine.transition(self.grid, attended, self.size, self.drops and self.drops.step(n)))

    def decide(self, n: int) -> Tensor:
        """λ_n [R,b]."""
        reader = self.network.context
        assert reader is not None
        assert self.context is not None
        attended = attend(reader.attention, ask(reader.attention, self.context), self.grid, self.size.inside)
        drops = None if self.drops is None else self.drops.context(n)
        self.context, halting = conclude(reader, self.context, attended, drops, self.engine.feed)
        return halting


def _put(whole: Tensor, part: Tensor, problems: Tensor) -> Tensor:
    """`whole` [R,B,...], but `part` for some of the problems."""
    return part if len(problems) == whole.shape[1] else whole.index_copy(1, problems, part)


@contextmanager
def _without_onednn() -> Iterator[None]:
    switch: Any = torch.backends.mkldnn
    before, switch.enabled = switch.enabled, False
    try:
        yield
    finally:
        switch.enabled = before


def full_precision(like: Tensor) -> torch.autocast:
    """Products in the dtype of what is multiplied, whatever training asks for."""
    return torch.autocast(like.device.type, enabled=False)
