"""The Universal Transformer (Dehghani et al. 2019, arXiv 1807.03819).

One block of global attention is repeated, with coordinate embeddings of position and step, and every position halts by
adaptive computation time. One stack reads the sum and writes the result: symbols of the sum see each other, those of
the result see the sum and what has been written.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gridsum.baselines.baseline import Baseline, BaselineConfig, BaselineNetwork, Problem, Read, Setting, schedule
from gridsum.baselines.layers import Attention, dropped, one_hot, pondered
from gridsum.baselines.layout import counted_to_the_blank, tape_of
from gridsum.config.paper import described
from gridsum.data.problems import Batch, Space
from gridsum.data.streams import Stream
from gridsum.tasks import PAD


@dataclass(frozen=True)
class Shape:
    """The network."""

    width: int = described(128, "Features of a position.")
    heads: int = described(4, "Heads of the attention.")
    hidden: int = described(512, "Hidden features of the transition function.")
    steps: int = described(8, "The most steps of a position.")
    dropout: float = described(0.1, "The share of features dropped after attention and transition.")
    ponder_cost: float = described(1e-3, "What a step costs.")


def coordinates(positions: int, step: int, width: int, like: Tensor) -> Tensor:
    """P_t (Eq. 6 and 7): sines and cosines of the position, plus those of the step; [positions,width]."""
    rate = torch.exp(torch.arange(width // 2, device=like.device) * (-2 * math.log(10000) / width))

    def waves(numbers: Tensor) -> Tensor:
        angle = numbers[:, None].float() * rate
        return torch.stack((angle.sin(), angle.cos()), -1).flatten(1)

    return waves(torch.arange(positions, device=like.device)) + waves(torch.full((1,), step, device=like.device))


class UniversalTransformer(BaselineNetwork[Shape]):
    feeds_back = True

    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config)
        width, hidden = self.shape.width, self.shape.hidden
        self.embedding = nn.Linear(self.symbols, width, bias=False)
        self.result = nn.Parameter(torch.randn(width) * 0.1)
        self.attention = Attention(width, self.shape.heads)
        self.transition = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.halt = nn.Linear(width, 1)
        nn.init.constant_(self.halt.bias, -1.0)  # about as many steps as there are at first
        self.output = nn.Linear(width, self.symbols)

    def encode(self, batch: Batch, space: Space, draws: Stream | None) -> Problem:  # noqa: ARG002
        """The sum backwards, then the result with its units first and a blank at its end."""
        tape, _ = tape_of(batch)
        targets = batch.targets_for(space.columns_of(self.task) + 1).flip(-1)
        return Problem({"tape": tape, "given": targets}, targets, counted_to_the_blank(targets))

    def forward(self, inputs: dict[str, Tensor], draws: Stream | None) -> Read:
        tape, given = inputs["tape"], inputs["given"]
        equals = torch.full_like(given[:, :1], self.task.alphabet.equals_symbol)
        symbols = torch.cat((tape, equals, given[:, :-1]), 1)
        length, columns, shape = tape.shape[1], given.shape[1], self.shape
        position = torch.arange(length + columns, device=tape.device)
        own = position[:, None] == position
        sees = ((position[:, None] >= position) | (position < length)) & ((symbols != PAD)[:, None] | own)
        h = self.embedding(one_hot(symbols, self.symbols)) * math.sqrt(shape.width)
        h = h + torch.where((position >= length)[:, None], self.result, 0.0)
        states = []
        for step in range(shape.steps):
            where = [coordinates(count, step + 1, shape.width, h) for count in (length, columns)]
            x = h + torch.cat(where)
            a = self.norms[0](x + dropped(self.attention(x, sees), shape.dropout, draws, 2 * step))
            h = self.norms[1](a + dropped(self.transition(a), shape.dropout, draws, 2 * step + 1))
            states.append(h)
        every = torch.stack(states, -2)
        p, steps, costs = pondered(self.halt(every)[..., 0].sigmoid())
        mean = (p[:, length:, :, None] * every[:, length:]).sum(-2)
        counts = symbols != PAD
        ponder, steps = ((part * counts).sum() / counts.sum() for part in (costs, steps))
        return Read(self.output(mean), shape.ponder_cost * ponder, steps)


BASELINE = Baseline(
    name="universal-transformer",
    title="Universal Transformer",
    source="Dehghani et al. 2019",
    network=UniversalTransformer,
    shape=Shape,
    native=Setting(("reversed digits",), {"task.terms": (2, 2), "task.digits": (1, 20), **schedule(8000, 128, 1e-3)}),
    matched=Setting(("reversed digits",), schedule(8000, 128, 1e-3)),
    numbers=(("2x200", 0.02, "second-hand, not checked against its text"),),
)
