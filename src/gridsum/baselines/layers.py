"""Layers that several baselines share, of one run and with the features last."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gridsum.data.streams import Stream, lane_index, lane_threshold
from gridsum.ops.grids import neighbours, places_around

_EPSILON = 0.01
"""ε of adaptive computation time."""


def one_hot(codes: Tensor, count: int) -> Tensor:
    return (codes[..., None] == torch.arange(count, device=codes.device)).float()


def dropped(x: Tensor, probability: float, draws: Stream | None, site: int) -> Tensor:
    """Dropout of x [...,F] by the stream of one run."""
    return x if draws is None or not probability else x * kept(x, probability, draws, site, 1)[0]


def kept(x: Tensor, probability: float, draws: Stream, first: int, sites: int) -> Tensor:
    """What dropout multiplies x [...,F] with at several sites, drawn in one go: [sites,...,F]; F is a multiple of 4."""
    cells = torch.arange(math.prod(x.shape[:-1]), device=x.device).view(x.shape[:-1])
    streams = draws.fold(torch.arange(first, first + sites, device=x.device))
    words = streams.words(lane_index(cells, x.shape[-1]))
    # `Stream.lanes`, whose view torch before 2.12 cannot map over runs.
    lanes = torch.stack([(words >> bits).to(torch.int16) for bits in (0, 16, 32, 48)], -1).flatten(-2)
    return torch.where(lanes >= lane_threshold(probability), 1 / (1 - probability), 0.0)


class Convolution(nn.Linear):
    """A convolution over grids [B,H,W,F] of `rows` × `columns` cells, zero outside: each cell's neighbours through one
    linear layer, because a product over stacked weights is as fast as one, and a grouped convolution is not."""

    def __init__(self, rows: int, columns: int, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__(rows * columns * inputs, outputs, bias)
        self.rows, self.columns = rows, columns

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(joined(input, self.rows, self.columns), self.weight, self.bias)


def joined(grid: Tensor, rows: int, columns: int) -> Tensor:
    """The cells around each cell side by side, [B,H,W,rows·columns·F], row by row."""
    return grid if rows == columns == 1 else torch.cat(neighbours(grid, places_around(rows, columns)), -1)


def lstm(gates: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """Hochreiter & Schmidhuber 1997 with forget gates: how far its output is open, σ(o), and its memory.

    With gates i, f, o and g side by side [...,4E]: m' = σ(f) ⊙ m + σ(i) ⊙ tanh(g). It shows h' = σ(o) ⊙ tanh(m').
    """
    enter, forget, show = gates[..., : -memory.shape[-1]].sigmoid().chunk(3, -1)
    return show, torch.addcmul(forget * memory, enter, gates[..., -memory.shape[-1] :].tanh())


class Attention(nn.Module):
    """Vaswani et al. 2017, Eq. 1, in several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.enter, self.leave = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, sees: Tensor) -> Tensor:
        """x [B,S,E] to what the last T of them see, [B,T,E]; `sees` [B,T,S] says at which others these look."""
        width = x.shape[-1]
        to_query, to_others = self.enter.weight.split((width, 2 * width))
        asking, others = F.linear(x[:, -sees.shape[1] :], to_query), F.linear(x, to_others)
        parts = asking, *others.chunk(2, -1)
        query, key, value = (part.unflatten(-1, (self.heads, -1)).transpose(-3, -2) for part in parts)
        scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-1, -2)
        shares = (scores + torch.where(sees, 0.0, -1e9)[:, None]).softmax(-1)
        return self.leave((shares @ value).transpose(-3, -2).flatten(-2))


def pondered(h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Adaptive computation time (Graves 2016, Section 2): p_n, the steps N, and what pondering costs.

    With h_n [...,N] the halting probability of step n, it ends at N, the first n at which they add up to 1 - ε, or the
    last. p_n is h_n before N and what remains of 1 at N; pondering costs N plus that remainder.
    """
    total = F.pad(h.cumsum(-1), (1, 0))
    before, after = total[..., :-1], total[..., 1:]
    running = before < 1 - _EPSILON
    last = torch.arange(h.shape[-1], device=h.device) == h.shape[-1] - 1
    ends = running & ((after >= 1 - _EPSILON) | last)
    p = torch.where(ends, 1 - before, h * running)
    steps = running.sum(-1).to(h.dtype)
    return p, steps, steps + (p * ends).sum(-1)
