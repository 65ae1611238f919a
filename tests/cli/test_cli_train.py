"""`gridsum train` as real processes: what it leaves, and how it goes on after being stopped."""

import errno
import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from gridsum.cli import main
from gridsum.cli.signals import Stopped, stoppable
from gridsum.training.checkpoints import load_checkpoint
from gridsum.training.folders import read_setup
from gridsum.training.loop import Epoch, news
from tests.children import command as work_of
from tests.children import in_child, stopped

Command = Callable[..., tuple[int, str, str]]


def _lines(folder: Path, seed: int = 0) -> list[str]:
    path = folder / f"seed-{seed}" / "metrics.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def _logged(folder: Path, seed: int) -> list[dict[str, float]]:
    """A run's log but for the time it took."""
    return [
        {name: value for name, value in json.loads(line).items() if name != "seconds"} for line in _lines(folder, seed)
    ]


def _weights(folder: Path, seed: int = 0) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    with safe_open(folder / f"seed-{seed}" / "weights.safetensors", framework="pt") as file:
        return {key: file.get_tensor(key) for key in file.keys()}, file.metadata()  # noqa: SIM118


def _assert_same_training(one: Path, other: Path, seeds: tuple[int, ...]) -> None:
    for seed in seeds:
        (tensors, metadata), (other_tensors, other_metadata) = _weights(one, seed), _weights(other, seed)
        assert metadata == other_metadata
        assert tensors.keys() == other_tensors.keys()
        assert all(torch.equal(tensors[key], other_tensors[key]) for key in tensors)
        assert _logged(one, seed) == _logged(other, seed)


@pytest.fixture(scope="module")
def training(tiny_options: list[str]) -> list[str]:
    """Long enough to be stopped in the middle; the log runs ahead of the checkpoint."""
    lengths = ["--training.epochs", "8", "--training.checkpoint_epochs", "3", "--model.max_steps", "3"]
    return ["--seeds", "0,3", *tiny_options, *lengths]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, training: list[str]) -> Path:
    folder = tmp_path_factory.mktemp("uninterrupted") / "run"
    assert main(["train", "--out", str(folder), *training]) == 0
    assert len(_lines(folder)) == 8
    return folder


def test_an_interrupted_run_loses_nothing_and_says_how_to_go_on(
    training: list[str], uninterrupted: Path, command: Command, tmp_path: Path
):
    folder = tmp_path / "a run"
    ended = stopped(["train", "--out", str(folder), *training], signal.SIGINT, "seed-3/metrics.jsonl", 4)
    err, done = ended.err, len(_lines(folder))
    assert (ended.status, done) == (130, 4), "an epoch that has been logged, but not ended, is forgotten"
    assert "Traceback" not in err
    held = load_checkpoint(folder)
    assert held is not None
    steps = read_setup(folder)[0].steps
    assert err.splitlines()[-1] == (
        f"gridsum: stopped and saved after training step {held.step} of {steps}; "
        f"go on with: gridsum train --out '{folder}' --resume --device cpu"
    )
    status, _, err = command("train", "--out", str(folder), "--resume", "--device", "cpu")
    assert status == 0, err
    first = next(line for line in err.splitlines() if line.startswith("training step"))
    assert first.startswith(f"training step {done + 1} of {steps}"), "the interrupt saved the last epoch"
    _assert_same_training(folder, uninterrupted, (0, 3))


def test_a_signal_to_stop_loses_nothing_either(training: list[str], tmp_path: Path):
    folder = tmp_path / "run"
    ended = stopped(["train", "--out", str(folder), *training], signal.SIGTERM, "seed-3/metrics.jsonl", 5)
    assert ended.status == 143, ended.err
    assert "Traceback" not in ended.err
    held = load_checkpoint(folder)
    assert held is not None
    assert f"stopped and saved after training step {held.step} of " in ended.err.splitlines()[-1]
    assert held.epoch == 5, "checkpoints are due every three epochs"
    for number in (signal.SIGHUP, signal.SIGUSR1):
        before = signal.signal(number, signal.SIG_DFL)  # under nohup, SIGHUP is ignored
        with pytest.raises(Stopped), stoppable():
            signal.raise_signal(number)
        signal.signal(number, before)


def test_a_setting_and_overrides_reach_the_run(command: Command, tiny_options: list[str], tmp_path: Path):
    folder = tmp_path / "run"
    given = ["--variant", "SASA", "--setting", "text", "--seeds", "5", "--training.epochs", "1", "--task.digits", "1,2"]
    more = ["--task.spare_rows", "2", "--model.query_encoding", "false"]
    status, out, err = command("train", "--out", str(folder), *given, *tiny_options, *more)
    assert (status, out) == (0, "")
    setup = json.loads((folder / "config.json").read_text())
    assert setup["seeds"] == [5]
    assert (setup["variant"], setup["model"]["width"], setup["task"]["digits"]) == ("SASA", 16, [1, 2])
    assert setup["model"]["query_encoding"] is False
    assert (setup["objective"]["normalise"], setup["objective"]["success"]) == ("batch", "expected")
    assert (setup["task"]["spare_rows"], setup["task"]["spare_columns"]) == (2, 2), "what is overridden counts last"
    assert f"gridsum solve 523+102 --model {folder}/seed-5" in err


def test_training_goes_on_from_another_training_s_weights(command: Command, trained: Path, tmp_path: Path):
    status, _, errors = command("train", "--start-from", str(trained), "--seeds", "7", "--out", str(tmp_path / "more"))
    assert status == 0, errors
    config = json.loads((tmp_path / "more" / "config.json").read_text())
    assert (config["seeds"], config["training"]["first_step"], config["training"]["epochs"]) == ([7], 1, 1)
    began = json.loads((tmp_path / "more" / "config.json").read_text())["start"]
    assert began == {"model": str(trained), "seeds": [7], "epochs": 1, "moments": True}
    (before, _), (after, _) = _weights(trained, 7), _weights(tmp_path / "more", 7)
    step = 1e-3 * 1.2  # an update of AdamW moves no weight by much more than the learning rate
    assert all((after[name] - before[name]).abs().max() < step for name in before)
    assert any(not torch.equal(after[name], before[name]) for name in before)


def test_what_training_cannot_start_from_is_told(command: Command, trained: Path, tmp_path: Path):
    out, start = ["train", "--out", str(tmp_path / "more")], ["--start-from", str(trained)]
    wrong = {
        "has no seed 3, only 0, 7": [*start, "--seeds", "0,3"],
        "leave model.* as it is": [*start, "--model.max_steps", "7"],
        "no weights.safetensors in": ["--start-from", str(tmp_path)],
        "unknown model 'nowhere'": ["--start-from", "nowhere"],
        "leave out start_from": [*start, "--resume"],
        "not allowed with argument": [*start, "--variant", "base"],
    }
    for message, options in wrong.items():
        status, printed, errors = command(*out, *options)
        assert (status, printed) == (2, ""), options
        assert message in errors
        assert not (tmp_path / "more").exists()


def test_resuming_otherwise_than_started_is_refused(command: Command, trained: Path):
    before = {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()}
    refusals = {
        "": "already holds a training run; add --resume",
        "--resume --seeds 1": "was started with seeds [0, 7]",
        "--resume --model.dropout 0.5": "was started with model.dropout = 0.1, not 0.5",
        "--resume --variant SASA": "was started with",
    }
    for options, told in refusals.items():
        status, out, err = command("train", "--out", str(trained), "--device", "cpu", *options.split())
        assert (status, out) == (2, "")
        assert told in err
    assert {path: path.read_bytes() for path in trained.rglob("*") if path.is_file()} == before


def test_a_disk_that_fills_up_is_told(tiny_options: list[str], tmp_path: Path):
    folder = tmp_path / "run"

    def train() -> int:
        # A limit on the size of files stands in for a full disk: the weights do not fit.
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        return work_of("train", "--out", str(folder), *tiny_options, "--seeds", "0")()

    status, out, err = in_child(train)
    assert (status, out) == (2, "")
    assert err.splitlines()[-1] == f"gridsum: error: {folder}: {os.strerror(errno.EFBIG).lower()}; choose another place"
    assert "Traceback" not in err
    assert not [path for path in folder.rglob("*") if "safetensors" in path.name], "nothing is left half-written"


def test_a_diverged_training_fails(command: Command, tiny_options: list[str], tmp_path: Path):
    rate = ["--training.learning_rate", "1e6", "--training.final_learning_rate", "1e6"]
    status, _, err = command("train", "--out", str(tmp_path / "run"), *tiny_options, *rate, "--training.clip", "1e6")
    assert status == 1
    assert "gridsum: seed 0: the loss or its gradient was not a number" in err
    assert err.splitlines()[-1].startswith("gridsum: error: every run has diverged")


def test_the_news_of_an_epoch_are_of_the_sound_runs():
    def epoch(alive: tuple[bool, ...]) -> Epoch:
        means = {"total": (1.0, 2.0, 9.0), "accuracy": (0.5, 0.7, 0.0), "steps": (4.0, 6.0, 40.0)}
        return Epoch(7, 10, (0, 1, 2), alive, means, 1e-3, 5.0)

    told = "loss 1.500 (best 1.000, worst 2.000), accuracy 0.600, steps 5.0, 1 of 3 runs set aside"
    assert news(epoch((True, True, False))) == told
    assert news(epoch((True, False, False))) == "loss 1.000, accuracy 0.500, steps 4.0, 2 of 3 runs set aside"
    assert news(epoch((False, False, False))) == "every run has diverged"
