"""Do variants differ, or do their seeds? The paper's orderings put to the test.

Two groups of seeds are compared by ranks (Mann–Whitney), with the p-value counted over every way to divide the
seeds between the groups: exact, also where values are equal. Holm's correction keeps the chance of any false
verdict among all the comparisons below the level, and among the claims that are made of them.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from gridsum.evaluation.records import Record

LEVEL = 0.05
Verdict = Literal["confirmed", "refuted", "undecided", "not measured"]


class RankTest(NamedTuple):
    p: float
    """Two-sided: the share of divisions of the pooled values whose ranks differ at least as much."""
    effect: float
    """Cliff's δ: how much more often a value of the first group is above one of the second than below."""


def rank_test(first: Sequence[float], second: Sequence[float]) -> RankTest:
    """Mann–Whitney's test, exact with and without ties (scipy's is not exact with ties)."""
    if not first or not second:
        raise ValueError("a test needs values in both groups")
    pooled = [*first, *second]
    # Twice the mean rank, which is a whole number even where equal values share a rank.
    ranks = [
        2 * sum(other < value for other in pooled) + sum(other == value for other in pooled) + 1 for value in pooled
    ]
    counts = _subset_sums(tuple(sorted(ranks)), len(first))
    centre = len(first) * (len(pooled) + 1)
    distance = abs(sum(ranks[: len(first)]) - centre)
    extreme = sum(ways for total, ways in counts.items() if abs(total - centre) >= distance)
    wins = sum((a > b) - (a < b) for a in first for b in second)
    return RankTest(extreme / math.comb(len(pooled), len(first)), wins / (len(first) * len(second)))


@lru_cache
def _subset_sums(values: tuple[int, ...], size: int) -> dict[int, int]:
    """In how many ways `size` of the values add up to each sum."""
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(size))]
    for value in values:
        for chosen in range(size, 0, -1):
            for total, count in ways[chosen - 1].items():
                ways[chosen][total + value] = ways[chosen].get(total + value, 0) + count
    return ways[size]


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, corrected for their number by Holm's step-down method."""
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = largest
    return corrected


def student_interval(mean: float, sd: float, count: int, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of a mean of `count` values with this sample sd; of a single value it is everything."""
    from scipy.special import stdtrit  # only tables that compare with the paper need scipy

    if count < 2:
        return -math.inf, math.inf
    reach = float(stdtrit(count - 1, (1 + confidence) / 2)) * sd / math.sqrt(count)
    return mean - reach, mean + reach


@dataclass(frozen=True)
class Claim:
    """What the paper says: each of `better` is above each of `worse` on every one of `suites`."""

    text: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    suites: tuple[str, ...]
    measure: Literal["char", "seq"]


_TERMS = ("[5,6]x[1,10]", "[7,10]x[1,10]")
# On digits by characters, because the paper's base and ponderReg have no whole result right there.
CLAIMS = (
    Claim("noGroups is best on digits", ("noGroups",), ("base", "SASA", "fixedTime", "ponderReg"), ("2x602",), "char"),
    Claim(
        "base and ponderReg are best on terms", ("base", "ponderReg"), ("noGroups", "SASA", "fixedTime"), _TERMS, "seq"
    ),
    Claim("fixedTime is worst on terms", ("base", "noGroups", "SASA", "ponderReg"), ("fixedTime",), _TERMS, "seq"),
)


class Pair(NamedTuple):
    """One comparison that a claim is made of."""

    better: str
    worse: str
    suite: str
    measure: str


@dataclass(frozen=True)
class Finding:
    """A comparison, as the records have it; None where they lack one of its sides."""

    pair: Pair
    seeds: tuple[int, int]
    means: tuple[float, float] | None
    effect: float | None
    p: float | None
    corrected: float | None
    verdict: Verdict


def pairs_of(claim: Claim) -> list[Pair]:
    return [
        Pair(better, worse, suite, claim.measure)
        for suite in claim.suites
        for better in claim.better
        for worse in claim.worse
    ]


def findings(records: Iterable[Record], claims: Sequence[Claim] = CLAIMS) -> dict[Pair, Finding]:
    """Every comparison of the claims over the training seeds, once, corrected for all of them together.

    The records are those of standard trainings; of several for one variant, suite and seed the last one counts.
    """
    values = _values(records)
    pairs = list(dict.fromkeys(pair for claim in claims for pair in pairs_of(claim)))
    sides = {pair: (_side(values, pair.better, pair), _side(values, pair.worse, pair)) for pair in pairs}
    tests = {pair: rank_test(*both) for pair, both in sides.items() if all(both)}
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    return {pair: _finding(pair, sides[pair], tests.get(pair), corrected.get(pair)) for pair in pairs}


def _values(records: Iterable[Record]) -> Mapping[tuple[str, str], dict[int | None, Record]]:
    found: dict[tuple[str, str], dict[int | None, Record]] = {}
    for record in records:
        found.setdefault((record.variant, record.suite), {})[record.seed] = record
    return found


def _side(values: Mapping[tuple[str, str], dict[int | None, Record]], variant: str, pair: Pair) -> list[float]:
    return [getattr(record, pair.measure) for record in values.get((variant, pair.suite), {}).values()]


def _finding(
    pair: Pair, sides: tuple[list[float], list[float]], test: RankTest | None, corrected: float | None
) -> Finding:
    seeds = (len(sides[0]), len(sides[1]))
    if test is None or corrected is None:
        return Finding(pair, seeds, None, None, None, None, "not measured")
    verdict: Verdict = "undecided"
    if corrected < LEVEL:
        verdict = "confirmed" if test.effect > 0 else "refuted"
    means = (math.fsum(sides[0]) / seeds[0], math.fsum(sides[1]) / seeds[1])
    return Finding(pair, seeds, means, test.effect, test.p, corrected, verdict)


class Judgement(NamedTuple):
    """A claim as a whole; p and corrected are None where one of its comparisons is not measured."""

    p: float | None
    corrected: float | None
    verdict: Verdict


def judgements(found: Mapping[Pair, Finding], claims: Sequence[Claim] = CLAIMS) -> dict[Claim, Judgement]:
    """Claims as wholes.

    A claim says that all its comparisons come out its way, so it is false as soon as one does not. To confirm it when
    every single one is significant errs no more often than the least significant of them does (the intersection–union
    test): that one's p is the claim's, and is corrected for the number of claims alone. To refute it one comparison the
    other way round is enough, so there all of them count, each corrected for all.
    """
    p_values = {claim: _largest_p([found[pair] for pair in pairs_of(claim)]) for claim in claims}
    corrected = dict(zip(claims, holm([1.0 if p is None else p for p in p_values.values()]), strict=True))
    return {claim: _judgement(claim, found, p_values[claim], corrected[claim]) for claim in claims}


def _largest_p(comparisons: Sequence[Finding]) -> float | None:
    """The p of the least significant comparison; 1 for any that comes out even or the other way round."""
    largest = 0.0
    for comparison in comparisons:
        if comparison.p is None or comparison.effect is None:
            return None
        largest = max(largest, comparison.p if comparison.effect > 0 else 1.0)
    return largest


def _judgement(claim: Claim, found: Mapping[Pair, Finding], p: float | None, corrected: float) -> Judgement:
    refuted = any(found[pair].verdict == "refuted" for pair in pairs_of(claim))
    if p is None:
        return Judgement(None, None, "refuted" if refuted else "not measured")
    return Judgement(p, corrected, "refuted" if refuted else "confirmed" if corrected < LEVEL else "undecided")
