"""The shipped model at work, computed once."""

import pytest

from gridsum.model.inside import Trace
from gridsum.model.store import Model
from tests.figures.conftest import traced


@pytest.fixture(scope="session")
def traces(base: Model) -> list[Trace]:
    """Computations on grids of different shapes."""
    return [traced(base, text)[1] for text in ("523+102+9416", "58+67")]
