"""The Neural GPU (Kaiser & Sutskever 2016) in its improved form, DNGPU (Freivalds & Liepins 2017, arXiv 1702.08727).

A tape of n cells, one for each symbol, takes n steps of a convolutional gated unit. Both ends of the paper are here:
diagonal gates, and hard nonlinearities with a cost for saturation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gridsum.baselines.baseline import Baseline, BaselineConfig, BaselineNetwork, Problem, Read, Setting, schedule
from gridsum.baselines.layers import Convolution, joined, kept, one_hot
from gridsum.baselines.layout import tape_of
from gridsum.config.paper import described
from gridsum.data.problems import Batch, Space
from gridsum.data.streams import Stream

_LIMIT = 0.9
"""Beyond this, a hard nonlinearity counts as saturated."""


@dataclass(frozen=True)
class Shape:
    """The network."""

    maps: int = described(96, "m, the features of a cell; a third of them moves left, a third right.")
    dropout: float = described(0.1, "The share of a new value's features that is dropped.")
    saturation: float = described(1e-3, "The weight of the saturation cost.")


class DiagonalUnit(nn.Module):
    """One step: s' = g ⊙ moved(s) + (1 - g) ⊙ tanh(C * (r ⊙ s)), r and g convolutions of s too."""

    def __init__(self, maps: int) -> None:
        super().__init__()
        self.reset, self.gate, self.candidate = (Convolution(1, 3, maps, maps) for _ in range(3))
        for layer, start in ((self.reset, 0.5), (self.gate, 0.7), (self.candidate, 0.0)):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.constant_(layer.bias, start)

    def gates(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of both gates, once for all steps."""
        weight, bias = zip(self.reset.parameters(), self.gate.parameters(), strict=True)
        return torch.cat(weight), torch.cat(bias)

    def forward(self, s: Tensor, gates: tuple[Tensor, Tensor], keep: Tensor | None) -> tuple[Tensor, Tensor]:
        """s [B,1,n,m] after a step, and how far its parts are saturated [B,1,n]."""
        x = F.linear(joined(s, 1, 3), *gates)
        reset, gate = (0.5 * x + 0.5).clamp(0, 1).chunk(2, -1)
        y = self.candidate(reset * s)
        new = y.clamp(-1, 1)
        return torch.lerp(new if keep is None else new * keep, moved(s), gate), _saturated(x) + _saturated(y)


def _saturated(x: Tensor) -> Tensor:
    """By how much all x of a cell exceed the limit, together."""
    return (x.abs() - _LIMIT).relu().sum(-1)


def moved(s: Tensor) -> Tensor:
    """The diagonal gate: of the maps [...,n,m] the second third comes from the left, the last from the right."""
    third = s.shape[-1] // 3
    stay, right, left = s.split((s.shape[-1] - 2 * third, third, third), -1)
    return torch.cat((stay, F.pad(right, (0, 0, 1, -1)), F.pad(left, (0, 0, -1, 1))), -1)


class NeuralGPU(BaselineNetwork[Shape]):
    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config)
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
        s = self.enter(one_hot(tape, self.symbols))[:, None].clamp(-1, 1)
        keep: Sequence[Tensor | None] = [None] * (cells + 1)
        if draws is not None and self.shape.dropout:
            keep = kept(s, self.shape.dropout, draws, 0, cells + 1).unbind()
            s = s * keep[0]
        s = s * inside
        step = torch.arange(cells, device=tape.device)[:, None, None, None, None]
        works = (step < length[:, None, None, None]) & (inside > 0)  # [n,B,1,n,1]: outside, s is 0 and stays so
        gates, saturated = self.unit.gates(), []
        for n in range(cells):
            after, much = self.unit(s, gates, keep[n + 1])
            saturated.append(much)
            s = torch.where(works[n], after, s)
        saturation = (torch.stack(saturated) * works[..., 0]).sum((0, 2, 3))
        cost = self.shape.saturation * (saturation / length.square().clamp_min(1)).mean()
        return Read(self.output(s[:, 0]), cost, length.float().mean())

    def written(self, predicted: Tensor, problem: Problem) -> Tensor:
        return torch.where(problem.weight > 0, predicted, 0).flip(-1)


BASELINE = Baseline(
    name="dngpu",
    title="Neural GPU (DNGPU)",
    source="Freivalds & Liepins 2017",
    network=NeuralGPU,
    shape=Shape,
    native=Setting(("reversed digits",), {"task.terms": (2, 2), "task.digits": (1, 20), **schedule(5000, 128, 3e-3)}),
    matched=Setting(("reversed digits",), schedule(5000, 128, 3e-3)),
    numbers=(("2x20", 0.99, "all its lengths at once"), ("2x100", 0.99, "Price et al. 2016, with a curriculum")),
)
