"""One run's rollout on one problem, step by step from the paper's equations.

The weights come as a dictionary of one run's parameters by their names. Every linear layer acts on row vectors from the
right.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tests.oracles import attention, seq2grid


def identity(x: Tensor) -> Tensor:
    return x


@dataclass(frozen=True, eq=False)
class Reference:
    """`dropout` stands for what training does to the input of a layer that has dropout."""

    weights: Mapping[str, Tensor]
    heads: int
    context_heads: int
    dropout: Callable[[Tensor], Tensor] = field(default=identity)

    def feed_forward(self, name: str, depth: int, x: Tensor, dropout: Callable[[Tensor], Tensor] = identity) -> Tensor:
        """Eq. 1, with L = depth."""
        assert f"{name}.layers.{depth}.weight" not in self.weights
        for layer in range(depth):
            if layer > 0:
                x = x * torch.sigmoid(x)
            x = self.linear(f"{name}.layers.{layer}", dropout(x))
        return x

    def linear(self, name: str, x: Tensor) -> Tensor:
        return x @ self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def norm(self, name: str, x: Tensor) -> Tensor:
        mean = x.mean(-1, keepdim=True)
        deviation = torch.sqrt(((x - mean) ** 2).mean(-1, keepdim=True) + 1e-5)
        return (x - mean) / deviation * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def place(self, symbols: Sequence[int], height: int, width: int) -> Tensor:
        """G_0 by Eq. 2 and 3."""
        x = torch.stack([self.weights["embedding.weight"][symbol] for symbol in symbols])
        actions = torch.stack([self.feed_forward("placement.encoder", 2, vector).softmax(-1) for vector in x])
        return seq2grid.place(x, actions, height, width)

    def step(self, grid: Tensor) -> Tensor:
        """Eq. 5."""
        parts = [self.weights.get(f"step.attention.{name}") for name in ("projection", "relative", "query")]
        attended, _ = attention.attend(grid, *parts, self.heads)
        between = self.norm("step.transition.norm_attention", grid + attended)
        inner = self.feed_forward("step.transition.feed_forward", 3, between, self.dropout)
        return self.norm("step.transition.norm_feed_forward", between + inner)

    def read(self, grid: Tensor) -> Tensor:
        """The logits [W,13] of the top row."""
        return self.linear("output", self.dropout(grid[0]))

    def attend_to_grid(self, context: Tensor, grid: Tensor) -> Tensor:
        """Eq. 13: heads of C·W_Q against F·W_K, with m·M added to the scores."""
        height, width, features = grid.shape
        cells = grid.reshape(height * width, features)
        w_q, w_k, w_v = self.weights["context.attention.projection"]
        b_q, b_k, b_v = self.weights["context.attention.projection_bias"]
        q, k, v = context @ w_q + b_q, cells @ w_k + b_k, cells @ w_v + b_v
        size = features // self.context_heads
        rows = torch.arange(height).repeat_interleave(width)
        joined = []
        for m in range(1, self.context_heads + 1):
            head = slice((m - 1) * size, m * size)
            scores = q[:, head] @ k[:, head].T / math.sqrt(size) - 2.0**-m * rows
            joined.append(scores.softmax(-1) @ v[:, head])
        return (
            torch.cat(joined, -1) @ self.weights["context.attention.output"]
            + self.weights["context.attention.output_bias"]
        )

    def decide(self, context: Tensor, grid: Tensor) -> tuple[Tensor, Tensor]:
        """C_{n+1} and λ_n by Eq. 14."""
        context = self.norm("context.norm_attention", context + self.attend_to_grid(context, grid))
        inner = self.feed_forward("context.feed_forward", 2, context, self.dropout)
        context = self.norm("context.norm_feed_forward", context + inner)
        return context, torch.sigmoid(self.feed_forward("context.decision", 2, context.flatten())).squeeze()

    def ponder(self, symbols: Sequence[int], height: int, width: int, steps: int) -> tuple[Tensor, Tensor]:
        """(logits [steps+1,W,13], λ [steps+1]): reading n and λ_n both belong to G_n."""
        grid, context = self.place(symbols, height, width), self.weights["context.initial"]
        logits, halting = [], []
        for n in range(steps + 1):
            context, probability = self.decide(context, grid)
            logits.append(self.read(grid))
            halting.append(probability)
            if n < steps:
                grid = self.step(grid)
        return torch.stack(logits), torch.stack(halting)

    def readings(self, symbols: Sequence[int], height: int, width: int, steps: int) -> Tensor:
        """The logits [steps,W,13] after each of `steps` steps."""
        grid = self.place(symbols, height, width)
        logits = []
        for _ in range(steps):
            grid = self.step(grid)
            logits.append(self.read(grid))
        return torch.stack(logits)
