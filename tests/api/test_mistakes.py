"""What goes wrong in Python is answered as well as on the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import gridsum
from gridsum.api.asking import ModelError
from gridsum.config.paper import ConfigError
from gridsum.evaluation.suites import SuiteError
from gridsum.training.folders import FolderError

TINY = {"training.epochs": 1, "training.steps_per_epoch": 1, "training.batch": 4}


@pytest.mark.parametrize(
    ("seeds", "said"),
    [(-1, "'-1' does not name seeds"), (1.5, "'1.5' does not name seeds"), ([True], "'True' does not name seeds"),
     ([3, 3], "seed 3 is named twice"), ([], "does not name seeds")],
)  # fmt: skip
def test_seeds(seeds: Any, said: str, tmp_path: Path):
    with pytest.raises(ConfigError, match=said):
        gridsum.train("base", seeds, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_taken(tmp_path: Path):
    assert len(gridsum.train("fixedTime", range(2), tmp_path / "a", TINY, quiet=True)) == 2
    with pytest.raises(FolderError, match=r"in Python resume=True"):
        gridsum.train("fixedTime", range(2), tmp_path / "a", TINY, quiet=True)


def test_variants(tmp_path: Path):
    with pytest.raises(ModelError, match=r"did you mean 'exact'\? There are exact, base, "):
        gridsum.train("exat", out=tmp_path / "a")
    with pytest.raises(ModelError, match="base has no setting 'small'"):
        gridsum.train("base", out=tmp_path / "a", setting="small")


def test_samples():
    with pytest.raises(SuiteError, match="write a whole number"):
        gridsum.evaluate("exact", "2x2", samples="4")  # type: ignore[arg-type]


@pytest.mark.parametrize("model", ["exact", "fixedTime"])
@pytest.mark.parametrize("place", [(1, 0), 3, (1, 0, "a")])
def test_places_of_patches(model: str, place: Any):
    with pytest.raises(ModelError, match=r"write \(n, row, column\): state"):
        gridsum.load(model).trace("58+67", patch={place: 1})


def test_a_patch_after_the_end():
    with pytest.raises(ModelError, match="comes too late: the network halts after 12 steps"):
        gridsum.load("fixedTime").trace("58+67", patch={(13, 0, 0): torch.zeros(64)})


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: gridsum.load(None), "None names no model; write 'exact', "),  # type: ignore[arg-type]
        (lambda: gridsum.load(""), "'' names no model"),
        (lambda: gridsum.solve(b"5+3"), "b'5[+]3' is no text"),  # type: ignore[arg-type]
        (lambda: gridsum.solve("5+3", "base", seed="x"), "'x' is no seed"),  # type: ignore[arg-type]
        (lambda: gridsum.trace("5+3").plot(None), "no plot None; use steps"),  # type: ignore[arg-type]
        (lambda: gridsum.trace("5+3", patch=5), "5 is no patch; write {"),  # type: ignore[arg-type]
        (lambda: gridsum.trace("5+3", patch={(1, 0, 0): "x"}), "'x' is no code"),
        (lambda: gridsum.trace("5+3", "base", patch={(1, 0, 0): None}), "does not fit a grid"),
        (lambda: gridsum.evaluate([], "2x2"), "there is nothing to measure"),
        (lambda: gridsum.evaluate("exact", 5), "5 names no suite"),  # type: ignore[arg-type]
        (lambda: gridsum.train(out="a", settings=5), "write them as {'training.epochs': 3}"),  # type: ignore[arg-type]
    ],
)
def test_wrong_types_are_answered_with_the_mend(ask: Callable[[], Any], said: str):
    with pytest.raises(ValueError, match=said):
        ask()


def test_one_part_is_named_without_a_list():
    assert list(gridsum.load("base").run_with_cache("5+3", "step")[1]) == ["step"]


def test_a_function_that_fails_is_told_of():
    def fails(problem: str) -> str:
        raise RuntimeError(problem)

    with pytest.warns(UserWarning, match="fails gave no answer to 4 of 4 problems of 2x2; the first: .* RuntimeError"):
        scores = gridsum.evaluate(fails, "2x2", samples=4)
    assert scores[0].seq == 0


def test_numbers_are_read_in_their_base():
    answer = gridsum.Answer("ff+1=", "100", "100", 4, "fixed-point", "hard", False, base=16)
    assert int(answer) == 256
    assert f"{answer:>5}" == "  100"
