"""Ours against the paper's printed numbers."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.evaluation.intervals import CONFIDENCE, against_paper, margin, means_against_paper, printed_range, wilson
from gridsum.evaluation.paper import Spread
from gridsum.evaluation.records import Record
from gridsum.evaluation.tables import accuracy_text

Make = Callable[..., Record]
printed = st.integers(0, 100).map(lambda cents: cents / 100)


@given(st.integers(0, 1000))
def test_an_accuracy_lies_in_the_range_of_what_it_prints_as(right: int):
    accuracy = right / 1000
    low, high = printed_range(float(accuracy_text(accuracy)))
    assert low - 1e-9 <= accuracy <= high + 1e-9


def record_of(make_record: Make, right: int) -> Record:
    return make_record(sequences_right=right, samples=640)


@given(st.integers(0, 640), printed)
def test_standings_follow_from_the_interval(make_record: Make, right: int, value: float):
    compared = against_paper(record_of(make_record, right), "seq", value)
    assert (compared.low, compared.high) == wilson(right, 640, CONFIDENCE)
    assert compared.difference == pytest.approx(right / 640 - value)
    least, most = printed_range(value)
    assert (compared.standing == "passed") == (compared.low > most)
    assert (compared.standing in ("passed", "reached")) == (compared.low >= least - margin(value))
    if compared.standing == "short":
        assert compared.high < least
    if compared.standing == "open":
        assert compared.low < least - margin(value) <= least <= compared.high


@pytest.mark.parametrize(
    ("right", "value", "standing"),
    [
        (640, 1.0, "reached"),
        (639, 1.0, "reached"),
        (590, 1.0, "short"),
        (640, 0.99, "reached"),
        (636, 0.99, "reached"),
        (600, 0.99, "short"),
        (0, 0.0, "reached"),
        (30, 0.0, "passed"),
        (160, 0.25, "reached"),
        (141, 0.25, "open"),
        (8, 0.03, "short"),
        (12, 0.03, "reached"),
        (90, 0.25, "short"),
        (250, 0.25, "passed"),
    ],
)
def test_standings(make_record: Make, right: int, value: float, standing: str):
    assert against_paper(record_of(make_record, right), "seq", value).standing == standing


@pytest.mark.parametrize(
    ("ours", "sd", "standing"),
    [(0.9, 0.05, "passed"), (0.52, 0.1, "reached"), (0.44, 0.1, "open"), (0.45, 0.3, "open"), (0.2, 0.1, "short")],
)
def test_a_mean_is_reached_if_it_is_shown_to_lie_within_the_papers_spread(ours: float, sd: float, standing: str):
    assert means_against_paper(Spread(ours, sd, 1.0), 10, Spread(0.5, 0.1, 0.7)).standing == standing


def test_the_margin_is_never_more_than_half_the_number():
    assert (margin(0.9), margin(0.06), margin(0.0)) == (0.05, 0.03, 0.0)
    assert (margin(0.7, 0.39), margin(0.7, 0.2), margin(0.7, 0.01)) == (0.35, 0.2, 0.05)


def test_one_seed_shows_nothing():
    assert means_against_paper(Spread(0.5, 0.0, 0.5), 1, Spread(0.5, 0.1, 0.7)).standing == "open"
