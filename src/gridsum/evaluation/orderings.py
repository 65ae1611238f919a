"""Do variants differ, or do their seeds? The paper's orderings put to the test.

Two groups of seeds are compared by ranks (Mann–Whitney), with the p-value counted over every way to divide the
seeds between the groups: exact, also where values are equal. Holm's correction keeps the chance of any false
verdict among all the comparisons below the level, and among the claims that are made of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np

from gridsum.evaluation.records import Record

LEVEL = 0.05
Verdict = Literal["confirmed", "refuted", "undecided"]


def rank_test(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Mann–Whitney's test, exact with and without ties (scipy's is not exact with ties).

    Its two-sided p is the share of divisions of the pooled values whose ranks differ at least as much. The effect is
    Cliff's δ: how much more often a value of the first group is above one of the second than below.
    """
    pooled, size = np.array([*first, *second]), len(first)
    # Twice the mean rank, which is a whole number even where equal values share a rank.
    ranks = 2 * (pooled < pooled[:, None]).sum(1) + (pooled == pooled[:, None]).sum(1) + 1
    # In how many ways so many of the values have ranks of such a sum.
    ways = np.zeros((size + 1, ranks.sum() + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    centre = size * (len(pooled) + 1)
    extreme = abs(np.arange(ways.shape[1]) - centre) >= abs(ranks[:size].sum() - centre)
    effect = np.sign(np.subtract.outer(first, second)).mean()
    return float(ways[size, extreme].sum() / ways[size].sum()), float(effect)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values, corrected for their number by Holm's step-down method."""
    order = np.argsort(p_values, kind="stable")
    steps = np.arange(len(p_values), 0, -1) * np.array(p_values)[order]
    corrected = np.empty(len(p_values))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, steps))
    return corrected.tolist()


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


class Finding(NamedTuple):
    seeds: tuple[int, int]
    means: tuple[float, float]
    effect: float
    p: float
    corrected: float
    verdict: Verdict


def pairs_of(claim: Claim) -> list[Pair]:
    sides = product(claim.suites, claim.better, claim.worse)
    return [Pair(better, worse, suite, claim.measure) for suite, better, worse in sides]


def findings(records: Iterable[Record]) -> dict[Pair, Finding]:
    """Every comparison of the claims, once, corrected for all of them together; none of no records. Of several records
    for one variant, suite and seed the last one counts."""
    known: dict[tuple[str, str], dict[int | None, Record]] = {}
    for record in records:
        known.setdefault((record.variant, record.suite), {})[record.seed] = record
    pairs = dict.fromkeys(pair for claim in CLAIMS if known for pair in pairs_of(claim))
    sides = [
        [[getattr(one, pair.measure) for one in known[variant, pair.suite].values()] for variant in pair[:2]]
        for pair in pairs
    ]
    tests, found = [rank_test(*both) for both in sides], {}
    corrected = holm([p for p, _ in tests])
    for pair, (first, second), (p, effect), of_all in zip(pairs, sides, tests, corrected, strict=True):
        verdict: Verdict = "undecided" if of_all >= LEVEL else "confirmed" if effect > 0 else "refuted"
        found[pair] = Finding((len(first), len(second)), (fmean(first), fmean(second)), effect, p, of_all, verdict)
    return found


class Judgement(NamedTuple):
    p: float
    corrected: float
    verdict: Verdict


def judgements(found: Mapping[Pair, Finding], claims: Sequence[Claim] = CLAIMS) -> dict[Claim, Judgement]:
    """Claims as wholes; none where nothing is measured.

    A claim says that all its comparisons come out its way, so it is false as soon as one does not. To confirm it when
    every single one is significant errs no more often than the least significant of them does (the intersection–union
    test): that one's p is the claim's, and is corrected for the number of claims alone. To refute it one comparison the
    other way round is enough, so there all of them count, each corrected for all.
    """
    if not found:
        return {}
    # One that comes out even or the other way round is not significant at all.
    sure = {pair: finding.p if finding.effect > 0 else 1.0 for pair, finding in found.items()}
    p_values = [max(sure[pair] for pair in pairs_of(claim)) for claim in claims]
    judged = {}
    for claim, p, corrected in zip(claims, p_values, holm(p_values), strict=True):
        refuted = any(found[pair].verdict == "refuted" for pair in pairs_of(claim))
        verdict: Verdict = "refuted" if refuted else "confirmed" if corrected < LEVEL else "undecided"
        judged[claim] = Judgement(p, corrected, verdict)
    return judged
