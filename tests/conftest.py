"""Set up once for all tests: one thread, no waiting for a disk, and properties tried on the same examples each time."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from gridsum.model.inside import Trace
    from gridsum.model.store import Model


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        return  # this process only hands out the tests
    # Read when torch is loaded. On ARM its products would start threads of their own whatever torch is told later, and
    # a process forked beside them waits for threads that it does not have.
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    torch.set_num_threads(1)
    # No test cuts the power, and a process that is killed loses nothing that it has written.
    os.fsync = lambda fd: None  # noqa: ARG005
    if not torch.cuda.is_available():
        os.environ.setdefault("TRITON_INTERPRET", "1")  # Triton asks once, when it is imported
    try:
        from hypothesis import settings
    except ImportError:  # on a machine with a GPU there may be torch and pytest alone, which `pytest -m gpu` needs
        return
    settings.register_profile("gridsum", deadline=None, derandomize=True, database=None, max_examples=40)
    settings.load_profile("gridsum")


@pytest.fixture
def network_follows_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """`gridsum prove` need not ask the network of `exact` for every entry, which takes seconds: a test of it does."""
    from gridsum.automaton.rule import Agreement

    monkeypatch.setattr("gridsum.automaton.rule.agreement", lambda *_: Agreement(146_004, 0, 1.57))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which the test is."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def base() -> "Model":
    """The shipped network of the paper, not to be changed."""
    from gridsum.model.store import load

    return load("base")


@pytest.fixture(scope="session")
def traces(base: "Model") -> "list[Trace]":
    """Computations of the shipped network on grids of different shapes."""
    from tests.figures.conftest import traced

    return [traced(base, text)[1] for text in ("523+102+9416", "58+67")]


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """One browser for all tests of the page."""
    from tests.browser import launched

    yield from launched()
