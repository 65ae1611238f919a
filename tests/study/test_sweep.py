"""Sweeps: which configurations, and what is listed of them."""

from pathlib import Path

import pytest

from gridsum.cli import main
from gridsum.config.paper import Config, ConfigError
from gridsum.study.sweep import parse_axis, sweep_jobs
from tests.faults.nodes import TINY
from tests.oracles.sizes import TINY_EXACT, as_options


def test_values_are_read_and_a_training_run_is_called_by_what_is_changed():
    axes = dict(parse_axis(Config(), text) for text in ("model.heads=8,64", "task.terms=1,4;1,6"))
    assert axes == {"model.heads": ["8", "64"], "task.terms": ["1,4", "1,6"]}
    names = [job.training.name for job in sweep_jobs(Config(), axes)]
    assert names == ["0-heads=8,terms=1,4", "1-heads=8,terms=1,6", "2-heads=64,terms=1,4", "3-heads=64,terms=1,6"]
    for text, message in (
        ("model.heads", "has no values"),
        ("model.haeds=8", "did you mean 'model.heads'"),
        ("model.heads=7", "does not divide"),
    ):
        with pytest.raises(ConfigError, match=message):
            sweep_jobs(Config(), dict([parse_axis(Config(), text)]))


def test_a_sweep_is_done_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["--out", str(tmp_path / "s"), "--seeds", "0-1", "--grid", "training.learning_rate=1e-3,3e-4"]
    options = [*TINY, "--training.epochs", "1", "--device", "cpu"]
    assert main(["sweep", *arguments, *options]) == 0
    shown = capsys.readouterr().out
    for name in ("0-learning_rate=1e-3", "1-learning_rate=3e-4"):
        (line,) = [line.split() for line in shown.splitlines() if name in line]
        assert line[:4] + line[-1:] == [name, "1", "of", "1", "done"]
    assert main(["watch", str(tmp_path / "s")]) == 0
    assert capsys.readouterr().out == shown


def test_a_sweep_of_exact_tells_what_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    consolidated = {f"consolidation.{name}": count for name, count in (("rounds", 1), ("problems", 10), ("steps", 1))}
    command = ["sweep", "--variant", "exact", "--out", str(tmp_path), "--grid", "rule.bits=2,3", "--device", "cpu"]
    assert main([*command, *as_options(TINY_EXACT | consolidated)]) == 0
    shown = capsys.readouterr().out
    assert [line.endswith("done, 0 of 1 proved") for line in shown.splitlines() if "bits=" in line] == [True] * 2
