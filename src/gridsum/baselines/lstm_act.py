"""An LSTM with adaptive computation time (Graves 2016, arXiv 1603.08983).

Each number is one input, its digits one-hot side by side, so numbers have a fixed width. The LSTM ponders over it for
as many steps as it likes. After a number it writes the sum so far.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from gridsum.baselines.layers import Pondering, lstm, one_hot
from gridsum.baselines.layout import table_of, terms_of
from gridsum.baselines.system import Baseline, Problem, Read, Setting, System, SystemConfig, lesson
from gridsum.config import described
from gridsum.problems import Batch, Space
from gridsum.streams import Stream
from gridsum.tasks import FIRST_DIGIT, PAD


@dataclass(frozen=True)
class Shape:
    """The network."""

    width: int = described(512, "Features of the LSTM.")
    ponder: int = described(10, "The most steps for a number.")
    ponder_cost: float = described(1e-3, "τ, what a step costs.")
    partial_sums: bool = described(False, "Whether it is told the sum after every number, or after the last alone.")


@dataclass(frozen=True)
class Config(SystemConfig):
    network: Shape = field(default_factory=Shape)


class PonderingLSTM(Baseline):
    def __init__(self, config: SystemConfig) -> None:
        super().__init__(config)
        self.shape: Shape = config.network
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
        numbers = torch.nn.functional.pad(table, (0, self.digits - table.shape[-1]), value=PAD)
        number = torch.arange(table.shape[-2], device=table.device)
        told = number == count[..., None] - 1
        sums = torch.stack([self._sum(table[..., : n + 1, :]) for n in range(table.shape[-2])], -2)
        if self.shape.partial_sums:
            told = told | ((number > 0) & (number < count[..., None]))
        weight = told[..., None].expand_as(sums).flatten(-2).float()
        return Problem({"numbers": numbers, "count": count}, sums.flatten(-2), weight)

    def _sum(self, table: Tensor) -> Tensor:
        """The answer to some numbers as symbols, [R,B,columns]."""
        digits = torch.stack(self.task.result((table - FIRST_DIGIT).clamp_min(0), self.columns)[::-1], -1)
        significant = digits.cumsum(-1) > 0
        last = torch.arange(self.columns, device=table.device) == self.columns - 1
        return torch.where(significant | last, digits + FIRST_DIGIT, PAD)

    def forward(self, inputs: dict[str, Tensor], draws: Stream | None) -> Read:  # noqa: ARG002
        numbers, count = inputs["numbers"], inputs["count"]
        x = one_hot(numbers, self.symbols)[..., 1:]
        x = torch.cat((torch.zeros_like(x[..., :1]), x), -1).flatten(-2)  # no digit is no input
        h = m = x.new_zeros(len(x), self.shape.width)
        ponder, read = x.new_zeros(len(x)), []
        for number in range(numbers.shape[1]):
            h, m, y, cost = self.ponder(x[:, number], h, m)
            ponder = ponder + torch.where(number < count, cost, 0.0)
            read.append(y.unflatten(-1, (self.columns, self.symbols)))
        steps = (ponder / count).mean()
        return Read(torch.cat(read, 1), self.shape.ponder_cost * ponder.mean(), steps)

    def ponder(self, x: Tensor, h: Tensor, m: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Section 2 for one input x [B,·]: state and output are means under p_n; and what pondering cost [B]."""
        pondering, mean = Pondering(x[:, 0]), [torch.zeros_like(h), torch.zeros_like(m)]
        for n in range(self.shape.ponder):
            first = x.new_full((len(x), 1), float(n == 0))
            h, m = lstm(self.gates(torch.cat((x, first, h), -1)), m)
            p = pondering.step(self.halt(h)[:, 0].sigmoid(), last=n == self.shape.ponder - 1)[:, None]
            mean = [mean[0] + p * h, mean[1] + p * m]
        return mean[0], mean[1], self.output(mean[0]), pondering.cost  # the output is linear, so its mean is the mean's

    def written(self, predicted: Tensor, problem: Problem) -> Tensor:
        rows = predicted.unflatten(-1, (-1, self.columns))
        last = (problem.inputs["count"] - 1)[..., None, None].expand(*rows.shape[:2], 1, self.columns)
        return rows.gather(2, last)[:, :, 0]


SYSTEM = System(
    name="lstm-act",
    title="LSTM + ACT",
    source="Graves 2016",
    network=PonderingLSTM,
    config=Config,
    own=Setting(
        ("alignment", "partial sums"),
        {
            "task.terms": (1, 5),
            "task.digits": (1, 5),
            "network.partial_sums": True,
            **lesson(10000, 256, 1e-3),
        },
    ),
    paper=Setting(("alignment",), lesson(8000, 256, 1e-3)),
    claim="[1,5]x[1,5] above .99 with partial sums",
    held_against=("[1,5]x[1,5]",),
    differs="at most 10 steps for a number; larger batches at a higher rate",
    reach=(
        "A number is one input of a fixed width. Longer numbers than in training cannot be given to it at all; "
        "more numbers can."
    ),
)
