"""Which of the trained runs are best, judged on problems that no table reports."""

from collections.abc import Sequence

from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import COLLECTIONS

DIGITS, TERMS = (suite.name for suite in COLLECTIONS["validation"])
"""The suites that extrapolation to more digits and to more terms is judged by."""
AIMS = {"digits": DIGITS, "terms": TERMS}


def merit(record: Record) -> tuple[float, float]:
    """Whole results decide; where runs have equally many right, above all none, characters do."""
    return record.seq, record.char


def choose(records: Sequence[Record]) -> dict[str, int]:
    """The seed of the best run for each aim; of equals, the smallest."""
    chosen = {}
    for aim, suite in AIMS.items():
        best = max(
            (record for record in records if record.suite == suite and record.seed is not None),
            key=lambda record: (*merit(record), -(record.seed or 0)),
        )
        assert best.seed is not None, "runs that were trained here have a seed"
        chosen[aim] = best.seed
    return chosen
