"""How sure scores are, and how they stand against the paper's printed numbers."""

import random
import statistics

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from gridsum.evaluation.intervals import independent_trials, interval, means_against_paper, printed_range, wilson
from gridsum.evaluation.paper import Spread
from gridsum.evaluation.records import OnGrid, Record
from gridsum.evaluation.tables import accuracy_text
from tests.oracles.records import make_record

shares = st.integers(1, 10**7).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@settings(deadline=None)
@given(shares, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_wilson_is_scipys_and_contains_the_estimate(share: tuple[int, int], confidence: float) -> None:
    expected = binomtest(*share).proportion_ci(confidence, method="wilson")
    low, high = wilson(*share, confidence)
    assert (low, high) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-12)
    assert 0 <= low <= share[0] / share[1] <= high <= 1
    assert (low == 0) == (share[0] == 0)
    assert (high == 1) == (share[0] == share[1])


def of_problems(batches: list[list[tuple[int, int]]]) -> Record:
    """A record of problems, each with its right and valid characters, on one grid after the other."""
    kept = []
    for index, batch in enumerate(batches):
        counts = [(int(r == v), r, v, r**2, r * v, v**2) for r, v in batch]
        kept.append(OnGrid(3, 6 + index, len(batch), *map(sum, zip(*counts, strict=True))))
    names = {"samples": "problems", "sequences_right": "", "chars_right": "", "chars_valid": ""}
    totals = {name: sum(getattr(batch, of or name) for batch in kept) for name, of in names.items()}
    return make_record(batches=tuple(kept), **totals)


def drawn(chance: random.Random, shares: list[float]) -> list[list[tuple[int, int]]]:
    """40 problems on each grid; one that fails has hardly a character right."""
    return [
        [(valid if chance.random() < share else chance.randint(0, 2), valid) for valid in chance.choices((8, 9), k=40)]
        for share in shares
    ]


def test_the_interval_holds_what_it_says_where_grids_differ():
    """Problems are drawn again and again on grids that are good, bad and in between."""
    chance, shares = random.Random(0), [0.95, 0.9, 0.5, 0.1]
    records = [of_problems(drawn(chance, shares)) for _ in range(300)]
    for measure in ("char", "seq"):
        truth = statistics.fmean(getattr(record, measure) for record in records)
        ends = [interval(record, measure) for record in records]
        held = sum(low <= truth <= high for low, high in ends)
        assert 0.92 * len(records) <= held <= len(records)
    # Characters of a problem are right or wrong together, so they are worth fewer than they are.
    assert statistics.fmean(independent_trials(record, "char") for record in records) < 0.5 * 160 * 8.5
    naive = [wilson(record.chars_right, record.chars_valid) for record in records]
    truth = statistics.fmean(record.char for record in records)
    assert sum(low <= truth <= high for low, high in naive) < 0.75 * len(records)


def test_where_nothing_varies_problems_count():
    right = of_problems([[(9, 9)] * 40, [(8, 8)] * 40])
    assert interval(right, "char") == interval(right, "seq") == wilson(80, 80)
    split = of_problems([[(9, 9)] * 40, [(0, 9)] * 40])
    assert interval(split, "seq") == wilson(40, 80)


printed = st.integers(0, 100).map(lambda cents: cents / 100)


@given(st.integers(0, 1000))
def test_an_accuracy_lies_in_the_range_of_what_it_prints_as(right: int):
    accuracy = right / 1000
    low, high = printed_range(float(accuracy_text(accuracy)))
    assert low - 1e-9 <= accuracy <= high + 1e-9


@given(st.floats(0, 1), st.floats(0, 0.5), printed)
@example(1.0, 0.0, 1.0)
@example(0.02, 0.01, 0.03)
@example(0.0, 1e-81, 0.0)
@example(0.22, 0.0, 0.25)
@example(0.92, 0.2, 1.0)
def test_standings_follow_from_the_interval(ours: float, sd: float, value: float):
    """The margin is 0.05, and never more than half of the paper's number."""
    found = means_against_paper(Spread(ours, sd, 1.0), 10, Spread(value, sd, 1.0))
    assert found.difference == ours - value
    assert (found.low, found.high) == (ours, ours) if sd == 0 else found.low <= ours <= found.high
    least, most = printed_range(value)
    enough = least - min(0.05, value / 2)
    assert (found.standing == "above") == (found.low > most)
    assert (found.standing in ("above", "matched")) == (found.low >= enough)
    if found.standing == "below":
        assert found.high < least
    if found.standing == "inconclusive":
        assert found.low < enough <= least <= found.high
