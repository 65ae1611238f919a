"""`gridsum watch`, and what a person sees while a training run goes on."""

import json
from collections.abc import Callable
from pathlib import Path

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
