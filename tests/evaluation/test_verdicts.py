"""Ours against the paper's printed numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.evaluation.metrics import wilson
from gridsum.evaluation.paper import Spread
from gridsum.evaluation.tables import accuracy_text
from gridsum.evaluation.verdicts import against_paper, means_against_paper, printed_range

printed = st.integers(0, 100).map(lambda cents: cents / 100)


@given(st.integers(0, 1000))
def test_an_accuracy_lies_in_the_range_of_what_it_prints_as(right: int):
    accuracy = right / 1000
    low, high = printed_range(float(accuracy_text(accuracy)))
    assert low - 1e-9 <= accuracy <= high + 1e-9


@given(st.integers(0, 640), printed)
def test_standings_follow_from_the_interval(right: int, value: float):
    compared = against_paper(right, 640, value)
    low, high = wilson(right, 640)
    least, most = printed_range(value)
    assert compared.difference == pytest.approx(right / 640 - value)
    if compared.standing == "short":
        assert high < least
    elif compared.standing == "passed":
        assert low > most or right == 640
    else:
        assert high >= least
        assert low <= most


@pytest.mark.parametrize(
    ("right", "value", "standing"),
    [
        (640, 1.0, "reached"),
        (639, 1.0, "short"),
        (640, 0.99, "passed"),
        (636, 0.99, "reached"),
        (600, 0.99, "short"),
        (0, 0.0, "reached"),
        (30, 0.0, "passed"),
        (160, 0.25, "reached"),
        (90, 0.25, "short"),
        (250, 0.25, "passed"),
    ],
)
def test_standings(right: int, value: float, standing: str):
    assert against_paper(right, 640, value).standing == standing


def test_means_differ_where_the_interval_excludes_nothing():
    known = Spread(0.5, 0.1, 0.7)
    assert means_against_paper(Spread(0.9, 0.05, 1.0), 10, known).standing == "passed"
    assert means_against_paper(Spread(0.1, 0.05, 0.2), 10, known).standing == "short"
    assert means_against_paper(Spread(0.52, 0.1, 0.7), 10, known).standing == "reached"
