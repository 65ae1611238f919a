"""The paper's system, equation by equation in the paper's order, for R runs at once.

This is the definition. It is plain torch, and autograd makes its gradients. What computes it fast stands in
`gridsum.model.engine`, and the tests hold every part of that against this file.

Shapes have one legend: R runs, B problems, S symbols, H rows, W columns, E features, h heads, C vectors of the context.
Every parameter and every activation leads with the run. Nothing mixes runs, so a run computes the same alone or in a
fleet.
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from gridsum.config.paper import ModelConfig
from gridsum.model.runs import RunModule, RunsModule, constant, generators, normal, uniform
from gridsum.tasks import find

TLU, NLP, NOP = 0, 1, 2
ACTIONS = ("TLU", "NLP", "NOP")

Drop = Callable[[Tensor], Tensor]
"""Dropout on the input of one layer."""


@dataclass(frozen=True)
class GridSize:
    """The grids of a batch: every run's rows and columns, inside `height` × `width` cells that all runs share.

    Rows are counted from the top and columns from the right, where Seq2Grid writes.
    """

    height: int
    width: int
    own: Tensor | None = None
    """The rows and columns of each run's own grid, int32 [R,2]; None where every run's grid fills the whole."""

    @cached_property
    def inside(self) -> Tensor | None:
        """Which cells belong to each run's own grid: bool [R,H,W], or None if all do."""
        if self.own is None:
            return None
        below = torch.arange(self.height, device=self.own.device) < self.own[:, :1]
        right = torch.arange(self.width - 1, -1, -1, device=self.own.device) < self.own[:, 1:]
        return below[:, :, None] & right[:, None, :]

    def upper(self, rows: int) -> "GridSize":
        """Of the upper rows alone."""
        if rows >= self.height:
            return self
        own = self.own
        return GridSize(
            rows, self.width, None if own is None else torch.cat((own[:, :1].clamp(max=rows), own[:, 1:]), 1)
        )


def only_inside(size: GridSize | None, grid: Tensor) -> Tensor:
    """The grid, zero outside each run's own part.

    Zero vectors have zero keys and values, which is what the paper puts outside the grid: so the mask is exact.
    """
    inside = size and size.inside
    return grid if inside is None else torch.where(inside[:, None, :, :, None], grid, 0.0)


class Linear(RunModule):
    """x W + b, initialised as torch.nn.Linear is."""

    decayed = ("weight",)

    def __init__(self, runs: Sequence[Generator], inputs: int, outputs: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.weight = uniform(runs, bound, inputs, outputs)
        self.bias = uniform(runs, bound, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, matrix: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [R,...,in] times matrix [R,in,out], plus bias [R,out]."""
    runs, inputs, outputs = matrix.shape
    if runs == 1:  # torch's own; squeezed, as the gradient of an index is a copy
        return F.linear(x, matrix.squeeze(0).T, None if bias is None else bias.squeeze(0))
    lines = x.reshape(runs, -1, inputs)
    product = torch.bmm(lines, matrix) if bias is None else torch.baddbmm(bias[:, None], lines, matrix)
    return product.view(*x.shape[:-1], outputs)


class FeedForward(nn.Module):
    """FFN_L (Eq. 1): L linear layers with SiLU between them, dropout (in training, where there is any) before each."""

    def __init__(self, runs: Sequence[Generator], sizes: Sequence[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Linear(runs, *pair) for pair in pairwise(sizes))

    def forward(self, x: Tensor, drops: Sequence[Drop] | None = None) -> Tensor:
        for index, layer in enumerate(self.layers):
            x = F.silu(x) if index else x
            x = layer(drops[index](x) if drops else x)
        return x


class LayerNorm(RunModule):
    """LN, over the features of each cell."""

    def __init__(self, runs: Sequence[Generator], features: int) -> None:
        super().__init__()
        self.weight = constant(runs, 1.0, features)
        self.bias = constant(runs, 0.0, features)

    def forward(self, x: Tensor) -> Tensor:
        if len(self.weight) == 1:  # torch's own
            return F.layer_norm(x, x.shape[-1:], self.weight.squeeze(0), self.bias.squeeze(0))
        shape = (-1, *[1] * (x.dim() - 2), x.shape[-1])
        return F.layer_norm(x, x.shape[-1:]) * self.weight.view(shape) + self.bias.view(shape)


class Embedding(RunModule):
    """Σ → R^E, without any positional information."""

    def __init__(self, runs: Sequence[Generator], width: int, symbols: int) -> None:
        super().__init__()
        self.weight = normal(runs, 1.0, symbols, width)

    def forward(self, symbols: Tensor) -> Tensor:
        return self.weight[torch.arange(len(self.weight), device=symbols.device)[:, None, None], symbols]


class Placement(nn.Module):
    """(a_TLU, a_NLP, a_NOP) = softmax(FFN_2(x)) for every symbol's vector (Eq. 2)."""

    def __init__(self, runs: Sequence[Generator], width: int, hidden: int) -> None:
        super().__init__()
        self.encoder = FeedForward(runs, (width, hidden, len(ACTIONS)))

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x).softmax(-1)


def seq2grid(x: Tensor, actions: Tensor, height: int, width: int) -> Tensor:
    """The grid [R,B,H,W,E] that vectors x [R,B,S,E] are written onto under action probabilities [R,B,S,3] (Eq. 3)."""
    runs, problems, _, features = x.shape
    grid = x.new_zeros(runs, problems, height, width, features)
    for vector, action in zip(x.unbind(2), actions.unbind(2), strict=True):
        tlu, nlp, nop = action[..., None, None, None].unbind(2)
        corner = vector[:, :, None, None]
        top, below = grid[:, :, :1], grid[:, :, 1:]
        moved = torch.cat((torch.cat((top[:, :, :, 1:], corner), 3), below), 2)  # TLU: the top row moves left
        fresh = torch.cat((torch.zeros_like(top[:, :, :, 1:]), corner), 3)
        pushed = torch.cat((fresh, grid[:, :, :-1]), 2)  # NLP: all rows move down
        grid = tlu * moved + nlp * pushed + nop * grid
    return grid


def most_probable(actions: Tensor) -> Tensor:
    """Action probabilities [...,3] with certainty in the most probable."""
    return F.one_hot(actions.argmax(-1), len(ACTIONS)).to(actions.dtype)


class LocalAttention(RunModule):
    """Every cell attends to the k × k cells around it, with weights softmax((Q + s)·(K + r)).

    Queries, keys and values are projected in `groups` parts without bias, then split into `heads`. Outside the grid
    keys and values are zero and those places do take part, with K + r = r: so a cell can know the border. With groups =
    heads and no s this is stand-alone self-attention (SASA).
    """

    decayed = ("projection",)

    def __init__(
        self, runs: Sequence[Generator], width: int, groups: int, heads: int, kernel: int, query_encoding: bool
    ) -> None:
        super().__init__()
        if width % groups or width % heads:
            raise ValueError(f"{groups} groups and {heads} heads must both divide the width, {width}")
        if kernel % 2 == 0:
            raise ValueError(f"kernel must be odd, so that a cell is the centre of its neighbourhood, not {kernel}")
        self.heads, self.kernel = heads, kernel
        part = width // groups
        self.projection = normal(runs, math.sqrt(2 / width), 3, groups, part, part)
        self.relative = normal(runs, 1.0, kernel, kernel, width)
        self.query = normal(runs, 1.0, width) if query_encoding else None

    def project(self, grid: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Q (with s added), K and V, each [R,B,H,W,E] (Eq. 6)."""
        runs, *_, width = self.relative.shape
        if grid.dim() != 5 or grid.shape[0] != runs or grid.shape[-1] != width:
            raise ValueError(
                f"a grid is [runs, problems, rows, columns, features], here [{runs}, ·, ·, ·, {width}], "
                f"not {list(grid.shape)}; one model is a fleet of one: grid[None]"
            )
        parts = grid.unflatten(-1, (self.projection.shape[2], -1))
        q, k, v = torch.einsum("rbhwgi,rngio->nrbhwgo", parts, self.projection).flatten(-2)
        return (q if self.query is None else q + self.query[:, None, None, None]), k, v

    def weights(self, grid: Tensor) -> Tensor:
        """The attention [k²,R,B,H,W,h] that each cell pays to its neighbours."""
        q, k, _ = self.project(grid)
        return attention_weights(q, k, self.relative, self.heads)

    def forward(self, grid: Tensor) -> Tensor:
        q, k, v = self.project(grid)
        return gather(attention_weights(q, k, self.relative, self.heads), v)


def neighbours(x: Tensor, kernel: int) -> list[Tensor]:
    """x [R,B,H,W,E] as seen from every cell: a tensor of that shape for each neighbour, zero outside the grid."""
    margin, (height, width) = kernel // 2, x.shape[2:4]
    padded = F.pad(x, (0, 0, margin, margin, margin, margin))
    return [padded[:, :, a : a + height, b : b + width] for a in range(kernel) for b in range(kernel)]


def attention_weights(q: Tensor, k: Tensor, relative: Tensor, heads: int) -> Tensor:
    """A = softmax(q·(k + r)) over the neighbourhood, [k²,R,B,H,W,h] (Eq. 7; Eq. 8 are the four terms of the score)."""
    encoding = relative.flatten(1, 2)[:, :, None, None, None]
    scores = [
        (q * (neighbour + encoding[:, index])).unflatten(-1, (heads, -1)).sum(-1)
        for index, neighbour in enumerate(neighbours(k, relative.shape[1]))
    ]
    return torch.stack(scores).softmax(0)


def gather(weights: Tensor, v: Tensor) -> Tensor:
    """Y = Σ A·V over the neighbourhood, heads joined: [R,B,H,W,E] (Eq. 7)."""
    heads = weights.shape[-1]
    parts = [
        weight[..., None] * neighbour.unflatten(-1, (heads, -1))
        for weight, neighbour in zip(weights.unbind(0), neighbours(v, math.isqrt(len(weights))), strict=True)
    ]
    return torch.stack(parts).sum(0).flatten(-2)


class Transition(nn.Module):
    """The part of a step that looks at one cell at a time: G' = LN(G + Y), then LN(G' + FFN_3(G'))."""

    def __init__(self, runs: Sequence[Generator], width: int, hidden: int) -> None:
        super().__init__()
        self.norm_attention = LayerNorm(runs, width)
        self.feed_forward = FeedForward(runs, (width, hidden, hidden, width))
        self.norm_feed_forward = LayerNorm(runs, width)

    def forward(
        self, grid: Tensor, attended: Tensor, size: GridSize | None = None, drops: Sequence[Drop] | None = None
    ) -> Tensor:
        between = self.norm_attention(grid + attended)
        return only_inside(size, self.norm_feed_forward(between + self.feed_forward(between, drops)))


class Step(nn.Module):
    """G_n → G_{n+1} (Eq. 5)."""

    def __init__(self, runs: Sequence[Generator], config: ModelConfig) -> None:
        super().__init__()
        self.attention = LocalAttention(
            runs, config.width, config.groups, config.heads, config.kernel, config.query_encoding
        )
        self.transition = Transition(runs, config.width, config.step_hidden)

    def forward(self, grid: Tensor, size: GridSize | None = None, drops: Sequence[Drop] | None = None) -> Tensor:
        return self.transition(grid, self.attention(grid), size, drops)


class ContextAttention(RunModule):
    """Multi-head attention from the context to the flattened grid, with row-wise ALiBi (Eq. 13).

    Head m's bias falls by 2^-m a row, and is 0 in the top row.
    """

    decayed = ("projection", "output")

    def __init__(self, runs: Sequence[Generator], width: int, heads: int) -> None:
        """As torch.nn.MultiheadAttention begins: the three projections are one Xavier matrix, the biases zero."""
        super().__init__()
        self.heads = heads
        self.projection = uniform(runs, math.sqrt(6 / (width + 3 * width)), 3, width, width)
        self.projection_bias = constant(runs, 0.0, 3, width)
        self.output = uniform(runs, 1 / math.sqrt(width), width, width)
        self.output_bias = constant(runs, 0.0, width)

    def forward(self, context: Tensor, grid: Tensor, size: GridSize | None = None) -> Tensor:
        cells = grid.flatten(2, 3)
        q, k, v = (
            linear(x, self.projection[:, index], self.projection_bias[:, index]).unflatten(-1, (self.heads, -1))
            for index, x in enumerate((context, cells, cells))
        )
        scores = torch.einsum("rbchd,rbnhd->rbhcn", q, k) / math.sqrt(q.shape[-1])
        height, columns = grid.shape[2:4]
        scores = scores + alibi(self.heads, height, columns, grid)[:, None]
        if size is not None and size.inside is not None:
            scores = scores.masked_fill(~size.inside.flatten(1)[:, None, None, None], -math.inf)
        joined = torch.einsum("rbhcn,rbnhd->rbchd", scores.softmax(-1), v).flatten(-2)
        return linear(joined, self.output, self.output_bias)


def alibi(heads: int, height: int, columns: int, like: Tensor) -> Tensor:
    """m·M of Eq. 13: the bias of each head for each cell of the flattened grid, [h,H·W]."""
    head = torch.arange(1, heads + 1, device=like.device, dtype=like.dtype)
    row = torch.arange(height, device=like.device, dtype=like.dtype)[:, None].expand(-1, columns).flatten()
    return -torch.exp2(-head)[:, None] * row


class ContextTransformer(RunModule):
    """C_n, G_n → C_{n+1}, λ_n (Eq. 14)."""

    decayed = ("initial",)

    def __init__(self, runs: Sequence[Generator], config: ModelConfig) -> None:
        super().__init__()
        width, length = config.width, config.context_length
        self.initial = normal(runs, 1.0, length, width)
        self.attention = ContextAttention(runs, width, config.context_heads)
        self.norm_attention = LayerNorm(runs, width)
        self.feed_forward = FeedForward(runs, (width, config.context_hidden, width))
        self.norm_feed_forward = LayerNorm(runs, width)
        self.decision = FeedForward(runs, (length * width, config.halting_hidden, 1))

    def start(self, problems: int) -> Tensor:
        """C_0 for every problem: [R,B,C,E]."""
        return self.initial[:, None].expand(-1, problems, -1, -1).contiguous()

    def forward(
        self, context: Tensor, grid: Tensor, size: GridSize | None = None, drops: Sequence[Drop] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The next context, and λ [R,B]."""
        context = self.norm_attention(context + self.attention(context, grid, size))
        context = self.norm_feed_forward(context + self.feed_forward(context, drops))
        return context, self.decision(context.flatten(-2)).squeeze(-1).sigmoid()


def survival(halting: Tensor) -> Tensor:
    """Π_{i<n} (1 − λ_i) for every n. A plain product: torch.cumprod's gradient asks the host about zeros."""
    products = [torch.ones_like(halting[0])]
    for stay in (1 - halting[:-1]).unbind(0):
        products.append(products[-1] * stay)
    return torch.stack(products)


def halting_distribution(halting: Tensor, epsilon: float | Tensor) -> tuple[Tensor, Tensor]:
    """p_n from λ_n [K,R,B], truncated (Eq. 10): p [K,R,B], and the truncation step N [R,B] of each sample.

    A sample stops at the first n before which it has halted with a probability above 1 − ε, or at the last n
    given; that n takes what remains, so p sums to 1.
    """
    before = survival(halting)
    step = torch.arange(halting.shape[0], device=halting.device).view(-1, *[1] * (halting.dim() - 1))
    truncation = torch.where(before < epsilon, step, halting.shape[0] - 1).amin(0)
    p = torch.where(step < truncation, halting * before, torch.where(step == truncation, before, 0.0))
    return p, truncation


class Network(RunsModule):
    """R networks of one configuration, computed together; run r begins from seeds[r]."""

    def __init__(self, config: ModelConfig, seeds: Sequence[int] = (0,), symbols: int = len(find().alphabet)) -> None:
        """`symbols` is the size of the task's alphabet."""
        super().__init__()
        self.config, self.runs = config, len(seeds)
        runs = generators(seeds)
        self.embedding = Embedding(runs, config.width, symbols)
        self.placement = Placement(runs, config.width, config.placement_hidden)
        self.step = Step(runs, config)
        self.output = Linear(runs, config.width, symbols)
        self.context = ContextTransformer(runs, config) if config.halting == "ponder" else None

    def alone(self, run: int) -> "Network":
        """One of the runs, as a network of its own with the same memory."""
        parts = {id(part): nn.Parameter(part.detach()[run : run + 1]) for part in self.parameters()}
        network = copy.deepcopy(self, parts)  # which takes these for its copies of the parameters
        network.runs = 1
        return network

    def actions(self, symbols: Tensor) -> Tensor:
        """The action probabilities [R,B,S,3] of symbols [R,B,S]."""
        return self.placement(self.embedding(symbols))

    def place(self, symbols: Tensor, size: GridSize, hard: bool = False) -> Tensor:
        """G_0 [R,B,H,W,E], by expected placement or by the most probable actions."""
        actions = self.actions(symbols)
        actions = most_probable(actions) if hard else actions
        return only_inside(size, seq2grid(self.embedding(symbols), actions, size.height, size.width))

    def read(self, vectors: Tensor, drop: Drop | None = None) -> Tensor:
        """The logits of vectors [R,...,E]; the answer is read in the top row."""
        return self.output(drop(vectors) if drop else vectors)
