"""The paper's network, equation by equation in the paper's order, for R runs at once.

Here are the parts; the network is made of them where it is rolled out (`gridsum.model.rollout.Network`). The operations
stand in `gridsum.ops`, each with its plain definition, by which a module computes that is called by itself. A rollout
of a network that nobody has changed computes by their fast forms, which tests hold against the definition.

Shapes have one legend: R runs, B problems, S symbols, H rows, W columns, E features, h heads, C vectors of the context.
Every parameter and activation leads with the run, and nothing mixes runs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from gridsum.config.paper import ModelConfig
from gridsum.model.runs import RunModule, constant, normal, uniform, written
from gridsum.ops.attention import attend, project
from gridsum.ops.attention.plain import attention_weights
from gridsum.ops.context import attend_to_grid
from gridsum.ops.grids import Drop, GridSize, layer_norm, linear, only_inside
from gridsum.ops.placement import look_up
from gridsum.ops.placement.plain import ACTIONS


@written
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


@written
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


@written
class LayerNorm(RunModule):
    """LN, over the features of each cell."""

    def __init__(self, runs: Sequence[Generator], features: int) -> None:
        super().__init__()
        self.weight = constant(runs, 1.0, features)
        self.bias = constant(runs, 0.0, features)

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.weight, self.bias)


@written
class Embedding(RunModule):
    """Σ → R^E, without any positional information."""

    def __init__(self, runs: Sequence[Generator], width: int, symbols: int) -> None:
        super().__init__()
        self.weight = normal(runs, 1.0, symbols, width)

    def forward(self, symbols: Tensor) -> Tensor:
        return look_up(self.weight, symbols)


@written
class Placement(nn.Module):
    """(a_TLU, a_NLP, a_NOP) = softmax(FFN_2(x)) for every symbol's vector (Eq. 2)."""

    def __init__(self, runs: Sequence[Generator], width: int, hidden: int) -> None:
        super().__init__()
        self.encoder = FeedForward(runs, (width, hidden, len(ACTIONS)))

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x).softmax(-1)


@written
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
        self.heads, self.kernel = heads, kernel
        part = width // groups
        self.projection = normal(runs, math.sqrt(2 / width), 3, groups, part, part)
        self.relative = normal(runs, 1.0, kernel, kernel, width)
        self.query = normal(runs, 1.0, width) if query_encoding else None

    def project(self, grid: Tensor) -> Tensor:
        """Q, K and V side by side, [R,B,H,W,3E] (Eq. 6)."""
        runs, *_, width = self.relative.shape
        if grid.dim() != 5 or grid.shape[0] != runs or grid.shape[-1] != width:
            raise ValueError(
                f"a grid is [runs, problems, rows, columns, features], here [{runs}, ·, ·, ·, {width}], "
                f"not {list(grid.shape)}; one model is a fleet of one: grid[None]"
            )
        return project(grid, self.projection)

    def weights(self, grid: Tensor) -> Tensor:
        """The attention [k²,R,B,H,W,h] that each cell pays to its neighbours."""
        return attention_weights(self.project(grid), self.query, self.relative, self.heads)

    def forward(self, grid: Tensor) -> Tensor:
        return attend(self.project(grid), self.query, self.relative, self.heads)


@written
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


@written
class Step(nn.Module):
    """G_n → G_{n+1} (Eq. 5)."""

    def __init__(self, runs: Sequence[Generator], config: ModelConfig) -> None:
        super().__init__()
        shape = config.groups, config.heads, config.kernel
        self.attention = LocalAttention(runs, config.width, *shape, config.query_encoding)
        self.transition = Transition(runs, config.width, config.step_hidden)

    def forward(self, grid: Tensor, size: GridSize | None = None, drops: Sequence[Drop] | None = None) -> Tensor:
        return self.transition(grid, self.attention(grid), size, drops)


STEPS: dict[str, Callable[[Sequence[Generator], ModelConfig], nn.Module]] = {"attention": Step}
"""The recurrent steps by the names that `model.step` has for them."""


def register_step(name: str, make: Callable[[Sequence[Generator], ModelConfig], nn.Module]) -> None:
    """Give a recurrent step of one's own a name, so that networks with it can be trained, saved and loaded. `make` and
    its forward take what `Step` and its forward take; `drops` are the dropout of three layers."""
    STEPS[name] = make


@written
class ContextAttention(RunModule):
    """Multi-head attention from the context to the flattened grid; head m's bias falls by 2^-m a row (Eq. 13)."""

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
        found = attend_to_grid(context, grid, size, self.heads, self.projection, self.projection_bias)
        return linear(found, self.output, self.output_bias)


@written
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
        logit = self.decision(context.flatten(-2)).squeeze(-1)
        # Whatever the products' precision, a probability close to 1 must not become 1.
        return context, logit.to(torch.promote_types(logit.dtype, torch.float32)).sigmoid()


def survival(halting: Tensor) -> Tensor:
    """Π_{i<n} (1 − λ_i) for every n. A plain product: torch.cumprod's gradient asks the host about zeros."""
    products = [torch.ones_like(halting[0])]
    for stay in (1 - halting[:-1]).unbind(0):
        products.append(products[-1] * stay)
    return torch.stack(products)


def halting_distribution(halting: Tensor, epsilon: float | Tensor) -> tuple[Tensor, Tensor]:
    """p_n from λ_n [K,R,B], truncated (Eq. 10): p [K,R,B], and the truncation step N [R,B] of each sample, the first
    before which it has halted with a probability above 1 − ε, or the last; N takes what remains, so p sums to 1."""
    before = survival(halting)
    step = torch.arange(halting.shape[0], device=halting.device).view(-1, *[1] * (halting.dim() - 1))
    truncation = torch.where(before < epsilon, step, halting.shape[0] - 1).amin(0)
    p = torch.where(step < truncation, halting * before, torch.where(step == truncation, before, 0.0))
    return p, truncation


@dataclass(frozen=True)
class Readout:
    """A rollout, read at K of its steps."""

    steps: range
    """The n of each reading."""
    logits: Tensor
    """[K,R,B,W,13], the top row; without meaning past a sample's truncation."""
    halting: Tensor | None
    """λ_n, [K,R,B]; without meaning from a sample's truncation on. None where halting is fixed."""
    probability: Tensor
    """p_n, [K,R,B]: sums to 1 over the readings."""
    truncation: Tensor
    """N, [R,B]: the last step with p_n > 0."""
