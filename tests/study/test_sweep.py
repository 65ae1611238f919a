"""Sweeps: which configurations, and what is listed of them."""

from pathlib import Path

import pytest

from gridsum.cli import main
from gridsum.config.paper import Config, ConfigError
from gridsum.study.sweep import configurations, grid, parse_axis
from tests.faults.nodes import TINY
from tests.faults.trainings import PAPER
from tests.oracles.sizes import TINY_EXACT, as_options


def test_every_combination_of_the_values_that_are_read():
    assert grid({"a": [1, 2], "b": ["x"]}) == [{"a": 1, "b": "x"}, {"a": 2, "b": "x"}]
    assert parse_axis(Config(), "model.heads=8,64") == ("model.heads", ["8", "64"])
    assert parse_axis(Config(), "task.terms=1,4;1,6") == ("task.terms", ["1,4", "1,6"])
    for text, message in (
        ("model.heads", "has no values"),
        ("model.haeds=8", "did you mean 'model.heads'"),
        ("model.heads=7", "does not divide"),
    ):
        with pytest.raises(ConfigError, match=message):
            parse_axis(Config(), text)


def test_a_configuration_is_called_by_what_is_changed():
    configs = configurations(PAPER, [{"training.learning_rate": 1e-3}, {"training.learning_rate": 2e-3}])
    assert list(configs) == ["0-learning_rate=0.001", "1-learning_rate=0.002"]
    with pytest.raises(match="1 to 10,000"):
        configurations(PAPER, [])


def test_a_sweep_is_done_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["--out", str(tmp_path / "s"), "--seeds", "0-1", "--grid", "training.learning_rate=1e-3,3e-4"]
    options = [*TINY, "--training.epochs", "1", "--device", "cpu", "--measure", "2x15", "--samples", "2"]
    assert main(["sweep", *arguments, *options]) == 0
    shown = capsys.readouterr().out
    for name in ("0-learning_rate=1e-3", "1-learning_rate=3e-4"):
        (line,) = [line.split() for line in shown.splitlines() if name in line]
        assert line[:4] + line[-1:] == [name, "1", "of", "1", "done"]
    assert len((tmp_path / "s" / "records" / "0-learning_rate=1e-3.jsonl").read_text().splitlines()) == 2
    assert main(["watch", str(tmp_path / "s")]) == 0
    assert capsys.readouterr().out == shown


def test_a_sweep_of_exact_tells_what_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    consolidated = {f"consolidation.{name}": count for name, count in (("rounds", 1), ("problems", 10), ("steps", 1))}
    command = ["sweep", "--variant", "exact", "--out", str(tmp_path), "--grid", "rule.bits=2,3", "--device", "cpu"]
    assert main([*command, *as_options(TINY_EXACT | consolidated)]) == 0
    shown = capsys.readouterr().out
    assert [line.endswith("done, 0 of 1 proved") for line in shown.splitlines() if "bits=" in line] == [True] * 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: --grid"),
        (["--variant", "exact", "--grid", "rule.bits=2", "--measure", "2x15"], "leave out --measure"),
        (["--grid", "model.heads=8", "--on", "processes:0"], "write processes:4 for four"),
        (
            ["--grid", "model.heads=8", "--on", "process:4x"],
            "unknown workers 'process:4x'; there are processes:4,",
        ),
    ],
)
def test_mistakes_are_explained(arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["sweep", "--out", str(tmp_path / "s"), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "s").exists()
