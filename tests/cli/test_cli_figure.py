import sys
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from gridsum.analysis.ring import digit_vectors
from gridsum.cli.figure import FIGURES
from tests.cli.conftest import Command

RESULTS = Path(__file__).parents[2] / "results"
_MADE_OF = {"training": [str(RESULTS / "base"), str(RESULTS / "ponderReg")]}


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "film"])
def test_every_figure_is_drawn(name: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of the shipped model without options, or of our results; rings of fewer problems than the usual 64."""
    monkeypatch.setattr("gridsum.analysis.ring.digit_vectors", partial(digit_vectors, problems=24))
    path = tmp_path / f"{name}.png"
    given = ["--runs", *_MADE_OF[name]] if name in _MADE_OF else []
    assert command("figure", name, "--out", str(path), *given) == (0, "", f"gridsum: wrote {path}\n")
    with Image.open(path) as picture:
        assert min(picture.size) > 200
    if given:
        assert "--runs FOLDER" in command("figure", name, "--out", str(path))[2]


def test_without_matplotlib_the_command_says_what_to_install(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for name in [name for name in sys.modules if name.startswith("gridsum.figures")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(sys.modules["gridsum"], "figures", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, err = command("figure", "steps", "--out", str(tmp_path / "a.svg"))
    assert (status, out) == (2, "")
    assert "pip install '.[figures]'" in err
