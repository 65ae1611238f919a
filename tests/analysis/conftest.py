"""The shipped model at work, computed once."""

import pytest

from gridsum.model.inside import Trace
from gridsum.model.store import Model, load
from gridsum.tasks import Addition
from tests.figures.conftest import traced

ADD = Addition()


@pytest.fixture(scope="session")
def base() -> Model:
    return load("base")


@pytest.fixture(scope="session")
def traces(base: Model) -> list[Trace]:
    """Computations on grids of different shapes."""
    return [traced(base, text)[1] for text in ("523+102+9416", "58+67")]
