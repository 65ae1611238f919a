"""2-LSTM: Grid LSTM over time and depth (Kalchbrenner, Danihelka & Graves 2015, arXiv 1507.01526).

A stack of layers with the same weights reads the sum digit by digit and then writes the result, the first digit first;
what it has written is not given back to it. Depth has an LSTM of its own, so memory goes up the layers as it goes along
time. The layers work as an assembly line: at tick n, layer l is at time n - l, so all of them are one product.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gridsum.baselines.baseline import Baseline, BaselineConfig, BaselineNetwork, Problem, Read, Setting, schedule
from gridsum.baselines.layers import lstm, one_hot
from gridsum.baselines.layout import counted_to_the_blank, flush, until_blank
from gridsum.config.paper import described
from gridsum.data.problems import Batch, Space
from gridsum.data.streams import Stream
from gridsum.tasks import PAD

_KEEPS = 3.0
"""The forget gates' first bias. 18 layers or digits leave σ(3)^18 = 0.42 of a memory; with the usual 1, only 0.004."""


@dataclass(frozen=True)
class Shape:
    """The network."""

    width: int = described(128, "Features of each of the four vectors of a block.")
    layers: int = described(18, "How deep it is; all layers have the same weights.")


class Block(nn.Module):
    """Section 3.1: both LSTMs read H = [h_time, h_depth], each keeps a memory of its own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.time, self.depth = nn.Linear(2 * width, 4 * width), nn.Linear(2 * width, 4 * width)
        for layer in (self.time, self.depth):  # strong enough to be felt through all layers, and slow to forget
            nn.init.uniform_(layer.weight, -2 / math.sqrt(2 * width), 2 / math.sqrt(2 * width))
            nn.init.constant_(layer.bias[width : 2 * width], _KEEPS)

    def both(self) -> tuple[Tensor, Tensor]:
        """Weights and bias of both LSTMs as those of one whose memory is [m_time, m_depth]."""
        parts = [(layer.weight.chunk(4), layer.bias.chunk(4)) for layer in (self.time, self.depth)]
        (time, time_bias), (depth, depth_bias) = parts
        weight = [row for pair in zip(time, depth, strict=True) for row in pair]
        return torch.cat(weight), torch.cat([row for pair in zip(time_bias, depth_bias, strict=True) for row in pair])

    def step(self, both: tuple[Tensor, Tensor], time: tuple, depth: tuple) -> tuple[tuple, tuple]:
        """Both LSTMs, which show h' = tanh(σ(o) ⊙ m') here (Eq. 1); time and depth are (h, m), [...,E]."""
        h, m = (torch.cat(parts, -1) for parts in zip(time, depth, strict=True))
        opened, m = lstm(F.linear(h, *both), m)
        (h_time, h_depth), (m_time, m_depth) = (part.chunk(2, -1) for part in ((opened * m).tanh(), m))
        return (h_time, m_time), (h_depth, m_depth)


class GridLSTM(BaselineNetwork[Shape]):
    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config)
        self.enter = nn.Linear(self.symbols, 2 * self.shape.width)
        nn.init.uniform_(self.enter.weight, -1.0, 1.0)
        self.block = Block(self.shape.width)
        self.output = nn.Linear(self.shape.width, self.symbols)

    def encode(self, batch: Batch, space: Space, draws: Stream | None) -> Problem:  # noqa: ARG002
        """The input ends where the answer begins, which has a blank at its end; a short one has blanks before it."""
        room = self.room(space)
        columns = room.columns + 1
        targets = flush(batch.targets_for(columns), left=True)
        symbols = F.pad(batch.symbols, (0, room.symbols - batch.symbols.shape[-1]), value=PAD)
        tokens = F.pad(flush(symbols), (0, columns), value=PAD)
        return Problem({"tokens": tokens, "columns": targets}, targets, counted_to_the_blank(targets))

    def forward(self, inputs: dict[str, Tensor], draws: Stream | None) -> Read:  # noqa: ARG002
        tokens, layers = inputs["tokens"], self.shape.layers
        times, columns = tokens.shape[-1], inputs["columns"].shape[-1]
        entering = self.enter(one_hot(tokens, self.symbols)).tanh().transpose(0, 1)
        entered = [part.split(1) for part in entering.chunk(2, -1)]
        nothing = entering.new_zeros(1, len(tokens), self.shape.width)
        time = depth = (nothing[:0], nothing[:0])
        both, shown = self.block.both(), []
        for tick in range(times + layers - 1):  # layers [L,B,E] are those that are within the input now
            if tick < times:
                depth = tuple(torch.cat((new[tick], below)) for new, below in zip(entered, depth, strict=True))
            else:
                time = tuple(part[1:] for part in time)
            if tick < layers:
                time = tuple(torch.cat((part, nothing)) for part in time)
            time, depth = self.block.step(both, time, depth)
            if tick >= layers - 1:  # what the last layer shows goes nowhere else
                if tick - layers + 1 >= times - columns:
                    shown.append(depth[0][-1])
                depth = tuple(part[:-1] for part in depth)
        logits = self.output(torch.stack(shown, 1))
        return Read(logits, logits.new_zeros(()), logits.new_full((), layers))

    def written(self, predicted: Tensor, problem: Problem) -> Tensor:  # noqa: ARG002
        return flush(until_blank(predicted))


BASELINE = Baseline(
    name="grid-lstm",
    title="Grid LSTM (2-LSTM)",
    source="Kalchbrenner et al. 2015",
    network=GridLSTM,
    shape=Shape,
    native=Setting((), {"task.terms": (2, 2), "task.digits": (15, 15), **schedule(30000, 16, 2e-3, every=500)}),
    matched=Setting((), schedule(30000, 16, 2e-3, every=500)),
    numbers=(("2x15", 0.99, "as our paper quotes it"),),
)
