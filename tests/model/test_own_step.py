"""Another recurrent step, from outside the package: that of docs/research.md."""

import pytest
import torch

import gridsum
from gridsum.config.paper import ConfigError
from gridsum.model import paper
from gridsum.model.rollout import Network, form_of
from tests.test_documents import names_of
from tests.training.test_gradients import TINY


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
