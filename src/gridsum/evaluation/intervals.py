"""How sure a score is, when problems come in batches that share a grid and characters in problems that share a fate.

The grids are given, so they add no chance; problems do. A score's variance is that of a ratio of sums over problems,
taken within each grid. It says how many independent trials the score is worth, and Wilson's interval is made of these.
"""

from typing import Literal

from gridsum.evaluation.metrics import wilson
from gridsum.evaluation.records import Record

Measure = Literal["char", "seq"]


def interval(record: Record, measure: Measure, confidence: float = 0.95) -> tuple[float, float]:
    """Of a record that does not keep its grids (those of 0.1.0), characters and problems count as independent."""
    right, total = (
        (record.chars_right, record.chars_valid) if measure == "char" else (record.sequences_right, record.samples)
    )
    if not record.batches:
        return wilson(right, total, confidence)
    trials = independent_trials(record, measure)
    return wilson(right / total * trials, trials, confidence)


def independent_trials(record: Record, measure: Measure) -> float:
    """How many independent trials a score is worth: never more than it has, and problems where nothing varies."""
    share = record.char if measure == "char" else record.seq
    variance = _variance(record, measure, share)
    if variance <= 0:
        return record.samples
    most = record.chars_valid if measure == "char" else record.samples
    return min(most, share * (1 - share) / variance)


def _variance(record: Record, measure: Measure, share: float) -> float:
    """Of a ratio of sums (linearised): right − share · valid varies from problem to problem within a grid."""
    total, size = 0.0, 0
    for batch in record.batches or ():
        count = batch.problems
        if measure == "char":
            right, valid = batch.chars_right, batch.chars_valid
            squares = batch.right_right, batch.right_valid, batch.valid_valid
        else:  # a whole result is a problem's one character
            right, valid = batch.sequences_right, count
            squares = right, right, count
        size += valid
        if count > 1:
            right_right, right_valid, valid_valid = squares
            of_squares = right_right - 2 * share * right_valid + share**2 * valid_valid
            total += (of_squares - (right - share * valid) ** 2 / count) * count / (count - 1)
    return total / size**2
