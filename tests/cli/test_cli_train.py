"""`gridsum train` as real processes: what it leaves, how it goes on after being stopped, how it is watched."""

import json
import signal
from pathlib import Path

import pytest

from gridsum.cli import main
from gridsum.io.signals import Stopped, stoppable
from gridsum.training.folders import load_checkpoint, read_metrics
from tests.children import stopped
from tests.cli.conftest import TINY_OPTIONS, Command
from tests.faults.trainings import outcome


def test_a_stopped_run_loses_nothing_and_says_how_to_go_on(command: Command, tmp_path: Path):
    """By Ctrl+C, then by the signal of a service. The log runs ahead of the checkpoint."""
    whole, folder = tmp_path / "whole", tmp_path / "a run"
    lengths = ["--training.epochs", "8", "--training.checkpoint_epochs", "3", "--model.max_steps", "3"]
    training = ["--seeds", "0,3", *TINY_OPTIONS, *lengths]
    assert main(["train", "--out", str(whole), *training]) == 0
    command_line = ["train", "--out", str(folder), *training]
    again = f"go on with: gridsum train --out '{folder}' --resume --device cpu"
    for number, status, epoch in ((signal.SIGINT, 130, 4), (signal.SIGTERM, 143, 5)):
        ended = stopped(command_line, number, "seed-3/metrics.jsonl", epoch)
        assert ended.status == status, ended.err
        held = load_checkpoint(folder)
        assert held.epoch == epoch, "checkpoints are due every three epochs"
        assert len(read_metrics(folder, 0)) == epoch, "an epoch that has been logged, but not ended, is forgotten"
        told = f"gridsum: stopped and saved as of the end of epoch {epoch} of 8; {again}"
        assert ended.err.splitlines()[-1] == told
        assert "Traceback" not in ended.err
        command_line = ["train", "--out", str(folder), "--resume", "--device", "cpu"]
    status, _, err = command(*command_line)
    assert status == 0, err
    assert next(line for line in err.splitlines() if line.startswith("training step")).startswith("training step 6 of ")
    assert outcome(folder) == outcome(whole)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
def test_other_signals_stop_a_command_too(number: signal.Signals):
    before = signal.signal(number, signal.SIG_DFL)  # under nohup, SIGHUP is ignored
    with pytest.raises(Stopped), stoppable():
        signal.raise_signal(number)
    signal.signal(number, before)


def test_a_setting_and_overrides_reach_the_run(command: Command, tmp_path: Path):
    folder = tmp_path / "run"
    given = ["--variant", "SASA", "--setting", "text", "--seeds", "5", "--task.digits", "1,2"]
    more = ["--task.spare_rows", "2", "--model.query_encoding", "false"]
    status, out, err = command("train", "--out", str(folder), *given, *TINY_OPTIONS, *more)
    assert (status, out) == (0, "")
    setup = json.loads((folder / "config.json").read_text())
    assert setup["seeds"] == [5]
    assert (setup["variant"], setup["model"]["width"], setup["task"]["digits"]) == ("SASA", 16, [1, 2])
    assert setup["model"]["query_encoding"] is False
    assert (setup["objective"]["normalise"], setup["objective"]["success"]) == ("batch", "expected")
    assert (setup["task"]["spare_rows"], setup["task"]["spare_columns"]) == (2, 2), "what is overridden counts last"
    assert f"gridsum solve 523+102 --model {folder}/seed-5" in err
    status, out, err = command("watch", str(folder))
    assert (status, err) == (0, "")
    assert f"SASA in {folder}" in out
    assert "1 of 1" in out
