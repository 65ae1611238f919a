"""Ours beside the paper's, as tables: pure functions of a reproduction's records."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from statistics import median
from typing import NamedTuple

from gridsum.evaluation import intervals, paper
from gridsum.evaluation.intervals import MEASURES, STANDINGS, Measure
from gridsum.evaluation.orderings import Finding, Pair
from gridsum.evaluation.records import NOTHING, Record
from gridsum.evaluation.rendering import Table
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import ROUNDING, accuracy_text, spread, spread_text
from gridsum.study.jobs import Way
from gridsum.study.reproduction import AS_PUBLISHED, ON_EVERY_GRID, OVERTRAINED
from gridsum.study.results import Results

ABLATION_SUITES = tuple(suite.name for suite in COLLECTIONS["ablation"])
FAMILIES = tuple(suite.name for suite in COLLECTIONS["structured"] if not suite.family.startswith("carry"))
"""What stands beside sums of random digits."""
VERDICTS = ("inside", "above", "below")
_MARKS: dict[str, str] = {"below": "↓", "above": "↑"}
Key = tuple[str, str, Measure]
"""A suite, a variant and a measure."""
PUBLISHED: dict[Key, float] = {
    (suite, variant, measure): getattr(score, measure)
    for variant in OVERTRAINED
    for table in (paper.COMPARISON, paper.LONG_DIGITS, paper.LONG_TERMS)
    for suite, score in table.get(variant, {}).items()
    for measure in MEASURES
}
"""The numbers of Tables III and IV."""


class Number(NamedTuple):
    """One number of the paper's Tables III and IV, and what every replication came to."""

    suite: str
    variant: str
    measure: Measure
    known: float
    found: list[float]

    @property
    def verdict(self) -> str:
        least, most = intervals.printed_range(self.known)
        return "below" if max(self.found) < least else "above" if min(self.found) > most else "inside"

    @property
    def text(self) -> str:
        """Lowest, median and highest of ours, and the paper's."""
        return f"{_range(self.found)} ({accuracy_text(self.known)}){_MARKS.get(self.verdict, '')}"


def _range(found: Sequence[float]) -> str:
    ours = [accuracy_text(value) for value in (min(found), median(found), max(found))]
    return "–".join(ours if len(set(ours)) > 1 else ours[:1])


def numbers(blocks: Sequence[Results], placement: str = "soft") -> list[Number]:
    """Every number of Tables III and IV, by the best run of each block; by hard placement, terms of many digits are
    placed so, and all others as before."""
    found = _of_best(blocks, AS_PUBLISHED, ("published", placement))
    return [Number(*key, known, found[key]) for key, known in PUBLISHED.items() if key in found]


def _of_best(blocks: Sequence[Results], *ways: Way) -> dict[Key, list[float]]:
    """What the best run of each block came to; of several ways the last that it was measured in."""
    found: dict[Key, list[float]] = {}
    for run in (run for results in blocks for run in map(results.standing_for, OVERTRAINED) if run is not None):
        records = {record.suite: record for way in ways for record in run.measured(way)}
        for record, measure in product(records.values(), MEASURES):
            found.setdefault((record.suite, record.variant, measure), []).append(getattr(record, measure))
    return found


def tally(found: Sequence["Number | Mean"], kinds: Iterable[str] = VERDICTS) -> str:
    """How many numbers there are of each verdict."""
    told = [one.verdict for one in found]
    return f"of {len(found)} numbers, {', '.join(f'{told.count(kind)} {kind}' for kind in kinds)}"


def best_models(found: Sequence[Number], title: str, blocks: Sequence[Results] = ()) -> Table:
    """Tables III and IV in one: a line for each suite, and of `blocks` for sums whose digits are not random."""
    texts = {(number.suite, number.variant, number.measure): number.text for number in found}
    texts |= {key: _range(values) for key, values in _of_best(blocks, ON_EVERY_GRID).items() if key[0] in FAMILIES}
    columns = [(variant, measure) for variant in OVERTRAINED for measure in MEASURES]
    suites = dict.fromkeys(suite for suite, _, _ in texts)
    rows = [(suite, *(texts.get((suite, *column), NOTHING) for column in columns)) for suite in suites]
    caption = (
        "Lowest, median and highest replication, in brackets the paper's number; ↑ above, ↓ below. Characters (char) "
        f"and whole sums (seq) right. {ROUNDING}"
    )
    return Table(title, caption, ("suite", *map(" ".join, columns)), tuple(rows))


class Mean(NamedTuple):
    """One number of Table VI: a variant's mean over seeds beside the paper's."""

    suite: str
    variant: str
    measure: Measure
    seeds: int
    ours: paper.Spread
    known: paper.Spread
    comparison: intervals.Comparison

    @property
    def verdict(self) -> str:
        return self.comparison.standing


def means(records: Sequence[Record]) -> list[Mean]:
    """Every number of Table VI that has been measured for two seeds or more."""
    found = []
    for variant, suite, measure in product(paper.ABLATION, ABLATION_SUITES, MEASURES):
        values = [getattr(one, measure) for one in records if (one.variant, one.suite) == (variant, suite)]
        if len(values) > 1:
            ours, known = spread(values), getattr(paper.ABLATION[variant][suite], measure)
            compared = intervals.means_against_paper(ours, len(values), known)
            found.append(Mean(suite, variant, measure, len(values), ours, known, compared))
    return found


def variants(found: Sequence[Mean], title: str = "The variants", others: Sequence[Record] = ()) -> Table:
    """Table VI in brief: a line for each variant, ours beside the paper's; then sums whose digits are not random."""
    columns, families = list(product(ABLATION_SUITES, MEASURES)), FAMILIES if others else ()
    texts = {
        (mean.variant, mean.suite, mean.measure): f"{spread_text(mean.ours, best=False)} "
        f"({spread_text(mean.known, best=False)}){_MARKS.get(mean.verdict, '')}"
        for mean in found
    }
    rows = []
    for variant, seeds in {mean.variant: str(mean.seeds) for mean in found}.items():
        seqs = [[one.seq for one in others if (one.variant, one.suite) == (variant, suite)] for suite in families]
        counted = ", ".join([seeds, *(str(len(of_family)) for of_family in seqs[:1])])
        known = (texts.get((variant, *column), NOTHING) for column in columns)
        shown = (spread_text(spread(of_family), best=False) if of_family else NOTHING for of_family in seqs)
        rows.append((variant, counted, *known, *shown))
    caption = "Mean ± sd over training seeds, in brackets the paper's over ten. ↑ above, ↓ below."
    if families:
        caption += " Last, of the second number of seeds, whole sums of digits that are not random."
    return Table(title, caption, ("variant", "seeds", *map(" ".join, columns), *families), tuple(rows))


def mean_standings(found: Sequence[Mean]) -> Table:
    """Table VI: our means over seeds against the paper's."""
    rows, confidence = [], f"{intervals.CONFIDENCE:.0%}"
    for suite, variant, measure, seeds, _, _, (standing, difference, low, high) in found:
        interval = f"{low:.2f} to {high:.2f}"
        rows.append((suite, variant, measure, str(seeds), f"{difference:+.2f}", interval, standing))
    meanings = "; ".join(f"{name}, {meaning}" for name, meaning in STANDINGS.items())
    caption = (
        f"{tally(found, STANDINGS).capitalize()}. Minus the paper's: the difference of the means. The interval is "
        f"Welch's: the sampling error of the paper's ten seeds is in it. By the {confidence} interval of ours and a "
        f"margin of {intervals.MARGIN}, or half the paper's number if that is less: {meanings}."
    )
    header = ("suite", "variant", "measure", "seeds", "minus the paper's", f"{confidence} interval", "standing")
    return Table("Our means minus the paper's (Table VI)", caption, header, tuple(rows))


def comparisons(tested: Mapping[Pair, Finding]) -> Table:
    """What the paper's orderings are made of."""
    rows = []
    for pair, found in tested.items():
        compared = f"{pair.better} > {pair.worse}", "/".join(map(str, found.seeds))
        means = f"{found.means[0]:.3f} / {found.means[1]:.3f}"
        values = f"{found.effect:+.2f}", p_text(found.p), p_text(found.corrected)
        rows.append((pair.suite, pair.measure, *compared, means, *values, found.verdict))
    caption = (
        "Mann–Whitney's test, exact, two-sided, over training seeds. δ is Cliff's: 1 where every seed of the first is "
        "above every seed of the second, −1 the other way round. p is not corrected; Holm's is, for all comparisons "
        "made. A claim holds if all its comparisons do, so it is as sure as the least sure of them (the "
        "intersection–union test). Its p is the largest of theirs, 1 if any comes out even or the other way, and is "
        "corrected for the number of claims. It is refuted when one of its comparisons is."
    )
    header = ("suite", "measure", "comparison", "seeds", "means", "δ", "p", "Holm", "verdict")
    return Table("Comparisons", caption, header, tuple(rows))


def p_text(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"
