"""What is added from outside the package is trained, measured and loaded as what comes with it.

Here it is what docs/research.md adds.
"""

import pytest
import torch

import gridsum
from gridsum.baselines.baseline import Baseline
from gridsum.cli import main
from gridsum.config import registry
from gridsum.config.paper import ConfigError
from gridsum.model import paper
from gridsum.model.rollout import Network, form_of
from tests.test_documents import names_of
from tests.training.test_gradients import TINY


@pytest.mark.usefixtures("here")
def test_a_baseline_is_one_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
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


@pytest.mark.parametrize("variant", ["base", "fixedTime"])
def test_a_step_of_ones_own_is_trained_saved_solved_traced_and_evaluated(variant, here, monkeypatch):
    monkeypatch.setattr(paper, "STEPS", dict(paper.STEPS))
    blur = names_of("class Blur")["Blur"]
    settings = TINY | {"model.step": "blur", "training.epochs": 1, "training.steps_per_epoch": 3}
    gridsum.train(variant, seeds=[0, 1], out=here / "run", settings=settings, quiet=True, device="cpu")
    model = gridsum.load(here / "run" / "seed-1")
    network = model.network
    assert isinstance(network, Network)
    assert isinstance(network.step, blur)
    assert form_of(network) == "plain"
    begun = Network(network.config, [1])
    weights = (one.get_parameter("step.weight") for one in (network, begun))
    assert not torch.equal(*weights), "it was trained"
    answer, trace = model.solve("12+3"), model.trace("12+3")
    assert trace.answer == answer
    assert len(trace.grids) == answer.steps + 1 == (4 if variant == "fixedTime" else len(trace.grids))
    torch.testing.assert_close(network.step(trace.grids[None, :-1])[0], trace.grids[1:])
    (score,) = gridsum.evaluate(model, "1x1", samples=4, device="cpu")
    assert 0 <= score.seq <= 1

    paper.STEPS.pop("blur")
    with pytest.raises(ConfigError, match=r"unknown step 'blur' here, only attention; .*register_step\('blur'"):
        gridsum.load(here / "run" / "seed-0")
