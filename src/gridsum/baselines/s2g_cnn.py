"""S2G-CNN: sequence to grid, then a convolutional network (Kim et al. 2021, arXiv 2101.04921).

A recurrent controller reads the symbols and gives each one three probabilities: write into the top row (TLU), begin a
new row (NLP), do nothing (NOP). The grid that they make goes through residual blocks of convolutions; the result is
read from the top row.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gridsum.baselines.baseline import Baseline, BaselineConfig, BaselineNetwork, Problem, Read, Setting, schedule
from gridsum.baselines.layers import Convolution, dropped, one_hot
from gridsum.config.paper import described
from gridsum.data.problems import Batch, Space
from gridsum.data.streams import Stream
from gridsum.ops.placement.plain import ACTIONS, NOP, seq2grid
from gridsum.tasks import PAD


@dataclass(frozen=True)
class Shape:
    """The network."""

    width: int = described(128, "Features of the controller, and of a cell.")
    layers: int = described(3, "Layers of the controller.")
    blocks: int = described(3, "Residual blocks that read the grid.")
    dropout: float = described(0.2, "The share of a cell's features that is dropped before every block.")
    rows: int = described(3, "The fewest rows of the grid.")
    columns: int = described(14, "The fewest columns of the grid.")


class GRU(nn.Module):
    """Cho et al. 2014: h' = z ⊙ h + (1 - z) ⊙ tanh(W x + r ⊙ (U h))."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.enter, self.back = nn.Linear(inputs, 3 * width), nn.Linear(width, 3 * width)

    def forward(self, sequence: Tensor) -> Tensor:
        """[B,S,inputs] to [B,S,width]."""
        entering = self.enter(sequence)
        width, shown = entering.shape[-1] // 3, []
        h = entering.new_zeros(len(sequence), width)
        for symbol in entering.unbind(1):
            (gates, new), (gates_h, new_h) = (part.split((2 * width, width), -1) for part in (symbol, self.back(h)))
            r, z = (gates + gates_h).sigmoid().chunk(2, -1)
            h = torch.lerp((new + r * new_h).tanh(), h, z)
            shown.append(h)
        return torch.stack(shown, 1)


class Bottleneck(nn.Module):
    """A residual block: features are narrowed, mixed with those of the 3 × 3 cells around, and widened."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.narrow, self.around = Convolution(1, 1, inputs, width), Convolution(3, 3, width, width)
        self.widen, self.past = Convolution(1, 1, width, 4 * width), Convolution(1, 1, inputs, 4 * width)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for size in (width, width, 4 * width, 4 * width))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norms[0](self.narrow(x)).relu()
        y = self.norms[1](self.around(y)).relu()
        return (self.norms[2](self.widen(y)) + self.norms[3](self.past(x))).relu()


class SequenceToGrid(BaselineNetwork[Shape]):
    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config)
        width, layers, blocks = self.shape.width, range(self.shape.layers), range(self.shape.blocks)
        self.controller = nn.Sequential(*(GRU(width if layer else self.symbols, width) for layer in layers))
        self.action = nn.Linear(width, len(ACTIONS))
        self.embedding = nn.Linear(self.symbols, width, bias=False)
        self.blocks = nn.ModuleList(Bottleneck(4 * width if block else width, width) for block in blocks)
        self.output = nn.Linear(4 * width, self.symbols)

    def encode(self, batch: Batch, space: Space, draws: Stream | None) -> Problem:  # noqa: ARG002
        """Blanks count a tenth, as they do for ours."""
        room = self.room(space)
        targets = batch.targets_for(max(self.shape.columns, room.columns + 2))
        rows = batch.symbols.new_zeros(*batch.symbols.shape[:2], max(self.shape.rows, room.terms + 1))
        weight = torch.where(targets == PAD, 0.1, 1.0)
        return Problem({"symbols": batch.symbols, "rows": rows, "columns": targets}, targets, weight)

    def forward(self, inputs: dict[str, Tensor], draws: Stream | None) -> Read:
        symbols = one_hot(inputs["symbols"], self.symbols)
        height, width = inputs["rows"].shape[-1], inputs["columns"].shape[-1]
        x = self.embedding(seq2grid(symbols[None], self.actions(symbols)[None], height, width)[0])
        for site, block in enumerate(self.blocks):
            x = block(dropped(x, self.shape.dropout, draws, site))
        logits = self.output(x[:, 0])
        return Read(logits, logits.new_zeros(()), logits.new_full((), self.shape.blocks))

    def actions(self, symbols: Tensor) -> Tensor:
        """The probabilities of the three actions [B,S,3]; behind the end, nothing is done."""
        chosen = self.action(self.controller(symbols)).softmax(-1)
        nothing = one_hot(torch.full_like(chosen[..., 0], NOP), len(ACTIONS))
        return torch.where(symbols[..., :1] > 0, nothing, chosen)


BASELINE = Baseline(
    name="s2g-cnn",
    title="Seq2Grid CNN",
    source="Kim et al. 2021",
    network=SequenceToGrid,
    shape=Shape,
    native=Setting((), {"task.terms": (2, 2), "task.digits": (1, 5), **schedule(5000, 128, 1e-3, clip=2.0)}),
    matched=Setting((), schedule(5000, 128, 1e-3, clip=2.0)),
    numbers=(("2x5", 0.954, "of number sequences, not of sums"), ("2x8", 0.975, "the same, longer ones")),
)
