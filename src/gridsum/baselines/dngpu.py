"""The Neural GPU (Kaiser & Sutskever 2016) in its improved form, DNGPU (Freivalds & Liepins 2017, arXiv 1702.08727).

A tape of n cells, one for each symbol, takes n steps of a convolutional gated unit. Both ends of the paper are here:
diagonal gates, and hard nonlinearities with a cost for saturation.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gridsum.baselines.layers import Convolution, dropped, neighbours, one_hot
from gridsum.baselines.layout import tape_of
from gridsum.baselines.system import Baseline, Problem, Read, Setting, System, SystemConfig, lesson
from gridsum.config import described
from gridsum.problems import Batch, Space
from gridsum.streams import Stream

_LIMIT = 0.9
"""Beyond this, a hard nonlinearity counts as saturated."""


@dataclass(frozen=True)
class Shape:
    """The network."""

    maps: int = described(96, "m, the features of a cell; a third of them moves left, a third right.")
    dropout: float = described(0.1, "The share of a new value's features that is dropped.")
    saturation: float = described(1e-3, "The weight of the saturation cost.")


@dataclass(frozen=True)
class Config(SystemConfig):
    network: Shape = field(default_factory=Shape)


class DiagonalUnit(nn.Module):
    """One step: s' = g ⊙ moved(s) + (1 - g) ⊙ tanh(C * (r ⊙ s)), r and g convolutions of s too.

    `moved` is the diagonal gate: a third of the maps comes from the left neighbour, a third from the right.
    """

    def __init__(self, maps: int) -> None:
        super().__init__()
        self.reset, self.gate, self.candidate = (Convolution(1, 3, maps, maps) for _ in range(3))
        for layer, start in ((self.reset, 0.5), (self.gate, 0.7), (self.candidate, 0.0)):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.constant_(layer.bias, start)

    def forward(self, s: Tensor, drop: tuple[float, Stream | None, int]) -> tuple[Tensor, Tensor]:
        """s [B,1,n,m] after a step, and how far its parts are saturated [B,1,n]."""
        around = neighbours(s, 1, 3)  # of both gates, so once
        reset, gate = (F.linear(around, layer.weight, layer.bias) for layer in (self.reset, self.gate))
        candidate = self.candidate(_hard_sigmoid(reset) * s)
        g, new = _hard_sigmoid(gate), dropped(candidate.clamp(-1, 1), *drop)
        saturated = sum((part.abs() - _LIMIT).relu().sum(-1) for part in (reset, gate, candidate))
        assert isinstance(saturated, Tensor)
        return g * moved(s) + (1 - g) * new, saturated


def moved(s: Tensor) -> Tensor:
    third = s.shape[-1] // 3
    stay, left, right = s.split((s.shape[-1] - 2 * third, third, third), -1)
    return torch.cat((stay, F.pad(left, (0, 0, 1, -1)), F.pad(right, (0, 0, -1, 1))), -1)


def _hard_sigmoid(x: Tensor) -> Tensor:
    return (0.5 * x + 0.5).clamp(0, 1)


class NeuralGPU(Baseline):
    def __init__(self, config: SystemConfig) -> None:
        super().__init__(config)
        self.shape: Shape = config.network
        self.enter = nn.Linear(self.symbols, self.shape.maps)
        self.unit = DiagonalUnit(self.shape.maps)
        self.output = nn.Linear(self.shape.maps, self.symbols)

    def encode(self, batch: Batch, space: Space, draws: Stream | None) -> Problem:  # noqa: ARG002
        """The result stands where the tape begins, with its units first."""
        tape, length = tape_of(batch)
        cells = torch.arange(tape.shape[-1], device=tape.device) < length[..., None]
        return Problem({"tape": tape, "length": length}, batch.targets_for(tape.shape[-1]).flip(-1), cells.float())

    def forward(self, inputs: dict[str, Tensor], draws: Stream | None) -> Read:
        tape, length = inputs["tape"], inputs["length"]
        cells = tape.shape[-1]
        inside = (torch.arange(cells, device=tape.device) < length[:, None])[:, None, :, None].float()
        entered = self.enter(one_hot(tape, self.symbols))[:, None]
        s = dropped(entered.clamp(-1, 1), self.shape.dropout, draws, 0) * inside
        saturation = s.new_zeros(len(s))
        for step in range(cells):
            after, saturated = self.unit(s, (self.shape.dropout, draws, step + 1))
            running = step < length
            saturation = saturation + running * (saturated * inside[..., 0]).sum((1, 2))
            s = torch.where(running[:, None, None, None], after * inside, s)
        cost = self.shape.saturation * (saturation / length.square().clamp_min(1)).mean()
        return Read(self.output(s[:, 0]), cost, length.float().mean())

    def written(self, predicted: Tensor, problem: Problem) -> Tensor:
        return torch.where(problem.weight > 0, predicted, 0).flip(-1)


SYSTEM = System(
    name="dngpu",
    title="Neural GPU (DNGPU)",
    source="Freivalds & Liepins 2017",
    network=NeuralGPU,
    config=Config,
    own=Setting(
        ("reversed digits",), {"task.terms": (2, 2), "task.digits": (1, 20), **lesson(5000, 128, 3e-3, clip=1.0)}
    ),
    paper=Setting(("reversed digits",), lesson(5000, 128, 3e-3, clip=1.0)),
    claim="2x100 decimal above .99 (Price et al. 2016, with a curriculum); all lengths 8 to 41 at once",
    held_against=("2x20", "2x100"),
    differs=(
        "Adam instead of AdaMax, no gradient noise, a fixed weight of the saturation cost; each problem takes as "
        "many steps as its own tape has cells"
    ),
    reach=(
        "Every cell sees its two neighbours in a step, and there are as many steps as symbols, so any carry can "
        "arrive and any length can be asked. Terms are not aligned for it: it has to carry digits along the tape "
        "to where they meet."
    ),
)
