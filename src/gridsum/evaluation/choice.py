"""Which of several runs is the best for any sum, judged on problems that no table reports."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import COLLECTIONS

_SUITES = {suite.name for suite in COLLECTIONS["validation"]}


def merit(records: Sequence[Record], seed: int) -> tuple[float, float, int]:
    """A run over all its validation problems: results right, then characters; of equals, the smallest seed."""
    own = [record for record in records if record.seed == seed]
    return fmean(record.seq for record in own), fmean(record.char for record in own), -seed


def best_seed(records: Iterable[Record]) -> int | None:
    """The best run by the validation's records among these; None where not every run has all of them."""
    found: dict[tuple[int, str], Record] = {}
    seeds: set[int] = set()
    for record in records:
        if record.seed is not None:
            seeds.add(record.seed)
            if record.suite in _SUITES:
                found[record.seed, record.suite] = record
    if len(seeds) == 1:
        return seeds.pop()
    if not seeds or len(found) < len(seeds) * len(_SUITES):
        return None
    return max(seeds, key=lambda seed: merit(list(found.values()), seed))
