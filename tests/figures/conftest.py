"""Computations of the shipped model, and a look at what a figure says."""

from collections.abc import Callable

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from gridsum.data.answers import Answer, SolveOptions
from gridsum.evaluation.solving import solve
from gridsum.figures.animation import Frame, animation_frames
from gridsum.model.inside import Trace
from gridsum.model.store import Model
from tests.oracles.column_addition import ADD
from tests.oracles.traces import trace_expression


def traced(model: Model, expression: str) -> tuple[Answer, Trace]:
    terms = ADD.parse(expression)
    (answer,) = solve(model, [terms], SolveOptions("median"))
    return answer, trace_expression(model, terms, answer.steps)


@pytest.fixture(scope="session")
def right(base: Model) -> tuple[Answer, Trace]:
    """A sum that the shipped model gets right."""
    return traced(base, "523+102+9416")


@pytest.fixture(scope="session")
def brief(base: Model) -> tuple[Answer, Trace]:
    """A short sum, for films: each of its frames is a picture."""
    return traced(base, "8+7")


@pytest.fixture(scope="session")
def frames(brief: tuple[Answer, Trace]) -> list[Frame]:
    """The film of that sum."""
    answer, trace = brief
    return list(animation_frames(trace, answer))


@pytest.fixture
def texts() -> Callable[[Figure], list[str]]:
    """All that is written in a figure."""

    def of(figure: Figure) -> list[str]:
        found = (artist.get_text() for artist in figure.findobj() if isinstance(artist, Text))
        return [text for text in found if text]

    return of
