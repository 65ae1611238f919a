"""What is added from outside the package is trained, measured and loaded as what comes with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gridsum
from gridsum.baselines.baseline import Baseline, BaselineConfig, BaselineNetwork, Problem, Read, Setting, schedule
from gridsum.baselines.layers import one_hot
from gridsum.baselines.layout import tape_of
from gridsum.cli import main
from gridsum.config import registry
from gridsum.config.fields import override
from gridsum.config.paper import Config as PaperConfig
from gridsum.config.paper import ConfigError, TrainingConfig, described
from gridsum.config.variants import PAPER_VARIANTS, VARIANTS
from gridsum.data.problems import Batch, Space
from gridsum.data.streams import Stream
from gridsum.evaluation.suites import COLLECTIONS, Suite
from gridsum.tasks import Task
from gridsum.training.folders import read_setup
from gridsum.training.paper import Paper

SIZES = {"model.width": 8, "model.heads": 8, "model.step_hidden": 8, "model.context_hidden": 8, "model.max_steps": 2}
PAPER = SIZES | {"training.epochs": 1, "training.steps_per_epoch": 1, "training.batch": 4}


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


class Larger(Task):
    """The larger of two digits."""

    kind, signs, most_terms, asks = "larger", "^", 2, "the larger of two numbers"

    def __init__(self) -> None:
        super().__init__(4)

    def answer(self, terms: Sequence[str]) -> str:
        return self.alphabet.write(max(int(term, 4) for term in terms))

    def columns(self, terms: int, digits: int) -> int:  # noqa: ARG002
        return digits

    def result(self, digits: Any, columns: int, *signs: Any) -> list[Any]:  # noqa: ARG002
        values: Any = sum(digits[..., place] * 4**place for place in range(digits.shape[-1]))
        value = values.amax(-1)
        return [value // 4**place % 4 for place in range(columns)]


def test_a_baseline_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(registry, "_registered", {})
    registry.register(COPIER)
    with pytest.raises(ConfigError, match="comes with gridsum"):
        registry.register(Baseline("exact", "", "", Copier, COPIER.native, COPIER.matched))
    assert main(["train", "--variant", "copier", "--network.width", "4", "--seeds", "0,3", "--out", str(tmp_path)]) == 0
    scores = gridsum.evaluate(tmp_path, "2x1", samples=8)
    assert [(score.variant, score.seed, score.given) for score in scores] == [
        ("copier/matched", 0, "order"), ("copier/matched", 3, "order")
    ]  # fmt: skip
    assert "gridsum evaluate" in capsys.readouterr().err
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(registry, "_registered", {})
    with pytest.raises(ValueError, match="unknown variant 'copier'"):
        gridsum.evaluate(tmp_path, "2x1", samples=8)


@pytest.mark.parametrize("variant", ["base", "exact"])
def test_a_task_is_one_class(variant: str, tmp_path: Path):
    """Given as itself, it is trained, solved and measured."""
    phases = {f"phases.{name}.steps": 0 for name in ("soft", "anneal", "hard", "robust")}
    exact = phases | {"phases.place.steps": 1, "rule.bits": 4, "consolidation.rounds": 0}
    digits = {"task.digits": (1, 2)} if variant == "base" else {}
    training = gridsum.train(
        variant, 0, tmp_path, (PAPER if variant == "base" else exact) | digits, task=Larger(), device="cpu", quiet=True
    )
    assert len(training.log()) == 1
    if variant == "base":  # one step teaches a rule nothing, not even where symbols go
        answer = training[0].solve("12^3")
        assert (answer.expression, answer.correct) == ("12^3=", answer.answer == "12")
        assert gridsum.evaluate(tmp_path, "2x1", samples=4)[0].samples == 4


@dataclass(frozen=True)
class MyTraining(TrainingConfig):
    patience: int = described(3, "A field of one's own.")


@dataclass(frozen=True)
class MyConfig(PaperConfig):
    training: MyTraining = field(default_factory=MyTraining)


class Mine(Paper):
    config = MyConfig

    def configure(
        self,
        setting: str | None = None,  # noqa: ARG002
        task: str | None = None,  # noqa: ARG002
        changes: Mapping[str, Any] | None = None,
    ) -> MyConfig:
        return override(MyConfig(variant=self.name), dict(changes or {}))


def test_the_first_changes_of_contributing_are_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(COLLECTIONS, "mine", (Suite.parse("2x1"),))
    monkeypatch.setitem(VARIANTS, "mine", {"model.heads": 4, "model.width": 8})
    options = [f"--{name}={value}" for name, value in PAPER.items() if name != "model.heads"]
    assert main(["train", "--variant", "mine", "--out", str(tmp_path / "run"), "--device", "cpu", *options]) == 0
    assert registry.read_config({"variant": "mine"}).variant == "mine"
    assert gridsum.evaluate(tmp_path / "run", "mine", samples=4)[0].suite == "2x1"
    assert "mine" not in PAPER_VARIANTS, "the study is of the paper's variants, whatever is added"

    monkeypatch.setattr(registry, "_registered", {})
    registry.register(Mine("my-field"))
    options = [f"--{name}={value}" for name, value in PAPER.items()]
    out = ["--out", str(tmp_path / "field"), "--device", "cpu"]
    assert main(["train", "--variant", "my-field", "--training.patience", "5", *out, *options]) == 0
    assert read_setup(tmp_path / "field")[0].training.patience == 5
