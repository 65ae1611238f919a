"""`gridsum watch`, and what a person sees while a training goes on."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gridsum.api.progress import Lines
from gridsum.training.folders import read_metrics
from tests.cli.conftest import Result

Command = Callable[..., Result]


def test_a_training_is_shown(trained: Path, command: Command):
    status, out, err = command("watch", str(trained))
    assert (status, err) == (0, "")
    assert f"base in {trained}" in out
    assert "1 of 1" in out
    known = json.loads(command("watch", str(trained), "--json").out)
    assert known["ended"]
    assert set(known["logs"]) == {"0", "7"}


def test_every_log_has_a_metric_of_held_out_problems(trained: Path):
    for seed in (0, 7):
        assert 0 <= read_metrics(trained, seed)[-1]["held_out"] <= 1


def test_what_is_no_training_is_explained(tmp_path: Path, command: Command):
    assert "there is no folder" in command("watch", str(tmp_path / "none")).err
    status, _, err = command("watch", str(tmp_path))
    assert status == 2
    assert "holds no training, reproduction or sweep" in err


def test_progress_is_told_at_once_and_an_estimate_soon(monkeypatch: pytest.MonkeyPatch):
    """Steps of four seconds each: the first line comes with the first step, an estimate with the second."""
    now = [100.0]
    monkeypatch.setattr("gridsum.api.progress.time.monotonic", lambda: now[0])
    written = io.StringIO()
    lines = Lines(written)
    for step in range(1, 60):
        now[0] += 4
        lines.tick("training step", step, 100)
    told = written.getvalue().splitlines()
    assert told[0] == "training step 1 of 100"
    assert told[1] == "training step 2 of 100  0:06:32 left"
    assert len(told) < 12


def test_ticks_leave_updates_alone(monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr("gridsum.api.progress.time.monotonic", lambda: now[0])
    written = io.StringIO()
    lines = Lines(written)
    for epoch in range(1, 31):
        for step in range(10):
            now[0] += 0.01
            lines.tick("training step", 10 * (epoch - 1) + step + 1, 300)
        lines.update("epoch", epoch, 30)
    assert [line.split("  ")[0] for line in written.getvalue().splitlines() if line.startswith("training")] == [
        "training step 1 of 300",
        "training step 2 of 300",
    ]
