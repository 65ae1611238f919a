"""The objective with explicit loops over steps, samples and columns."""

import math
from collections.abc import Sequence

PAD = 0


def expected_loss(
    logits: Sequence,
    p: Sequence[Sequence[float]],
    targets: Sequence[Sequence[int]],
    *,
    pad_weight: float,
    columns: Sequence[bool],
    running: Sequence[Sequence[bool]] | None = None,
) -> float:
    """Σ_n p_n · CE_n of one run: logits[n][b][w][symbol], p[n][b], targets[b][w].

    A step's loss is divided by the class weight of the batch, or of the samples that are `running`[n][b].
    """
    total = 0.0
    for n in range(len(logits)):
        normaliser = 0.0
        for b, target in enumerate(targets):
            if running is None or running[n][b]:
                normaliser += sum(_weight(t, pad_weight) for t, inside in zip(target, columns, strict=True) if inside)
        for b, target in enumerate(targets):
            for w, symbol in enumerate(target):
                if columns[w]:
                    scores = [float(score) for score in logits[n][b][w]]
                    log_probability = scores[symbol] - math.log(sum(math.exp(score) for score in scores))
                    if p[n][b] > 0:
                        total += p[n][b] * _weight(symbol, pad_weight) * -log_probability / normaliser
    return total


def _weight(symbol: int, pad_weight: float) -> float:
    return pad_weight if symbol == PAD else 1.0


def character_accuracy(predicted: Sequence[int], target: Sequence[int], columns: Sequence[bool]) -> float:
    """Right characters among those where prediction or target is not PAD; 0 if there are none."""
    valid = right = 0
    for guess, symbol, inside in zip(predicted, target, columns, strict=True):
        if inside and not (guess == PAD and symbol == PAD):
            valid += 1
            right += guess == symbol
    return right / valid if valid else 0.0


def explore_reinforce(p: Sequence[float], success: float) -> float:
    """−(1 − a)·H(p) + a·E[log(1 + N_h)] of one sample, p[n] from n = 0."""
    entropy, effort = -sum(x * math.log(x) for x in p if x > 0), sum(x * math.log(1 + n) for n, x in enumerate(p))
    return -(1 - success) * entropy + success * effort


def kl_from_geometric(p: Sequence[float], truncation: int, prior: float, truncated: bool) -> float:
    """KL(p ‖ p_G), where p_G is geometric; if it is truncated, its last step N takes what remains."""
    geometric = [prior * (1 - prior) ** n for n in range(truncation + 1)]
    if truncated:
        geometric[-1] = 1 - sum(geometric[:-1])
    return sum(x * math.log(x / g) for x, g in zip(p[: truncation + 1], geometric, strict=True) if x > 0)
