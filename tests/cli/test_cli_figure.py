import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from PIL import Image

from gridsum.analysis.ring import digit_vectors
from gridsum.cli.figure import FIGURES
from gridsum.evaluation.records import read
from gridsum.model.store import WEIGHTS, load, locate, save_run, shipped_records

Command = Callable[..., tuple[int, str, str]]
BASE = Path(__file__).parents[2] / "results" / "base"


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in ("training", "learning", "ring", "film")])
def test_every_figure_of_the_shipped_model_is_drawn_without_options(name: str, command: Command, tmp_path: Path):
    path = tmp_path / f"{name}.png"
    status, out, err = command("figure", name, "--out", str(path))
    assert (status, out, err) == (0, "", f"gridsum: wrote {path}\n")
    with Image.open(path) as picture:
        assert min(picture.size) > 200


def _as_a_run(name: str, folder: Path) -> None:
    folder.mkdir(parents=True)
    shutil.copy(locate(name)[0], folder / WEIGHTS)


@pytest.fixture
def few_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """For rings, which else are of 64."""
    monkeypatch.setattr("gridsum.analysis.ring.digit_vectors", partial(digit_vectors, problems=24))


@pytest.mark.usefixtures("few_problems")
def test_rings_of_all_seeds_with_their_numbers(command: Command, tmp_path: Path):
    for seed, name in enumerate(("base", "ponderReg")):
        _as_a_run(name, tmp_path / "runs" / f"seed-{seed}")
    path = tmp_path / "rings.svg"
    status, out, err = command("figure", "ring", "--model", str(tmp_path / "runs"), "--out", str(path), "--data", "-")
    assert (status, err, path.exists()) == (0, f"gridsum: wrote {path}\n", True)
    rings = json.loads(out)
    assert [(found["seed"], found["roundness"]["adjacent"]) for found in rings] == [(4, 1.0), (2, 1.0)]


@pytest.mark.usefixtures("few_problems")
def test_a_seed_that_writes_no_digits_is_left_out_or_explained(command: Command, tmp_path: Path):
    """A network whose output layer reads PAD everywhere."""
    _as_a_run("base", tmp_path / "runs" / "seed-0")
    blank = load("base")
    with torch.no_grad():
        blank.network.output.bias[:, 0] = 1e6
    save_run(tmp_path / "runs" / "seed-1" / WEIGHTS, blank.network, 0, blank.config, 1)
    path = tmp_path / "rings.png"
    status, _, err = command("figure", "ring", "--model", str(tmp_path / "runs"), "--out", str(path))
    assert (status, path.exists()) == (0, True)
    assert "left out: seed 1 writes fewer than three digits" in err
    path.unlink()
    status, _, err = command("figure", "ring", "--model", str(tmp_path / "runs" / "seed-1"), "--out", str(path))
    assert (status, path.exists()) == (2, False)
    assert "train it longer" in err


def test_training_curves_of_several_folders(trained: Path, command: Command, tmp_path: Path):
    path = tmp_path / "training.svg"
    status, out, _ = command("figure", "training", "--runs", str(BASE), str(trained), "--out", str(path), "--data", "-")
    curves = json.loads(out)
    assert (status, path.exists()) == (0, True)
    assert [(curve["seeds"], len(curve["epochs"])) for curve in curves] == [(10, 510), (2, 1)]


def test_the_numbers_behind_a_figure_are_those_of_the_records(command: Command, tmp_path: Path):
    status, out, _ = command("figure", "terms", "--out", str(tmp_path / "t.svg"), "--data", "-")
    curve = next(curve for curve in json.loads(out) if curve["label"].startswith("base"))
    by_terms = {point["terms"]: point for point in curve["points"]}
    (record,) = (record for record in read([shipped_records("base")]) if record.suite == "10x5")
    assert (status, by_terms[10]["seq"]) == (0, pytest.approx(record.seq, abs=1e-6))
    assert by_terms[5]["char_interval"][0] < by_terms[5]["char"] < by_terms[5]["char_interval"][1]


def test_without_a_name_the_figures_are_listed(command: Command):
    status, out, err = command("figure")
    assert (status, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == list(FIGURES)


def test_without_matplotlib_the_command_says_what_to_install(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for name in [name for name in sys.modules if name.startswith("gridsum.figures")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, err = command("figure", "steps", "--out", str(tmp_path / "a.svg"))
    assert (status, out) == (2, "")
    assert "pip install '.[figures]'" in err
