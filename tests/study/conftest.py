"""A whole reproduction, small but real, made once through the command line."""

import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from gridsum.cli import main
from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.records import Record, append, read
from gridsum.study.jobs import Job
from gridsum.study.report import pages
from gridsum.study.reproduction import Reproduction
from gridsum.study.results import load_results
from tests.cli.conftest import command
from tests.faults.trainings import CPU

__all__ = ["CPU", "command"]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `gridsum reproduce --quick`, made once for all processes of the tests; not to be changed."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, done = shared / "quick", shared / "quick.done"
    with FileLock(shared / "quick.lock"):
        if not done.exists():
            assert main(["reproduce", "--quick", "--out", str(folder), "--device", "cpu"]) == 0
            done.touch()
    return folder


@pytest.fixture
def copied(quick: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(quick, tmp_path / "copied"))


def quick_jobs(*variants: str) -> dict[tuple[str, str], Job]:
    """The jobs of `reproduce --quick`, by stage and subject."""
    asked = Reproduction(variants or tuple(PAPER_VARIANTS), (0, 1), quick=True)
    return {(job.stage, job.training.subject): job for job in asked.jobs()}


def rewrite_records(path: Path, change: Callable[[Record], dict[str, int]]) -> None:
    """The records of a file with counts replaced; those of single grids are not kept then."""
    records = read([path])
    path.unlink()
    append(path, [dataclasses.replace(record, batches=None, **change(record)) for record in records])


def of_any_commit(path: Path) -> list[Record]:
    return [dataclasses.replace(record, commit=None) for record in read([path])]


def written_pages(folder: Path) -> tuple[str, str]:
    """The page and its appendix."""
    page, appendix = pages(load_results(folder), folder / "results.md").values()
    return page, appendix


def table_lines(page: str, title: str) -> list[list[str]]:
    """The cells of a table."""
    part = page.split(f"**{title}**")[1].split("\n\n")[1]
    return [[cell.strip().replace("\\", "") for cell in line.strip("|").split("|")] for line in part.splitlines()[2:]]
