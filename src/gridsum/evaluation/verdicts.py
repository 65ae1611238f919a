"""Ours against the paper's, number by number: reached or not, and how far."""

from typing import Literal, NamedTuple

from gridsum.evaluation.metrics import wilson
from gridsum.evaluation.paper import Spread
from gridsum.evaluation.statistics import welch_interval

Standing = Literal["passed", "reached", "short"]
SEEDS_OF_THE_PAPER = 10


class Comparison(NamedTuple):
    standing: Standing
    difference: float
    """Ours minus the paper's."""


def printed_range(value: float) -> tuple[float, float]:
    """What an accuracy can be that the paper prints as `value`: [0.99, 1) is 0.99, and 1.0 means no error."""
    if value == 1:
        return 1.0, 1.0
    if value == 0.99:
        return 0.99, 1.0
    return max(0.0, value - 0.005), value + 0.005


def against_paper(right: int, total: int, value: float) -> Comparison:
    """A count against a printed accuracy.

    Reached: at least what the paper printed, or the 95% interval of ours touches it. Passed: the interval lies
    above all that the printed number can mean.
    """
    ours = right / total
    low, high = wilson(right, total)
    least, most = printed_range(value)
    if low > most or (ours == 1 and most == 1 and least < 1):
        return Comparison("passed", ours - value)
    return Comparison("reached" if ours >= least or high >= least else "short", ours - value)


class MeanComparison(NamedTuple):
    difference: float
    low: float
    high: float

    @property
    def standing(self) -> Standing:
        """Passed and short where the difference of the means is beyond chance; reached otherwise."""
        return "passed" if self.low > 0 else "short" if self.high < 0 else "reached"


def means_against_paper(ours: Spread, seeds: int, known: Spread) -> MeanComparison:
    """Means over seeds, by Welch's 95% interval; the paper's spread is that of ten seeds."""
    low, high = welch_interval((ours.mean, ours.sd, seeds), (known.mean, known.sd, SEEDS_OF_THE_PAPER))
    return MeanComparison(ours.mean - known.mean, low, high)
