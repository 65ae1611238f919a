"""Which of several runs is the best for any sum, judged on problems that no table reports."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import COLLECTIONS

_SUITES, _TIES = ({suite.name for suite in COLLECTIONS[name]} for name in ("validation", "validation-ties"))


def merit(records: Sequence[Record], seed: int) -> tuple[float, float, float, int]:
    """A run over all its validation problems: results right, then characters; of equals, the smallest seed.

    Runs with equally many right, above all those with no error, are told apart first by the suites for ties, where
    they have been measured on them.
    """
    own = [record for record in records if record.seed == seed]
    common = [record for record in own if record.suite in _SUITES]
    deciding = [record.seq for record in own if record.suite in _TIES]
    right, characters = fmean(record.seq for record in common), fmean(record.char for record in common)
    return right, fmean(deciding) if deciding else 0.0, characters, -seed


def best_seed(records: Iterable[Record]) -> int | None:
    """The best run by the validation's records among these; None where not every run has all of them."""
    found: dict[tuple[int, str], Record] = {}
    seeds: set[int] = set()
    for record in records:
        if record.seed is not None:
            seeds.add(record.seed)
            if record.suite in _SUITES | _TIES:
                found[record.seed, record.suite] = record
    if len(seeds) == 1:
        return seeds.pop()
    if not seeds or any((seed, suite) not in found for seed in seeds for suite in _SUITES):
        return None
    return max(seeds, key=lambda seed: merit(list(found.values()), seed))
