"""When to stop: the context transformer that reads the grid, and the distribution its probabilities make."""

import math
from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn

from gridsum.model.layers import Dropout, FeedForward, LayerNorm, RunModule


class ContextAttention(RunModule):
    """Multi-head attention from the context to the flattened grid, with row-wise ALiBi (Eq. 12).

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

    def weights(self, context: Tensor, grid: Tensor, inside: Tensor | None) -> Tensor:
        """The attention [R,B,h·C,H·W] of C context vectors [R,B,C,E] to the cells of [R,B,H,W,E]."""
        runs, problems, length, width = context.shape
        height, columns = grid.shape[2:4]
        size = width // self.heads
        query, key = self.projection[:, 0], self.projection[:, 1].unflatten(-1, (self.heads, size))
        q = torch.matmul(context, query[:, None]) + self.projection_bias[:, 0, None, None]
        q = q.unflatten(-1, (self.heads, size))
        folded = torch.einsum("rbchd,rehd->rbhce", q, key).flatten(2, 3)
        # q·b_k is the same for every cell, which the softmax does not see; it stays for the equation's sake.
        constant = torch.einsum("rbchd,rhd->rbhc", q, self.projection_bias[:, 1].unflatten(-1, (self.heads, size)))
        scores = torch.matmul(folded, grid.flatten(2, 3).transpose(-1, -2)) + constant.flatten(2)[..., None]
        scores = scores / math.sqrt(size) + self._alibi(height, columns, length, grid)
        if inside is not None:
            scores = scores.masked_fill(~inside.view(runs, 1, 1, height * columns), -math.inf)
        return scores.softmax(-1)

    def _alibi(self, height: int, columns: int, length: int, like: Tensor) -> Tensor:
        head = torch.arange(1, self.heads + 1, device=like.device, dtype=like.dtype)
        row = torch.arange(height, device=like.device, dtype=like.dtype).repeat_interleave(columns)
        bias = -torch.exp2(-head)[:, None] * row
        return bias.repeat_interleave(length, 0)

    def forward(self, context: Tensor, grid: Tensor, inside: Tensor | None) -> Tensor:
        attended = torch.matmul(self.weights(context, grid, inside), grid.flatten(2, 3))
        length, width = context.shape[-2:]
        value = self.projection[:, 2].unflatten(-1, (self.heads, width // self.heads))
        attended = attended.unflatten(2, (self.heads, length))
        heads = torch.einsum("rbhce,rehd->rbchd", attended, value).flatten(-2)
        heads = heads + self.projection_bias[:, 2, None, None]
        return torch.matmul(heads, self.output[:, None]) + self.output_bias[:, None, None]


class ContextTransformer(RunModule):
    """C_n, G_n → C_{n+1}, λ_n (Eq. 13)."""

    decayed = ("initial",)

    def __init__(self, runs: int, width: int, length: int, heads: int, hidden: int, halting_hidden: int) -> None:
        super().__init__()
        self.initial = nn.Parameter(torch.empty(runs, length, width))
        self.attention = ContextAttention(runs, width, heads)
        self.norm_attention = LayerNorm(runs, width)
        self.feed_forward = FeedForward(runs, (width, hidden, width))
        self.norm_feed_forward = LayerNorm(runs, width)
        self.decision = FeedForward(runs, (length * width, halting_hidden, 1))

    def draw(self, run: int, generator: Generator) -> None:
        self.initial[run].normal_(generator=generator)

    def start(self, problems: int) -> Tensor:
        """C_0 for every problem: [R,B,C,E]."""
        return self.initial[:, None].expand(-1, problems, -1, -1)

    def forward(
        self, context: Tensor, grid: Tensor, inside: Tensor | None, dropouts: Sequence[Dropout] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The next context, and λ [R,B]."""
        context = self.norm_attention(context + self.attention(context, grid, inside))
        context = self.norm_feed_forward(context + self.feed_forward(context, dropouts))
        return context, self.decision(context.flatten(-2)).squeeze(-1).sigmoid()


def halting_distribution(halting: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """p_n from λ_n (Eq. 9), truncated: (p, the truncation step N of each sample), with n leading.

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
