"""Which of several runs is the best."""

import pytest

from gridsum.evaluation.choice import best_seed
from gridsum.evaluation.suites import COLLECTIONS

DIGITS, TERMS = (suite.name for suite in COLLECTIONS["validation"])
(TIE,) = (suite.name for suite in COLLECTIONS["validation-ties"])


@pytest.fixture
def scored(make_record):
    """Records of runs that have so many of 640 sums of a suite right."""
    return lambda suite, *right: [
        make_record(suite=suite, seed=seed, sequences_right=count)
        for seed, count in enumerate(right)
        if count is not None
    ]


def test_whole_results_decide_over_both_suites(scored):
    assert best_seed([*scored(DIGITS, 640, 600, 500), *scored(TERMS, 300, 400, 400)]) == 1


def test_of_equals_the_smallest_seed_is_taken(scored):
    assert best_seed([*scored(DIGITS, 600, 640, 640), *scored(TERMS, 640, 640, 640)]) == 1


def test_runs_that_are_equal_are_told_apart_by_the_suite_for_ties(scored):
    records = [*scored(DIGITS, 600, 640, 640, 640), *scored(TERMS, 640, 640, 640, 640)]
    assert best_seed([*records, *scored(TIE, 640, 610, 630, 620)]) == 2, "a worse run is not saved by it"


def test_a_later_record_of_more_problems_counts(scored):
    records = [*scored(DIGITS, 640, 640), *scored(TERMS, 640, 640)]
    assert best_seed([*records, *scored(TERMS, 639, None)]) == 1


def test_nobody_is_chosen_while_validation_is_not_whole(scored):
    assert best_seed([*scored(DIGITS, 640, 640), *scored(TERMS, 640, None)]) is None
    assert best_seed([*scored(DIGITS, 640, 640), *scored(TIE, 640, 640)]) is None
