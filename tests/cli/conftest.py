"""A tiny trained model, made once through the real command line, and ways to call it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gridsum.cli import main
from tests.oracles.sizes import TINY, as_options

SOURCE = Path(__file__).parents[2] / "src"


class Result(NamedTuple):
    status: int
    out: str
    err: str


Command = Callable[..., Result]
TINY_OPTIONS = ["--device", "cpu", *as_options(TINY)]


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    disturbing = ("FORCE_COLOR", "COLUMNS", "PYTHONUNBUFFERED")
    clean = {key: value for key, value in os.environ.items() if key not in disturbing}
    return clean | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training folder with seeds 0 and 7."""
    folder = tmp_path_factory.mktemp("trained") / "tiny"
    assert main(["train", "--out", str(folder), "--seeds", "0,7", *TINY_OPTIONS]) == 0
    return folder


@pytest.fixture(scope="session")
def model(trained: Path) -> str:
    """The name of a model of one run."""
    return str(trained / "seed-0")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`gridsum ...` within this process, which spares loading torch again."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(*arguments: str) -> Result:
        capsys.readouterr()
        status = main(list(arguments))
        printed = capsys.readouterr()
        return Result(status, printed.out, printed.err)

    return run
