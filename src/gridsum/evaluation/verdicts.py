"""Ours against the paper's, number by number, by a rule that stands before the numbers are known.

Reached is shown, not presumed: the whole interval of ours lies above the paper's number less a margin. That two numbers
do not differ significantly shows nothing, since a wide interval never does. The paper's numbers are taken as printed.
"""

from typing import Literal, NamedTuple

from gridsum.evaluation.intervals import Measure, interval
from gridsum.evaluation.paper import Spread
from gridsum.evaluation.records import Record
from gridsum.evaluation.statistics import student_interval

Standing = Literal["passed", "reached", "open", "short"]
STANDINGS: dict[Standing, str] = {
    "passed": "the interval lies above all that the printed number can mean",
    "reached": "it lies above that less the margin",
    "open": "neither this nor that ours is lower can be shown",
    "short": "the interval lies below it",
}
MARGIN = 0.05
CONFIDENCE = 0.90
"""Of the two-sided intervals, so that each of their ends errs in 5 cases of 100."""


class Comparison(NamedTuple):
    standing: Standing
    difference: float
    """Ours minus the paper's."""
    low: float
    high: float
    """The interval of ours."""


def printed_range(value: float) -> tuple[float, float]:
    """What an accuracy can be that the paper prints as `value`: [0.99, 1) is 0.99, and 1.0 means no error."""
    if value == 1:
        return 1.0, 1.0
    if value == 0.99:
        return 0.99, 1.0
    return max(0.0, value - 0.005), value + 0.005


def against_paper(record: Record, measure: Measure, value: float) -> Comparison:
    """A record against a printed accuracy."""
    return _compared(getattr(record, measure), interval(record, measure, CONFIDENCE), value, margin(value))


def means_against_paper(ours: Spread, seeds: int, known: Spread) -> Comparison:
    """A mean over seeds against the paper's over ten."""
    found = student_interval(ours.mean, ours.sd, seeds, CONFIDENCE)
    return _compared(ours.mean, found, known.mean, margin(known.mean, known.sd))


def margin(value: float, sd: float = 0.0) -> float:
    """How far below the paper's number ours may lie and still be as good: never more than half of it."""
    return min(max(MARGIN, sd), value / 2)


def _compared(ours: float, found: tuple[float, float], value: float, allowed: float) -> Comparison:
    least, most = printed_range(value)
    low, high = found
    standing: Standing = "short" if high < least else "open"
    if low >= least - allowed:
        standing = "passed" if low > most else "reached"
    return Comparison(standing, ours - value, low, high)
