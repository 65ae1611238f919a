"""Tests over seeds, against scipy and against their definitions."""

import itertools
import math
from random import Random

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.intervals import CONFIDENCE, PAPER_SEEDS, means_against_paper
from gridsum.evaluation.orderings import (
    CLAIMS,
    LEVEL,
    Claim,
    Finding,
    Judgement,
    Pair,
    Verdict,
    findings,
    holm,
    judgements,
    pairs_of,
    rank_test,
)
from gridsum.evaluation.paper import Spread
from gridsum.evaluation.records import Record
from gridsum.evaluation.tables import spread
from tests.oracles.records import make_record

small = st.integers(0, 4).map(float)
different = st.lists(st.floats(-5, 5, width=32), min_size=2, max_size=14, unique=True)


@given(different, st.data())
def test_without_ties_it_is_the_exact_test_of_mann_and_whitney(values: list[float], data: st.DataObject):
    cut = data.draw(st.integers(1, len(values) - 1))
    first, second = values[:cut], values[cut:]
    expected = scipy.stats.mannwhitneyu(first, second, method="exact")
    p, effect = rank_test(first, second)
    assert p == pytest.approx(expected.pvalue)
    assert effect == pytest.approx(2 * expected.statistic / (len(first) * len(second)) - 1)


@given(st.lists(small, min_size=1, max_size=4), st.lists(small, min_size=1, max_size=4))
def test_with_ties_it_counts_every_division(first: list[float], second: list[float]):
    pooled = first + second
    ranks = scipy.stats.rankdata(pooled)
    centre = len(first) * (len(pooled) + 1) / 2
    seen = abs(sum(ranks[: len(first)]) - centre)
    divisions = list(itertools.combinations(range(len(pooled)), len(first)))
    extreme = sum(abs(sum(ranks[i] for i in chosen) - centre) >= seen - 1e-9 for chosen in divisions)
    assert rank_test(first, second)[0] == pytest.approx(extreme / len(divisions))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_follows_its_definition(p_values: list[float]):
    corrected = holm(p_values)
    order = sorted(p_values)
    for p, found in zip(p_values, corrected, strict=True):
        steps = [(len(order) - i) * q for i, q in enumerate(order) if q <= p]
        assert found == pytest.approx(min(1.0, max(steps)))


def test_the_interval_of_a_mean_is_welchs():
    ours, theirs = [0.7, 0.2, 0.5, 0.9, 0.6], [0.1 * n for n in range(PAPER_SEEDS)]
    expected = scipy.stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(CONFIDENCE)
    known = spread(theirs)
    found = means_against_paper(spread(ours), len(ours), known)
    assert (found.low - known.mean, found.high - known.mean) == pytest.approx((expected.low, expected.high))
    same = means_against_paper(Spread(0.5, 0.0, 0.5), 5, Spread(0.5, 0.0, 0.5))
    assert (same.standing, same.low, same.high) == ("matched", 0.5, 0.5)


def of_variants(accuracies: dict[str, float]) -> list[Record]:
    """Ten seeds a variant on every claimed suite, all near the accuracy given."""
    suites = dict.fromkeys(suite for claim in CLAIMS for suite in claim.suites)
    return [
        make_record(
            model=name,
            variant=name,
            seed=seed,
            suite=suite,
            samples=1000,
            sequences_right=round(1000 * accuracy) + seed,
            chars_right=round(9000 * accuracy) + seed,
        )
        for name, accuracy in accuracies.items()
        for suite in suites
        for seed in range(10)
    ]


def test_claims_are_judged_by_all_their_comparisons():
    digits, terms, worst = CLAIMS
    found = findings(of_variants({"base": 0.5, "ponderReg": 0.5, "SASA": 0.4, "noGroups": 0.6, "fixedTime": 0.1}))
    judged = {claim: judgement.verdict for claim, judgement in judgements(found).items()}
    assert judged == {digits: "confirmed", terms: "refuted", worst: "confirmed"}  # noGroups is above base
    equal = findings(of_variants(dict.fromkeys(PAPER_VARIANTS, 0.5)))
    assert {finding.verdict for finding in equal.values()} == {"undecided"}
    assert judgements(equal)[digits] == (1.0, 1.0, "undecided")


def _found(p: float, effect: float) -> Finding:
    """A comparison that needs no correction."""
    verdict: Verdict = "undecided" if p >= LEVEL else "confirmed" if effect > 0 else "refuted"
    return Finding((10, 10), (0.0, 0.0), effect, p, p, verdict)


def test_a_claim_is_as_sure_as_the_least_sure_of_its_comparisons():
    claim = Claim("a is best", ("a",), ("b", "c"), ("2x15",), "seq")
    other = Claim("b is above c", ("b",), ("c",), ("2x15",), "seq")
    pairs = [*pairs_of(claim), *pairs_of(other)]

    def judged(*tests: tuple[float, float]) -> Judgement:
        found = {pair: _found(p, effect) for pair, (p, effect) in zip(pairs, tests, strict=True)}
        return judgements(found, (claim, other))[claim]

    assert judged((0.001, 0.9), (0.02, 0.6), (0.5, 0.1)) == (0.02, 0.04, "confirmed")
    assert judged((0.001, 0.9), (0.03, 0.6), (0.5, 0.1)) == (0.03, 0.06, "undecided"), "corrected for two claims"
    assert judged((0.001, 0.9), (0.03, 0.6), (0.01, 0.7)) == (0.03, 0.03, "confirmed"), "by Holm's method"
    assert judged((0.001, 0.9), (0.2, -0.6), (0.5, 0.1)) == (1.0, 1.0, "undecided"), "the other way round"
    assert judged((0.001, 0.9), (0.001, -0.9), (0.5, 0.1)) == (1.0, 1.0, "refuted")


def test_confirming_a_claim_that_is_false_in_one_comparison_errs_no_more_often_than_the_level():
    """Simulated: `a` is far above `b` but equal to `c`, so that the claim is false in the way most easily missed."""
    claim = Claim("a is best", ("a",), ("b", "c"), ("2x15",), "seq")
    random = Random(0)
    confirmed, trials = 0, 400
    for _ in range(trials):
        values = {"a": 5.0, "b": 0.0, "c": 5.0}
        drawn = {name: [random.gauss(mean, 1) for _ in range(8)] for name, mean in values.items()}
        tests = {pair: rank_test(drawn[pair.better], drawn[pair.worse]) for pair in pairs_of(claim)}
        found = {pair: _found(*test) for pair, test in tests.items()}
        confirmed += judgements(found, [claim])[claim].verdict == "confirmed"
    assert 0 < confirmed <= trials * LEVEL


def test_of_several_records_of_a_seed_the_last_counts():
    """And a comparison is corrected once, though two claims share it."""
    records = [*of_variants(dict.fromkeys(PAPER_VARIANTS, 0.1)), *of_variants({"base": 0.2})]
    found = findings(records)
    finding = found[Pair("base", "fixedTime", "[5,6]x[1,10]", "seq")]
    assert (finding.seeds, finding.means) == ((10, 10), pytest.approx((0.2045, 0.1045)))
    assert finding.p == pytest.approx(2 / math.comb(20, 10))
    assert finding.corrected == pytest.approx(finding.p * len({pair for claim in CLAIMS for pair in pairs_of(claim)}))
    assert judgements(findings([])) == {}
