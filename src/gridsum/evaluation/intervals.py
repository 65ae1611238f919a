"""How sure a score is, and how it stands against a number that the paper prints.

Problems come in batches that share a grid, and characters in problems that share a fate. The grids are given, so they
add no chance; problems do. A score's variance is that of a ratio of sums over problems, taken within each grid. It says
how many independent trials the score is worth, and Wilson's interval is made of these.

Reached is shown, not presumed: the whole interval of ours lies above the paper's number, as printed, less a margin.
That two numbers do not differ significantly shows nothing, since a wide interval never does.
"""

import math
from statistics import NormalDist
from typing import Literal, NamedTuple, get_args

from gridsum.evaluation.paper import Spread
from gridsum.evaluation.records import Record

Measure = Literal["char", "seq"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
Standing = Literal["above", "matched", "inconclusive", "below"]
STANDINGS: dict[Standing, str] = {
    "above": "our whole interval exceeds the paper's number",
    "matched": "it exceeds the paper's number minus the margin",
    "inconclusive": "it reaches from below that line to the paper's number or beyond",
    "below": "it begins below that line and ends below the paper's number",
}
MARGIN = 0.05
PAPER_SEEDS = 10
CONFIDENCE = 0.90
"""Of the two-sided intervals, so that each of their ends errs in 5 cases of 100."""


def wilson(right: float, total: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion, also of fractions of trials; of nothing it is [0, 1]."""
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = right / total
    spread = z**2 / total
    centre = (share + spread / 2) / (1 + spread)
    reach = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    # Exact at the ends, where rounding could otherwise leave the estimate just outside its interval.
    low = 0.0 if right == 0 else min(centre - reach, share)
    high = 1.0 if right == total else max(centre + reach, share)
    return low, high


def interval(record: Record, measure: Measure) -> tuple[float, float]:
    """Of a record that does not keep its grids, characters and problems count as independent."""
    if not record.batches:
        pairs = {"char": (record.chars_right, record.chars_valid), "seq": (record.sequences_right, record.samples)}
        return wilson(*pairs[measure])
    trials = independent_trials(record, measure)
    return wilson(getattr(record, measure) * trials, trials)


def independent_trials(record: Record, measure: Measure) -> float:
    """How many independent trials a score is worth: never more than it has, and problems where nothing varies. Its
    variance is that of a ratio of sums (linearised): right − share · valid varies within a grid."""
    share, squares, size = getattr(record, measure), 0.0, 0
    for batch in record.batches or ():
        count, right, valid = batch.problems, batch.chars_right, batch.chars_valid
        right_right, right_valid, valid_valid = batch.right_right, batch.right_valid, batch.valid_valid
        if measure == "seq":  # a whole result is a problem's one character
            right = right_right = right_valid = batch.sequences_right
            valid = valid_valid = count
        size += valid
        if count > 1:
            of_squares = right_right - 2 * share * right_valid + share**2 * valid_valid
            squares += (of_squares - (right - share * valid) ** 2 / count) * count / (count - 1)
    return record.samples if squares <= 0 else min(size, share * (1 - share) * size**2 / squares)


class Comparison(NamedTuple):
    standing: Standing
    difference: float
    """Ours minus the paper's."""
    low: float
    high: float
    """The interval of ours."""


def means_against_paper(ours: Spread, seeds: int, known: Spread) -> Comparison:
    """A mean over seeds against the paper's; the interval has the sampling error of both in it (Welch's)."""
    from scipy.special import stdtrit  # only tables that compare with the paper need scipy

    variance, reach = ours.sd**2 / seeds + known.sd**2 / PAPER_SEEDS, 0.0
    if variance > 1e-100:  # whose square is a number still
        parts = (ours.sd**2 / seeds) ** 2 / (seeds - 1) + (known.sd**2 / PAPER_SEEDS) ** 2 / (PAPER_SEEDS - 1)
        reach = float(stdtrit(variance**2 / parts, (1 + CONFIDENCE) / 2)) * math.sqrt(variance)
    low, high = ours.mean - reach, ours.mean + reach
    least, most = printed_range(known.mean)
    standing: Standing = "below" if high < least else "inconclusive"
    if low >= least - min(MARGIN, known.mean / 2):  # so far below, ours are still as good: never more than half of it
        standing = "above" if low > most else "matched"
    return Comparison(standing, ours.mean - known.mean, low, high)


def printed_range(value: float) -> tuple[float, float]:
    """What an accuracy can be that the paper prints as `value`: [0.99, 1) is 0.99, and 1.0 means no error."""
    if value == 1:
        return 1.0, 1.0
    if value == 0.99:
        return 0.99, 1.0
    return max(0.0, value - 0.005), value + 0.005
