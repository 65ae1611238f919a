"""Layers that several systems share, of one run and with the features last."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F

from gridsum.streams import Stream, lane_index, lane_threshold


def one_hot(codes: Tensor, count: int) -> Tensor:
    return (codes[..., None] == torch.arange(count, device=codes.device)).float()


def dropped(x: Tensor, probability: float, draws: Stream | None, site: int) -> Tensor:
    """Dropout of x [...,F] by the stream of one run; F is a multiple of 4."""
    if draws is None or not probability:
        return x
    cells = torch.arange(math.prod(x.shape[:-1]), device=x.device).view(x.shape[:-1])
    lanes = _Lanes.apply(draws.fold(site).words(lane_index(cells, x.shape[-1])))[0]
    return x * (lanes >= lane_threshold(probability)) / (1 - probability)


class _Lanes(Function):
    """int64 [..., words] → int16 [..., 4·words], as `Stream.lanes` sees them. Torch before 2.12 cannot map that view
    over runs by itself."""

    @staticmethod
    def forward(words: Tensor) -> Tensor:
        return words.view(torch.int16)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None], words: Tensor) -> tuple[Tensor, int]:  # noqa: ARG004
        assert in_dims[0] is not None, "a stream belongs to a run"
        return _Lanes.apply(words.movedim(in_dims[0], 0)), 0


class Convolution(nn.Linear):
    """A convolution over grids [B,H,W,F] of `rows` × `columns` cells, zero outside: each cell's neighbours through one
    linear layer, because a product over stacked weights is as fast as one, and a grouped convolution is not."""

    def __init__(self, rows: int, columns: int, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__(rows * columns * inputs, outputs, bias)
        self.rows, self.columns = rows, columns

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(neighbours(input, self.rows, self.columns))


def neighbours(grid: Tensor, rows: int, columns: int) -> Tensor:
    """The cells around each cell side by side, [B,H,W,rows·columns·F], row by row."""
    height, width = grid.shape[-3:-1]
    around = F.pad(grid, (0, 0, columns // 2, columns // 2, rows // 2, rows // 2))
    parts = [around[..., i : i + height, j : j + width, :] for i in range(rows) for j in range(columns)]
    return torch.cat(parts, -1) if len(parts) > 1 else grid


def lstm(gates: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """Hochreiter & Schmidhuber 1997 with forget gates: what it shows, and its memory."""
    enter, forget, show, new = gates.chunk(4, -1)
    memory = forget.sigmoid() * memory + enter.sigmoid() * new.tanh()
    return show.sigmoid() * memory.tanh(), memory


class Attention(nn.Module):
    """Vaswani et al. 2017, Eq. 1, in several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.enter, self.leave = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, sees: Tensor) -> Tensor:
        """x [B,S,E]; `sees` [B,S,S] says which others each one looks at."""
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(-3, -2) for part in self.enter(x).chunk(3, -1)
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        shares = torch.where(sees[:, None], scores, -1e9).softmax(-1)
        return self.leave((shares @ value).transpose(-3, -2).flatten(-2))


class Pondering:
    """Adaptive computation time (Graves 2016, Section 2), one number of steps for each of `shape`.

    With h_n the halting probability of step n, it ends at N, the first n at which they add up to 1 - ε, or the last.
    p_n is h_n before N and what remains of 1 at N; pondering costs N plus that remainder.
    """

    def __init__(self, like: Tensor, epsilon: float = 0.01) -> None:
        self.total, self.steps, self.remainder = (torch.zeros_like(like) for _ in range(3))
        self.epsilon = epsilon

    def step(self, h: Tensor, last: bool) -> Tensor:
        """p_n."""
        running = self.total < 1 - self.epsilon
        after = self.total + torch.where(running, h, 0.0)
        ends = running if last else running & (after >= 1 - self.epsilon)
        p = torch.where(ends, 1 - self.total, torch.where(running, h, 0.0))
        self.remainder = self.remainder + torch.where(ends, p, 0.0)
        self.steps = self.steps + running
        self.total = torch.where(ends, 1.0, after)
        return p

    @property
    def cost(self) -> Tensor:
        return self.steps + self.remainder
