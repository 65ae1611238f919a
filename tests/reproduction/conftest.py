"""A whole campaign, small but real, made once through the command line."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from gridsum.cli import main
from gridsum.reproduction.campaign import QUICK, Campaign
from gridsum.reproduction.pieces import Surroundings
from gridsum.variants import PAPER_VARIANTS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `gridsum reproduce --quick` with one reading; not to be changed."""
    folder = tmp_path_factory.mktemp("campaign") / "quick"
    assert main(["reproduce", "--quick", "--out", str(folder), "--ablations", "running", "--device", "cpu"]) == 0
    return folder


@pytest.fixture
def copied(quick: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(quick, tmp_path / "copied"))


@pytest.fixture
def campaign() -> Callable[..., Campaign]:
    def make(
        folder: Path, variants: tuple[str, ...] = tuple(PAPER_VARIANTS), ablations: tuple[str, ...] = ()
    ) -> Campaign:
        return Campaign(folder, variants, ablations, (0, 1), "fp32", QUICK)

    return make


@pytest.fixture
def around() -> Surroundings:
    """Surroundings that listen to nothing."""
    return Surroundings(torch.device("cpu"), lambda *_: None, lambda *_: None, lambda _: None)
