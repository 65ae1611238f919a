"""What is added from outside the package is trained, measured and loaded as what comes with it."""

import pytest

import gridsum
from gridsum.baselines.baseline import Baseline
from gridsum.cli import main
from gridsum.config import registry
from gridsum.config.paper import ConfigError
from tests.test_documents import names_of


@pytest.mark.usefixtures("here")
def test_a_baseline_is_one_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """That of docs/research.md."""
    monkeypatch.setattr(registry, "_registered", {})
    shown = names_of("class Copier")
    with pytest.raises(ConfigError, match="comes with gridsum"):
        registry.register(Baseline("exact", "", "", shown["Copier"], shown["brief"], shown["brief"]))
    assert main(["train", "--variant", "copier", "--training.batch", "4", "--seeds", "0,3", "--out", "run"]) == 0
    scores = gridsum.evaluate("run", "2x1", samples=8)
    assert [(score.variant, score.seed, score.given, score.problems_seen) for score in scores] == [
        ("copier/matched", seed, "nothing", 16) for seed in (0, 3)
    ]
    assert "gridsum evaluate" in capsys.readouterr().err
    monkeypatch.setattr(registry, "_registered", {})
    with pytest.raises(ValueError, match="unknown variant 'copier'"):
        gridsum.evaluate("run", "2x1", samples=8)
