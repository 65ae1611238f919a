"""Another recurrent step, from outside the package: its class, and one call that gives it a name."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import gridsum
from gridsum.config.paper import ConfigError
from gridsum.model import paper
from gridsum.model.rollout import Network, form_of
from gridsum.model.runs import RunModule, normal
from tests.training.test_gradients import TINY


class Blur(RunModule):
    """A cell becomes a function of itself and of the mean of the four cells around it."""

    decayed = ("weight",)

    def __init__(self, runs, config) -> None:
        super().__init__()
        self.weight = normal(runs, 0.3, 2, config.width, config.width)

    def forward(self, grid: Tensor, size=None, drops=None) -> Tensor:
        around = F.pad(grid, (0, 0, 1, 1, 1, 1))
        mean = (around[:, :, :-2, 1:-1] + around[:, :, 2:, 1:-1] + around[:, :, 1:-1, :-2] + around[:, :, 1:-1, 2:]) / 4
        mixed = paper.linear(drops[0](grid) if drops else grid, self.weight[:, 0]) + paper.linear(
            mean, self.weight[:, 1]
        )
        return paper.only_inside(size, grid + mixed.tanh())


@pytest.fixture
def blur(monkeypatch):
    monkeypatch.setattr(paper, "STEPS", dict(paper.STEPS))
    paper.register_step("blur", Blur)


@pytest.mark.usefixtures("blur")
@pytest.mark.parametrize("variant", ["base", "fixedTime"])
def test_a_step_of_ones_own_is_trained_saved_solved_traced_and_evaluated(variant, tmp_path):
    settings = TINY | {"model.step": "blur", "training.epochs": 1, "training.steps_per_epoch": 3}
    gridsum.train(variant, seeds=[0, 1], out=tmp_path / "run", settings=settings, quiet=True, device="cpu")
    model = gridsum.load(tmp_path / "run" / "seed-1")
    network = model.network
    assert isinstance(network, Network)
    assert isinstance(network.step, Blur)
    assert form_of(network) == "plain"
    begun = Network(network.config, [1])
    assert not torch.equal(network.step.weight, begun.get_parameter("step.weight")), "it was trained"
    answer, trace = model.solve("12+3"), model.trace("12+3")
    assert trace.answer == answer
    assert len(trace.grids) == answer.steps + 1 == (4 if variant == "fixedTime" else len(trace.grids))
    torch.testing.assert_close(network.step(trace.grids[None, :-1])[0], trace.grids[1:])
    (score,) = gridsum.evaluate(model, "1x1", samples=4, device="cpu")
    assert 0 <= score.seq <= 1

    paper.STEPS.pop("blur")
    with pytest.raises(ConfigError, match=r"unknown step 'blur' here, only attention; .*register_step\('blur'"):
        gridsum.load(tmp_path / "run" / "seed-0")
