"""Which of the trained runs are best, judged on problems that no table reports."""

from collections.abc import Iterable, Sequence
from itertools import product
from statistics import fmean
from typing import Any

from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import COLLECTIONS

DIGITS, TERMS = (suite.name for suite in COLLECTIONS["validation"])
"""The suites that extrapolation to more digits and to more terms is judged by."""
AIMS = {"digits": DIGITS, "terms": TERMS}


def choose(records: Sequence[Record], seeds: Iterable[int]) -> dict[str, int]:
    """The seed of the best run for each aim; empty where not all of these runs have been validated on both."""
    if not {(record.seed, record.suite) for record in records} >= {*product(seeds, AIMS.values())}:
        return {}
    return {aim: best([record for record in records if record.suite == suite]) for aim, suite in AIMS.items()}


def best(records: Sequence[Record]) -> int:
    """The seed of the run with most whole results right over these records; where runs have equally many, above all
    none, characters decide; of equals, the smallest seed."""
    by_seed: dict[int, list[Record]] = {}
    for record in records:
        assert record.seed is not None, "runs that were trained here have a seed"
        by_seed.setdefault(record.seed, []).append(record)
    return max(sorted(by_seed), key=lambda n: (fmean(r.seq for r in by_seed[n]), fmean(r.char for r in by_seed[n])))


def proved_seed(outcomes: Sequence[dict[str, Any]]) -> int | None:
    """Of the runs of `exact` that are proved after the fewest rounds, the one whose nearest logit is farthest from 0;
    of equals, the smallest seed."""
    proved = [outcome for outcome in outcomes if outcome["proved"]]
    chosen = min(proved, key=lambda outcome: (outcome["round"], -outcome["margin"], outcome["seed"]), default=None)
    return None if chosen is None else chosen["seed"]
