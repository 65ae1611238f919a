"""The paper's equations as `gridsum.model.paper` has them, step by step: what every other engine is held against."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from gridsum.config.paper import ModelConfig
from gridsum.data.streams import Stream
from gridsum.model.dropout import Dropouts
from gridsum.model.paper import Drop, GridSize, Network

WORTH_LEAVING = 7 / 8
"""Problems that are done leave a computation once an eighth of it are: leaving costs a copy."""


class Sites(Protocol):
    """The dropout of every site of a rollout."""

    def step(self, n: int) -> Sequence[Drop]: ...

    def context(self, n: int) -> Sequence[Drop]: ...

    def output(self, first: int, count: int) -> Drop: ...


@dataclass(frozen=True)
class Start:
    """What a rollout starts from, and how far it goes."""

    symbols: Tensor
    """[R,B,S]."""
    size: GridSize
    steps: int
    """The most there can be."""
    hard: bool = False
    """Whether symbols are placed by their most probable actions."""
    drops: Sites | None = None
    epsilon: float | Tensor | None = None
    """Of all samples or of each [R,B], where they are truncated as in training: after the first n before which a sample
    has halted with a probability above 1 − ε, its top row and λ have no meaning."""
    exactly: bool = False
    """Whether all `steps` are taken, and the tensors are asked nothing on the way, which a CUDA graph needs."""


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

    def select(self, problems: Tensor) -> None:
        """Go on with some of the problems alone: bool [b]."""
        ...


class Engine(Protocol):
    """One way to compute a network's rollouts."""

    network: Network

    def multiplying(self) -> AbstractContextManager[None]:
        """The process as this engine's products want it, for a training step with its gradient."""
        ...

    def dropouts(
        self, stream: Stream, problems: int, size: GridSize, largest: tuple[int, int], steps: int
    ) -> Sites | None:
        """The dropout of a rollout of so many steps; None where the network has none."""
        ...

    def begin(self, start: Start) -> Course:
        """The symbols on their grids, before the first step."""
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

    def multiplying(self) -> AbstractContextManager[None]:
        return nullcontext()

    def dropouts(
        self, stream: Stream, problems: int, size: GridSize, largest: tuple[int, int], steps: int
    ) -> Sites | None:
        return Dropouts.of(stream, self.config, problems, size, largest, steps)

    def begin(self, start: Start) -> Course:
        return PlainCourse(self, start)

    def place(self, symbols: Tensor, size: GridSize, hard: bool) -> Tensor:
        return self.network.place(symbols, size, hard)

    def read(self, vectors: Tensor, drop: Drop | None = None) -> Tensor:
        return self.network.read(vectors, drop)

    def actions(self, symbols: Tensor) -> Tensor:
        return self.network.actions(symbols)


class PlainCourse:
    def __init__(self, engine: Plain, start: Start) -> None:
        self.network = network = engine.network
        self.size, self.steps, self.drops, self.epsilon = start.size, start.steps, start.drops, start.epsilon
        self.truncates = start.epsilon is not None and not start.exactly and network.context is not None
        self.context = None if network.context is None else network.context.start(start.symbols.shape[1])
        self.running = torch.ones(start.symbols.shape[:2], device=start.symbols.device)
        self.done = False
        self.show(engine.place(start.symbols, start.size, start.hard))

    def show(self, grid: Tensor) -> None:
        self.grid = grid

    def look(self, n: int) -> tuple[Tensor, Tensor | None]:
        if self.network.context is None:
            return self.grid[:, :, 0], None
        self.context, halting = self.network.context(
            self.context, self.grid, self.size, self.drops and self.drops.context(n)
        )
        if self.truncates:
            assert self.epsilon is not None
            self.done = bool((self.running < self.epsilon).all())
            self.running = self.running * (1 - halting.detach())
        return self.grid[:, :, 0], halting

    def advance(self, n: int) -> None:
        self.show(self.network.step(self.grid, self.size, self.drops and self.drops.step(n)))

    def select(self, problems: Tensor) -> None:
        self.context = None if self.context is None else self.context[:, problems]
        self.show(self.grid[:, problems])
