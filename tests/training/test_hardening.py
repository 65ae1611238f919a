"""Placement hardens, and states become discrete, on results alone, run by run, and for good."""

import pytest
import torch

from gridsum.config import ConfigError
from gridsum.fields import override
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
        size = GridSize(*largest_grid(space, config))
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


def test_states_become_discrete_once_placement_is_certain_and_enough_is_right(monkeypatch):
    config = short(**{"model.levels": 3, "training.harden_accuracy": 0.5, "training.discrete_accuracy": 0.8})
    network = Network(config.model, (0, 1, 2))
    discrete = network.step.discrete
    assert discrete is not None

    def after(*groups):
        monkeypatch.setattr(
            "gridsum.training.hardening.certain_accuracy", lambda _n, _c, group, _s: torch.tensor(groups[group])
        )
        harden(network, config, (0, 1, 2), 7)
        return discrete.tolist()

    assert after([0.9, 0.9, 0.4], [0.9, 0.6, 0.9]) == [False] * 3, "placement first"
    assert after([0.9, 0.9, 0.9], [0.9, 0.7, 0.9]) == [True, False, False]
    assert after([0.1, 0.8, 0.9], [0.1, 0.8, 0.9]) == [True, True, True], "and for good"


def test_states_become_discrete_where_placement_does_not_harden(monkeypatch):
    config = short(**{"model.levels": 3, "model.harden": False})
    network = Network(config.model, (0, 1))
    assert network.step.discrete is not None
    monkeypatch.setattr("gridsum.training.hardening.certain_accuracy", lambda *_: torch.tensor([0.96, 0.98]))
    harden(network, config, (0, 1), 7)
    assert network.step.discrete.tolist() == [False, True]


def test_a_discrete_run_is_resumed_loaded_and_started_from_as_such(tmp_path):
    """Thresholds that any network reaches: certain after an epoch, discrete after two."""
    ready = {"training.harden_accuracy": 1e-6, "training.discrete_accuracy": 1e-6}
    config = short(**{"model.levels": 3, "training.harden_problems": 32, **ready})
    train(config, [1, 4], tmp_path / "whole", CPU)
    for epochs in (1, 2, 4):
        train(override(config, {"training.epochs": epochs}), [1, 4], tmp_path / "pieces", CPU, resume=epochs > 1)
        checkpoint = load_checkpoint(tmp_path / "pieces")
        assert checkpoint is not None
        assert checkpoint.tensors["step.discrete"].tolist() == [epochs > 1] * 2
    for seed in (1, 4):
        whole, pieces = weights_of(tmp_path / "whole", seed), weights_of(tmp_path / "pieces", seed)
        assert whole.keys() == pieces.keys()
        assert all(torch.equal(whole[name], pieces[name]) for name in whole)
        assert logged(tmp_path / "whole", seed) == logged(tmp_path / "pieces", seed)
    start = load(str(tmp_path / "whole"))
    assert start.network.step.discrete is not None
    assert start.network.step.discrete.tolist() == [True, True]
    slow = override(config, {"training.epochs": 1, "training.discrete_accuracy": 1.0})
    train(slow, [1, 4], tmp_path / "more", CPU, start=start)
    assert weights_of(tmp_path / "more", 4)["step.discrete"].item() is True


def test_levels_can_be_given_to_a_network_that_had_none(tmp_path):
    config = short(**{"training.harden_accuracy": 1e-6, "training.discrete_accuracy": 1e-6, "training.epochs": 1})
    train(config, [1], tmp_path / "first", CPU)
    start = load(str(tmp_path / "first"))
    train(override(config, {"model.levels": 3}), [1], tmp_path / "more", CPU, start=start)
    assert weights_of(tmp_path / "more", 1)["step.discrete"].item() is True
    with pytest.raises(ConfigError, match=r"model\.levels be set where it was 0"):
        train(config, [1], tmp_path / "back", CPU, start=load(str(tmp_path / "more")))
    assert not (tmp_path / "back").exists()


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
