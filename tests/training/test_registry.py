"""What is added from outside the package is trained, measured and loaded as what comes with it."""

from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import gridsum
from gridsum.baselines.baseline import Baseline, BaselineConfig, BaselineNetwork, Problem, Read, Setting, schedule
from gridsum.baselines.layers import one_hot
from gridsum.baselines.layout import tape_of
from gridsum.cli import main
from gridsum.config import registry
from gridsum.config.paper import ConfigError, described
from gridsum.data.problems import Batch, Space
from gridsum.data.streams import Stream


@dataclass(frozen=True)
class Shape:
    """The network."""

    width: int = described(8, "Features.")


class Copier(BaselineNetwork):
    """Reads each place of the tape by itself."""

    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config)
        self.layers = nn.Sequential(nn.Linear(self.symbols, config.network.width), nn.ReLU())
        self.output = nn.Linear(config.network.width, self.symbols)

    def encode(self, batch: Batch, space: Space, draws: Stream | None) -> Problem:  # noqa: ARG002
        tape, _ = tape_of(batch)
        targets = batch.targets_for(tape.shape[-1]).flip(-1)
        return Problem({"tape": tape}, targets, torch.ones_like(targets).float())

    def forward(self, inputs: dict[str, Tensor], draws: Stream | None) -> Read:  # noqa: ARG002
        logits = self.output(self.layers(one_hot(inputs["tape"], self.symbols)))
        return Read(logits, logits.new_zeros(()), logits.new_ones(()))

    def written(self, predicted: Tensor, problem: Problem) -> Tensor:  # noqa: ARG002
        return predicted.flip(-1)


BRIEF = Setting(("order",), schedule(4, 8, 1e-2, every=2))
COPIER = Baseline("copier", "Copier", "a test", Copier, native=BRIEF, matched=BRIEF, shape=Shape)


def test_a_baseline_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(registry, "_registered", {})
    registry.register(COPIER)
    with pytest.raises(ConfigError, match="comes with gridsum"):
        registry.register(Baseline("exact", "", "", Copier, BRIEF, BRIEF))
    assert main(["train", "--variant", "copier", "--network.width", "4", "--seeds", "0,3", "--out", str(tmp_path)]) == 0
    scores = gridsum.evaluate(tmp_path, "2x1", samples=8)
    assert [(score.variant, score.seed, score.given) for score in scores] == [
        ("copier/matched", 0, "order"), ("copier/matched", 3, "order")
    ]  # fmt: skip
    assert "gridsum evaluate" in capsys.readouterr().err
    monkeypatch.setattr(registry, "_registered", {})
    with pytest.raises(ValueError, match="unknown variant 'copier'"):
        gridsum.evaluate(tmp_path, "2x1", samples=8)
