"""The rule by which the paper's orderings of its variants are decided.

It stands here before the runs that decide them are trained, and is applied once.

- **Claims**: those of `gridsum.evaluation.orderings.CLAIMS`, which are the paper's sentences on its Table VI.
- **Runs**: seeds 0 to 19 of all five variants after the standard training. Every run counts, also one that diverged.
  `gridsum reproduce --blocks 0-1` trains them.
- **Measure**: the claim's suites and accuracy, on every grid size equally, with soft placement and sampled halting.
- **Test**: Mann–Whitney's, exact and two-sided, for every comparison that a claim is made of. A claim is confirmed if
  the largest p of its comparisons, all in its direction, is below 0.05 after Holm's correction for the number of
  claims. It is refuted if one of its comparisons is significant the other way, after Holm's correction for all of them.
  Otherwise it stays undecided. It is not tested before all runs are there, and not again with others: the records that
  decide are kept in records/orderings.jsonl.
"""

from collections.abc import Collection, Iterable

from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.orderings import CLAIMS
from gridsum.evaluation.records import Record

SEEDS = range(20)
WAY = ("every", "soft")
"""The grids and the placement."""
_SUITES = {suite for claim in CLAIMS for suite in claim.suites}


def counting(records: Iterable[Record]) -> list[Record]:
    """The records that the rule is about."""
    return [r for r in records if r.way == WAY and r.seed in SEEDS and r.suite in _SUITES]


def decidable(records: Collection[Record]) -> bool:
    """Whether every run of every variant has been measured."""
    found = {(record.variant, record.suite, record.seed) for record in records}
    return all((name, suite, seed) in found for name in PAPER_VARIANTS for suite in _SUITES for seed in SEEDS)
