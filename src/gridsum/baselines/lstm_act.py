"""An LSTM with adaptive computation time (Graves 2016, arXiv 1603.08983).

Each number is one input, its digits one-hot side by side, so numbers have a fixed width. The LSTM ponders over it for
as many steps as it likes. After a number it writes the sum so far.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gridsum.baselines.baseline import Baseline, BaselineConfig, BaselineNetwork, Problem, Read, Setting, schedule
from gridsum.baselines.layers import lstm, one_hot, pondered
from gridsum.baselines.layout import table_of, terms_of
from gridsum.config.paper import described
from gridsum.data.problems import Batch, Space, leading_blanks
from gridsum.data.streams import Stream
from gridsum.tasks import FIRST_DIGIT, PAD


@dataclass(frozen=True)
class Shape:
    """The network."""

    width: int = described(512, "Features of the LSTM.")
    ponder: int = described(10, "The most steps for a number.")
    ponder_cost: float = described(1e-3, "τ, what a step costs.")
    partial_sums: bool = described(False, "Whether it is told the sum after every number, or after the last alone.")


class PonderingLSTM(BaselineNetwork[Shape]):
    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config)
        self.digits, self.columns = self.trained_on.digits[1], self.trained_on.columns_of(self.task)
        width, inputs = self.shape.width, self.digits * self.symbols
        self.gates = nn.Linear(inputs + 1 + width, 4 * width)
        self.halt = nn.Linear(width, 1)
        nn.init.constant_(self.halt.bias, 1.0)
        self.output = nn.Linear(width, self.columns * self.symbols)

    def fits(self, space: Space) -> bool:
        return space.digits[1] <= self.digits and space.columns_of(self.task) <= self.columns

    def encode(self, batch: Batch, space: Space, draws: Stream | None) -> Problem:  # noqa: ARG002
        """The places of the output are numbers × columns; which of them count says what is told."""
        table, count = table_of(batch, space), terms_of(batch)
        numbers = F.pad(table, (0, self.digits - table.shape[-1]), value=PAD)
        number = torch.arange(table.shape[-2], device=table.device)
        told = number == count[..., None] - 1
        digits = (table - FIRST_DIGIT).clamp_min(0)
        parts = [self.task.result(digits[..., : n + 1, :], self.columns) for n in range(table.shape[-2])]
        sums = torch.stack([leading_blanks(torch.stack(part[::-1], -1)) for part in parts], -2)
        if self.shape.partial_sums:
            told = told | ((number > 0) & (number < count[..., None]))
        weight = told[..., None].expand_as(sums).flatten(-2).float()
        return Problem({"numbers": numbers, "count": count}, sums.flatten(-2), weight)

    def forward(self, inputs: dict[str, Tensor], draws: Stream | None) -> Read:  # noqa: ARG002
        numbers, count = inputs["numbers"], inputs["count"]
        x = one_hot(numbers, self.symbols)[..., 1:]
        x = torch.cat((torch.zeros_like(x[..., :1]), x), -1).flatten(-2)  # no digit is no input
        h = m = x.new_zeros(len(x), self.shape.width)
        shown, costs = [], []
        for number in range(numbers.shape[1]):
            h, m, cost = self.ponder(x[:, number], h, m)
            shown.append(h)
            costs.append(cost)
        counted = torch.arange(numbers.shape[1], device=x.device) < count[:, None]
        ponder = (torch.stack(costs, 1) * counted).sum(1)
        logits = self.output(torch.stack(shown, 1)).unflatten(-1, (self.columns, self.symbols)).flatten(1, 2)
        return Read(logits, self.shape.ponder_cost * ponder.mean(), (ponder / count).mean())

    def ponder(self, x: Tensor, h: Tensor, m: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Section 2 for one input: the state is the mean under p_n, of which the output is the mean of outputs because
        it is linear; and what pondering cost [B]. Halting does not touch the steps, so it is decided at the end."""
        states = []
        for n in range(self.shape.ponder):
            opened, m = lstm(self.gates(torch.cat((x, torch.full_like(x[:, :1], n == 0), h), -1)), m)
            h = opened * m.tanh()
            states.append((h, m))
        hidden, memory = (torch.stack(part, 1) for part in zip(*states, strict=True))
        p, _, cost = pondered(self.halt(hidden)[..., 0].sigmoid())
        return (p[..., None] * hidden).sum(1), (p[..., None] * memory).sum(1), cost

    def written(self, predicted: Tensor, problem: Problem) -> Tensor:
        rows = predicted.unflatten(-1, (-1, self.columns))
        last = (problem.inputs["count"] - 1)[..., None, None].expand(*rows.shape[:2], 1, self.columns)
        return rows.gather(2, last)[:, :, 0]


BASELINE = Baseline(
    name="lstm-act",
    title="LSTM + ACT",
    source="Graves 2016",
    network=PonderingLSTM,
    shape=Shape,
    native=Setting(
        ("alignment", "partial sums"),
        {"task.terms": (1, 5), "task.digits": (1, 5), "network.partial_sums": True, **schedule(10000, 256, 1e-3)},
    ),
    matched=Setting(("alignment",), schedule(8000, 256, 1e-3)),
    numbers=(("[1,5]x[1,5]", 0.99, "as our paper quotes it"),),
)
