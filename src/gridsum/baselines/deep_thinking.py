"""Deep Thinking with recall, in two dimensions (Bansal et al. 2022, arXiv 2202.05826).

The terms lie on a grid, each in a row of its own, the units at the right: it is given their alignment. Residual blocks
of convolutions are applied again and again, and see the problem anew each time (recall). The progressive loss: n steps
without a gradient, then k with one, so that a state does not know how many steps have led to it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gridsum.baselines.baseline import Baseline, BaselineConfig, BaselineNetwork, Problem, Read, Setting, schedule
from gridsum.baselines.layers import Convolution, one_hot
from gridsum.baselines.layout import table_of, terms_of
from gridsum.config.paper import described
from gridsum.data.problems import Batch, Space
from gridsum.data.streams import Stream
from gridsum.tasks import PAD

_WITHOUT, _WITH = 0, 1


@dataclass(frozen=True)
class Shape:
    """The network."""

    width: int = described(64, "Features of a cell.")
    rows: int = described(3, "Rows that a convolution sees: 3, or 1 where there is one row.")
    blocks: int = described(2, "Residual blocks of a step.")
    steps: int = described(20, "The most steps in training.")
    spare_columns: int = described(1, "Columns beyond those of the result.")


class Residual(nn.Module):
    """relu(x + C * relu(C * x))."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.first, self.second = (Convolution(shape.rows, 3, shape.width, shape.width, bias=False) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        return (x + self.second(self.first(x).relu())).relu()


class DeepThinking(BaselineNetwork[Shape]):
    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config)
        width, rows = self.shape.width, self.shape.rows

        def convolution(inputs: int, outputs: int) -> Convolution:
            layer = Convolution(rows, 3, inputs, outputs, bias=False)
            nn.init.kaiming_normal_(layer.weight)
            return layer

        self.enter = convolution(self.symbols, width)
        self.recall = convolution(width + self.symbols, width)
        self.blocks = nn.Sequential(*(Residual(self.shape) for _ in range(self.shape.blocks)))
        self.head = nn.ModuleList((convolution(width, width), convolution(width, width // 2)))
        self.output = convolution(width // 2, self.symbols)

    def encode(self, batch: Batch, space: Space, draws: Stream | None) -> Problem:
        """The last term in the top row, where the result is read; blanks count a tenth, as they do for ours."""
        table, count = table_of(batch, space).flip(-1), terms_of(batch)
        room = self.room(space)
        columns = room.columns + self.shape.spare_columns
        row = count[..., None] - 1 - torch.arange(table.shape[-2], device=table.device)
        grid = torch.where((row >= 0)[..., None], table.gather(-2, row.clamp_min(0)[..., None].expand_as(table)), PAD)
        grid = torch.nn.functional.pad(grid, (columns - grid.shape[-1], 0, 0, room.terms - grid.shape[-2]), value=PAD)
        targets = batch.targets_for(columns)
        size, most = count.shape[-1], self.shape.steps
        if draws is None:
            without = torch.zeros_like(count)
            last = without + max(most, sum(grid.shape[-2:]))
        else:
            without = (draws.fold(_WITHOUT).uniform(size) * most).long()
            last = without + 1 + (draws.fold(_WITH).uniform(size) * (most - without)).long()
        weight = torch.where(targets == PAD, 0.1, 1.0)
        return Problem({"grid": grid, "without": without, "last": last}, targets, weight)

    def forward(self, inputs: dict[str, Tensor], draws: Stream | None) -> Read:
        """`without` steps have no gradient, up to `last`; the state stays after that."""
        seen = one_hot(inputs["grid"], self.symbols)
        state, steps = self.enter(seen).relu(), self.shape.steps
        if draws is None:
            steps = max(steps, sum(inputs["grid"].shape[-2:]))
        last, without = (inputs[name][:, None, None, None] for name in ("last", "without"))
        step = torch.arange(steps, device=seen.device)[:, None, None, None, None]
        goes_on, learns = last > step, without != step
        for n in range(steps):
            state = torch.where(learns[n], state, state.detach())
            after = self.blocks(self.recall(torch.cat((state, seen), -1)).relu())
            state = torch.where(goes_on[n], after, state)
        for layer in self.head:
            state = layer(state).relu()
        return Read(self.output(state)[:, 0], state.new_zeros(()), inputs["last"].float().mean())


BASELINE = Baseline(
    name="deep-thinking",
    title="Deep Thinking with recall",
    source="Bansal et al. 2022",
    network=DeepThinking,
    shape=Shape,
    native=Setting(
        (),
        {
            "task.name": "prefix",
            "task.terms": (1, 1),
            "task.digits": (32, 32),
            "network.rows": 1,
            "network.width": 128,
            "network.steps": 30,
            "network.spare_columns": 0,
            **schedule(3000, 100, 1e-3),
        },
    ),
    matched=Setting(("alignment",), schedule(5000, 100, 1e-3)),
    numbers=(("1x512", 0.97, "prefix sums of bits"),),
)
