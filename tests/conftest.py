"""Set up once for all tests: one thread, and property tests that try the same examples every time."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        return  # this process only hands out the tests
    import torch

    torch.set_num_threads(1)
    if not torch.cuda.is_available():
        os.environ.setdefault("TRITON_INTERPRET", "1")  # Triton asks once, when it is imported
    try:
        from hypothesis import settings
    except ImportError:  # on a machine with a GPU there may be torch and pytest alone, which `pytest -m gpu` needs
        return
    settings.register_profile("gridsum", deadline=None, derandomize=True, database=None, max_examples=40)
    settings.load_profile("gridsum")


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """One browser for all tests of the page."""
    from tests.browser import launched

    yield from launched()
