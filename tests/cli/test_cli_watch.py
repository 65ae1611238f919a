"""`gridsum watch`, and what a person sees while a training run goes on."""

from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Result

Command = Callable[..., Result]


def test_a_training_is_shown(trained: Path, command: Command):
    status, out, err = command("watch", str(trained))
    assert (status, err) == (0, "")
    assert f"base in {trained}" in out
    assert "1 of 1" in out
