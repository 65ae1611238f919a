"""Placement hardens on results alone, run by run, and for good."""

import pytest
import torch

from gridsum.config import override
from gridsum.model.network import Network
from gridsum.model.rollout import GridSize
from gridsum.model.seq2grid import NLP, NOP, TLU
from gridsum.objective import character_accuracy
from gridsum.problems import sample
from gridsum.store import load
from gridsum.streams import Stream
from gridsum.symbols import PAD
from gridsum.training.folders import load_checkpoint, read_metrics
from gridsum.training.gradients import largest_grid
from gridsum.training.hardening import certain_accuracy, harden
from gridsum.training.loop import train
from tests.training.test_gradients import tiny
from tests.training.test_loop import CPU, logged, weights_of

SHORT = {"training.epochs": 4, "training.steps_per_epoch": 2, "training.checkpoint_epochs": 1}


def short(**changes):
    return override(tiny("exact"), {**SHORT, "training.harden_problems": 8, **changes})


def test_accuracy_is_measured_on_hard_placement_after_the_most_steps():
    config = short()
    network = Network(config.model, (0, 1)).requires_grad_(False)
    for group, space in enumerate(config.task.groups):
        batch = sample(space, 8, Stream.of_seeds((0, 1)))
        size = GridSize(*largest_grid(space, config.task))
        grid = network.place(batch.symbols, size, hard=True)
        remembered = network.step.remember(grid)
        for _ in range(5):
            grid = network.step(grid, size, remembered=remembered)
        targets = batch.targets_for(size.width)
        inside = torch.ones_like(targets, dtype=torch.bool)
        expected = character_accuracy(network.read(grid[:, :, 0]).argmax(-1)[None], targets, inside)[0].mean(-1)
        torch.testing.assert_close(certain_accuracy(network, config, group, Stream.of_seeds((0, 1))), expected)


def test_a_run_hardens_once_it_is_right_often_enough_in_every_group(monkeypatch):
    config = short(**{"training.harden_accuracy": 0.5})
    network = Network(config.model, (0, 1, 2))
    measured = {0: [0.9, 0.5, 0.4], 1: [0.4, 0.6, 0.9]}
    monkeypatch.setattr(
        "gridsum.training.hardening.certain_accuracy", lambda _n, _c, group, _s: torch.tensor(measured[group])
    )
    harden(network, config, (0, 1, 2), 7)
    assert network.placement.decided is not None
    assert (network.placement.decided >= 0).all(1).tolist() == [False, True, False]


def test_networks_that_do_not_harden_are_left_alone():
    config = tiny("base")
    network = Network(config.model, (0,))
    harden(network, config, (0,), 3)
    assert network.placement.decided is None
    assert not any("decided" in name for name in network.state_dict())


def test_a_hardened_run_is_resumed_and_loaded_as_such(tmp_path):
    """A threshold that any network reaches at the first epoch's end; training in pieces ends as training at once."""
    config = short(**{"training.harden_accuracy": 1e-6})
    train(config, [1, 4], tmp_path / "whole", CPU)
    train(override(config, {"training.epochs": 2}), [1, 4], tmp_path / "pieces", CPU)
    train(config, [1, 4], tmp_path / "pieces", CPU, resume=True)
    for seed in (1, 4):
        whole, pieces = weights_of(tmp_path / "whole", seed), weights_of(tmp_path / "pieces", seed)
        assert (whole["placement.decided"] >= 0).all()
        assert whole.keys() == pieces.keys()
        assert all(torch.equal(whole[name], pieces[name]) for name in whole)
        assert logged(tmp_path / "whole", seed) == logged(tmp_path / "pieces", seed)
        assert [line["hardened"] for line in read_metrics(tmp_path / "whole", seed)] == [True] * 4
    checkpoint = load_checkpoint(tmp_path / "whole")
    assert checkpoint is not None
    assert "placement.decided" in checkpoint.tensors
    network = load(str(tmp_path / "whole")).network
    assert sorted(network.actions(torch.arange(13).expand(2, 1, -1)).unique().tolist()) == [0, 1]


def test_a_run_that_is_not_ready_stays_expected(tmp_path):
    train(short(**{"training.harden_accuracy": 1.0, "training.epochs": 1}), [1], tmp_path, CPU)
    assert (weights_of(tmp_path, 1)["placement.decided"] == -1).all()
    assert read_metrics(tmp_path, 1)[0]["hardened"] is False


@pytest.mark.slow
def test_exact_learns_small_sums_and_finds_their_placement_from_results_alone(tmp_path):
    """A few minutes on one core: sums of up to two terms of up to three digits."""
    config = override(
        tiny("exact"),
        {
            "task.terms": (1, 2),
            "task.group_bounds": (),
            "task.random_rows": 1,
            "task.random_columns": 1,
            "model.width": 32,
            "model.groups": 8,
            "model.heads": 32,
            "model.step_hidden": 64,
            "model.placement_hidden": 32,
            "model.train_steps": (4, 8),
            "model.state_noise": 0.1,
            "training.restart_steps": 8,
            "training.batch": 48,
            "training.epochs": 200,
            "training.restart_epochs": 200,
            "training.learning_rate": 2e-3,
        },
    )
    train(config, [1], tmp_path, CPU)
    decided = weights_of(tmp_path, 1)["placement.decided"].tolist()
    assert decided[PAD] == NOP
    assert decided[1:12] == [TLU] * 10 + [NLP]
    assert read_metrics(tmp_path, 1)[-1]["accuracy"] > 0.85
