"""When to stop: the context transformer that reads the grid, and the distribution its probabilities make."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.func import functional_call

from gridsum.model.layers import (
    Drop,
    FeedForward,
    LayerNorm,
    RunModule,
    apply_matrix,
    flatten,
    is_power_of_two,
    triton_serves,
)
from gridsum.model.rollout import GridSize

_KERNEL_CELLS = 256


class ContextAttention(RunModule):
    """Multi-head attention from the context to the flattened grid, with row-wise ALiBi (Eq. 13).

    Head m's bias falls by 2^-m a row, 0 in the top row. The grid is never projected: with the projections folded
    into the few queries and into the few results, q·(g W_k) = (q W_kᵀ)·g and Σ a (g W_v) = (Σ a g) W_v.
    """

    decayed = ("projection", "output")

    def __init__(self, runs: int, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.projection = nn.Parameter(torch.empty(runs, 3, width, width))
        self.projection_bias = nn.Parameter(torch.empty(runs, 3, width))
        self.output = nn.Parameter(torch.empty(runs, width, width))
        self.output_bias = nn.Parameter(torch.empty(runs, width))

    def draw(self, run: int, generator: Generator) -> None:
        """As torch.nn.MultiheadAttention: the three projections are one Xavier matrix, the biases zero."""
        width = self.output.shape[-1]
        xavier = math.sqrt(6 / (width + 3 * width))
        self.projection[run].uniform_(-xavier, xavier, generator=generator)
        self.output[run].uniform_(-1 / math.sqrt(width), 1 / math.sqrt(width), generator=generator)
        self.projection_bias[run] = 0
        self.output_bias[run] = 0

    def ask(self, context: Tensor) -> Tensor:
        """The queries of context [R,B,C,E], carried over to the grid's own space: [R,B,h·C,E].

        The keys' bias adds the same to every cell's score, which a softmax does not see: it is left out.
        """
        query, key, _ = self.projection.unbind(1)
        q = apply_matrix(context, query, self.projection_bias[:, 0])
        heads = (x.unflatten(-1, (self.heads, -1)) for x in (q, key))
        return torch.einsum("rbchd,rehd->rbhce", *heads).flatten(2, 3)

    def answer(self, attended: Tensor) -> Tensor:
        """What the vectors attended to, [R,B,h·C,E], say to the context: [R,B,C,E]."""
        value = self.projection[:, 2].unflatten(-1, (self.heads, -1))
        heads = torch.einsum("rbhce,rehd->rbchd", attended.unflatten(2, (self.heads, -1)), value)
        heads = heads.flatten(-2) + self.projection_bias[:, 2, None, None]
        return apply_matrix(heads, self.output, self.output_bias)

    def attend(self, queries: Tensor, grid: Tensor, size: GridSize | None) -> Tensor:
        """The mean of the grid's vectors that each query attends to: [R,B,h·C,E]."""
        length = queries.shape[2] // self.heads
        scale = 1 / math.sqrt(grid.shape[-1] // self.heads)
        if _kernel_fits(grid):
            from gridsum.model.kernels.context import KernelContext

            return KernelContext.apply(queries, grid, size and size.own, length, scale)
        return torch.matmul(self.weights(queries, grid, size and size.inside, scale), grid.flatten(2, 3))

    def weights(self, queries: Tensor, grid: Tensor, inside: Tensor | None, scale: float) -> Tensor:
        """The attention [R,B,h·C,H·W] that queries pay to the cells."""
        height, columns = grid.shape[2:4]
        bias = alibi(self.heads, height, columns, grid).repeat_interleave(queries.shape[2] // self.heads, 0)
        cells = grid.flatten(2, 3).flatten(0, 1)
        scores = torch.baddbmm(bias, queries.flatten(0, 1), cells.transpose(-1, -2), alpha=scale)
        scores = scores.unflatten(0, queries.shape[:2])
        if inside is not None:
            scores = scores.masked_fill(~inside.flatten(1)[:, None, None], -math.inf)
        return scores.softmax(-1)

    def forward(self, context: Tensor, grid: Tensor, size: GridSize | None = None) -> Tensor:
        return self.answer(self.attend(self.ask(context), grid, size))


def alibi(heads: int, height: int, columns: int, like: Tensor) -> Tensor:
    """The bias of each head (slope 2^-m for the m-th) for each cell of the flattened grid: [h,H·W]."""
    head = torch.arange(1, heads + 1, device=like.device, dtype=like.dtype)
    row = torch.arange(height, device=like.device, dtype=like.dtype).repeat_interleave(columns)
    return -torch.exp2(-head)[:, None] * row


def _kernel_fits(grid: Tensor) -> bool:
    """A kernel holds a sample's whole grid as one tile, which is for grids of training size."""
    height, width, features = grid.shape[2:]
    return triton_serves(grid) and is_power_of_two(features) and features >= 16 and height * width <= _KERNEL_CELLS


class ContextTransformer(RunModule):
    """C_n, G_n → C_{n+1}, λ_n (Eq. 14)."""

    decayed = ("initial",)

    def __init__(self, runs: int, width: int, length: int, heads: int, hidden: int, halting_hidden: int) -> None:
        super().__init__()
        self.initial = nn.Parameter(torch.empty(runs, length, width))
        self.attention = ContextAttention(runs, width, heads)
        self.norm_attention = LayerNorm(runs, width)
        self.feed_forward = FeedForward(runs, (width, hidden, width))
        self.norm_feed_forward = LayerNorm(runs, width)
        self.decision = FeedForward(runs, (length * width, halting_hidden, 1))
        self.fused: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def draw(self, run: int, generator: Generator) -> None:
        self.initial[run].normal_(generator=generator)

    def start(self, problems: int) -> Tensor:
        """C_0 for every problem: [R,B,C,E]. In memory as any later context is, or all would be compiled twice."""
        return self.initial[:, None].expand(-1, problems, -1, -1).contiguous()

    def forward(
        self,
        context: Tensor,
        grid: Tensor,
        size: GridSize | None = None,
        dropouts: Sequence[Drop] | None = None,
        packed: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The next context, and λ [R,B]. With `packed`, from `prepare`, the compiled parts serve."""
        if packed is None or self.fused is None:
            return self.conclude(context, self.attention.attend(self.ask(context), grid, size), dropouts)
        ask, conclude = self.fused
        return conclude(packed, context, self.attention.attend(ask(packed, context), grid, size), dropouts)

    def prepare(self) -> Tensor | None:
        """The parameters in one row a run, once for many readings: their gradients are then added up in one go."""
        return None if self.fused is None else flatten(self.parameters())

    def ask(self, context: Tensor) -> Tensor:
        return self.attention.ask(context)

    def conclude(self, context: Tensor, attended: Tensor, dropouts: Sequence[Drop] | None) -> tuple[Tensor, Tensor]:
        context = self.norm_attention(context + self.attention.answer(attended))
        context = self.norm_feed_forward(context + self.feed_forward(context, dropouts))
        # Whatever the products' precision, a probability close to 1 must not become 1.
        logit = self.decision(context.flatten(-2)).squeeze(-1)
        return context, logit.to(torch.promote_types(logit.dtype, torch.float32)).sigmoid()

    def fuse(self) -> None:
        """Compile what lies before and after the kernel."""
        self.fused = _compiled(self, "ask"), _compiled(self, "conclude")


class _Method(nn.Module):
    """A method of a module, as the forward of a module of its own."""

    def __init__(self, whole: nn.Module, name: str) -> None:
        super().__init__()
        self.whole, self.name = whole, name

    def forward(self, *arguments: Any) -> Any:
        return getattr(self.whole, self.name)(*arguments)


def _compiled(module: nn.Module, name: str) -> Callable[..., Any]:
    """The compiled method `name` as a function of the module's parameters, packed, and of its own arguments."""
    method = _Method(module, name)
    named = {path: parameter.shape for path, parameter in method.named_parameters()}
    counts = [math.prod(shape[1:]) for shape in named.values()]

    def call(packed: Tensor, *arguments: Any) -> Any:
        parts = zip(named.items(), packed.split(counts, 1), strict=True)
        return functional_call(method, {path: part.view(shape) for (path, shape), part in parts}, arguments)

    return torch.compile(call, dynamic=False)


def halting_distribution(halting: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """p_n from λ_n [K,R,B] (Eq. 10), truncated: p [K,R,B], and the truncation step N [R,B] of each sample.

    A sample stops at the first n before which it has halted with a probability above 1 − ε, or at the last n
    given; that n takes what remains, so p sums to 1.
    """
    before = survival(halting)
    step = torch.arange(halting.shape[0], device=halting.device).view(-1, *[1] * (halting.dim() - 1))
    last = halting.shape[0] - 1
    truncation = torch.where(before < epsilon, step, last).amin(0)
    p = torch.where(step < truncation, halting * before, torch.where(step == truncation, before, 0.0))
    return p, truncation


def survival(halting: Tensor) -> Tensor:
    """Π_{i<n} (1 − λ_i) for every n. A plain product: torch.cumprod's gradient asks the host about zeros."""
    products = [torch.ones_like(halting[0])]
    for stay in (1 - halting[:-1]).unbind(0):
        products.append(products[-1] * stay)
    return torch.stack(products)
