"""The halting distribution (Eq. 9 and 10), written out."""

from collections.abc import Sequence


def distribution(halting: Sequence[float], epsilon: float) -> tuple[list[float], int]:
    """(p, N) of the λ_n given: N is the first n before which halting has come with more than 1 − ε."""
    last = len(halting) - 1
    p: list[float] = []
    for n, probability in enumerate(halting):
        before = sum(p)
        if before > 1 - epsilon or n == last:
            return p + [1 - before] + [0.0] * (last - n), n
        survived = 1.0
        for earlier in halting[:n]:
            survived *= 1 - earlier
        p.append(probability * survived)
    raise AssertionError("there is always a last step")
