"""The paper's equations as `gridsum.model.paper` has them, step by step: what every other engine is held against."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from gridsum.config import ModelConfig
from gridsum.model.dropout import Dropouts
from gridsum.model.paper import Drop, GridSize, Network
from gridsum.streams import Stream


class Sites(Protocol):
    """The dropout of every site of a rollout."""

    def step(self, n: int) -> Sequence[Drop]: ...

    def context(self, n: int) -> Sequence[Drop]: ...

    def output(self, first: int, count: int) -> Drop: ...


class Course(Protocol):
    """A rollout under way. Its maker places the symbols; then `look(0)`, `advance(1)`, `look(1)` and so on."""

    grid: Tensor
    """G_n [R,B,H,W,E], of the problems that are still computed."""
    done: bool
    """Whether every sample has been truncated, so that nothing more counts."""

    def look(self, n: int) -> tuple[Tensor, Tensor | None]:
        """The top row of G_n [R,B,W,E], and λ_n [R,B]; None where the network does not decide when to halt."""
        ...

    def advance(self, n: int) -> None:
        """G_{n-1} → G_n."""
        ...


class Engine(Protocol):
    """One way to compute a network's rollouts."""

    network: Network

    def dropouts(
        self, stream: Stream, problems: int, size: GridSize, largest: tuple[int, int], steps: int
    ) -> Sites | None:
        """The dropout of a rollout of so many steps; None where the network has none."""
        ...

    def begin(
        self,
        symbols: Tensor,
        size: GridSize,
        steps: int,
        hard: bool = False,
        drops: Sites | None = None,
        epsilon: float | Tensor | None = None,
        exactly: bool = False,
    ) -> Course:
        """Symbols [R,B,S] on their grids, before the first of at most `steps` steps.

        With `epsilon`, of all samples or of each [R,B], samples are truncated as in training: after the first n before
        which a sample has halted with a probability above 1 − ε, its top row and λ have no meaning. With `exactly`, all
        `steps` are taken, and the tensors are asked nothing on the way, which a CUDA graph needs; ε is then a number.
        """
        ...

    def read(self, vectors: Tensor, drop: Drop | None = None) -> Tensor:
        """The logits of vectors [R,...,E]."""
        ...

    def actions(self, symbols: Tensor) -> Tensor:
        """The action probabilities [R,B,S,3] of symbols [R,B,S]."""
        ...


class Plain:
    """The engine that has no shortcut."""

    def __init__(self, network: Network) -> None:
        self.network = network

    @property
    def config(self) -> ModelConfig:
        return self.network.config

    def dropouts(
        self, stream: Stream, problems: int, size: GridSize, largest: tuple[int, int], steps: int
    ) -> Sites | None:
        return Dropouts.of(stream, self.config, problems, size, largest, steps)

    def begin(
        self,
        symbols: Tensor,
        size: GridSize,
        steps: int,  # noqa: ARG002
        hard: bool = False,
        drops: Sites | None = None,
        epsilon: float | Tensor | None = None,
        exactly: bool = False,
    ) -> Course:
        return PlainCourse(self.network, self.network.place(symbols, size, hard), size, drops, epsilon, exactly)

    def read(self, vectors: Tensor, drop: Drop | None = None) -> Tensor:
        return self.network.read(vectors, drop)

    def actions(self, symbols: Tensor) -> Tensor:
        return self.network.actions(symbols)


class PlainCourse:
    def __init__(
        self,
        network: Network,
        grid: Tensor,
        size: GridSize,
        drops: Sites | None,
        epsilon: float | Tensor | None,
        exactly: bool,
    ) -> None:
        self.network, self.grid, self.size, self.drops = network, grid, size, drops
        self.epsilon = None if exactly else epsilon
        self.context = None if network.context is None else network.context.start(grid.shape[1])
        self.running = torch.ones(grid.shape[:2], device=grid.device)
        self.done = False

    def look(self, n: int) -> tuple[Tensor, Tensor | None]:
        if self.network.context is None:
            return self.grid[:, :, 0], None
        self.context, halting = self.network.context(
            self.context, self.grid, self.size, self.drops and self.drops.context(n)
        )
        if self.epsilon is not None:
            self.done = bool((self.running < self.epsilon).all())
            self.running = self.running * (1 - halting.detach())
        return self.grid[:, :, 0], halting

    def advance(self, n: int) -> None:
        self.grid = self.network.step(self.grid, self.size, self.drops and self.drops.step(n))
