"""Right and wrong, counted.

A position is valid where the prediction or the target is not PAD, so that rows of blanks earn nothing.
Character accuracy is right valid / valid positions over all samples; a sequence is right when none of its
valid positions is wrong. Only counts are kept: they add up, and an interval can be made of them later.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import torch
from torch import Tensor

from gridsum.tasks import PAD


@dataclass(frozen=True)
class Counts:
    """Int64 tensors of one shape: what was right, of how many."""

    chars_right: Tensor
    chars_valid: Tensor
    sequences_right: Tensor
    sequences: Tensor

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.chars_right + other.chars_right,
            self.chars_valid + other.chars_valid,
            self.sequences_right + other.sequences_right,
            self.sequences + other.sequences,
        )

    def total(self) -> "Counts":
        """Over the problems, the last dimension."""
        return Counts(
            self.chars_right.sum(-1), self.chars_valid.sum(-1), self.sequences_right.sum(-1), self.sequences.sum(-1)
        )


def count(predicted: Tensor, target: Tensor) -> Counts:
    """Compare symbols [..., B, W] problem by problem: counts [..., B]."""
    assert predicted.shape[-2:] == target.shape[-2:], "a prediction for every position of every problem"
    right = predicted == target
    valid = (predicted != PAD) | (target != PAD)
    sequences_right = (right | ~valid).all(-1).long()
    return Counts(
        chars_right=(right & valid).sum(-1),
        chars_valid=valid.sum(-1),
        sequences_right=sequences_right,
        sequences=torch.ones_like(sequences_right),
    )


def count_text(answers: Sequence[str], truths: Sequence[str]) -> Counts:
    """The same counts for written answers, compared from the right as the grid's top row is.

    What an answer lacks is wrong, and so is what it has too much; any character counts as a position.
    """
    chars_right = chars_valid = sequences_right = 0
    for answer, truth in zip(answers, truths, strict=True):
        pairs = zip(reversed(answer), reversed(truth), strict=False)
        chars_right += sum(given == wanted for given, wanted in pairs)
        chars_valid += max(len(answer), len(truth))
        sequences_right += answer == truth
    totals = (chars_right, chars_valid, sequences_right, len(truths))
    return Counts(*(torch.tensor(total, dtype=torch.int64) for total in totals))


def wilson(right: float, total: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion; of nothing it is [0, 1]."""
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
