"""Right and wrong, counted.

A position is valid where the prediction or the target is not PAD, so that rows of blanks earn nothing.
Character accuracy is right valid / valid positions over all samples; a sequence is right when none of its
valid positions is wrong. Only counts are kept: they add up, and an interval can be made of them later.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

from torch import Tensor

from gridsum.tasks import PAD


class Counts(NamedTuple):
    """By problem [..., B]: characters right, characters that count, and whether the whole result is right."""

    chars_right: Tensor
    chars_valid: Tensor
    sequences_right: Tensor


def count(predicted: Tensor, target: Tensor) -> Counts:
    """Compare symbols [..., B, W] problem by problem."""
    assert predicted.shape[-2:] == target.shape[-2:], "a prediction for every position of every problem"
    right = predicted == target
    valid = (predicted != PAD) | (target != PAD)
    return Counts((right & valid).sum(-1), valid.sum(-1), (right | ~valid).all(-1).long())


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
