"""Ours beside the paper's, as tables: pure functions of a reproduction's records."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from gridsum.evaluation import paper
from gridsum.evaluation.intervals import (
    CONFIDENCE,
    MARGIN,
    STANDINGS,
    Comparison,
    Measure,
    Standing,
    against_paper,
    means_against_paper,
    printed_range,
)
from gridsum.evaluation.orderings import Finding, Pair
from gridsum.evaluation.records import NOTHING, Record
from gridsum.evaluation.rendering import Table
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import ROUNDING, accuracy_text, spread, spread_text
from gridsum.study.reproduction import LEAKY_DIGITS, OVERTRAINED, overtrained_name
from gridsum.study.results import Results

ABLATION_SUITES = tuple(suite.name for suite in COLLECTIONS["ablation"])
_MEASURES: tuple[Measure, ...] = ("char", "seq")
MATCHED = ("above", "matched")
_MARKS: dict[Standing, str] = {"below": "↓", "inconclusive": "?"}
CRITERION = (
    f"Judged by our {CONFIDENCE:.0%} interval and a margin of {MARGIN}, or half the paper's number if that is less: "
    + "; ".join(f"*{name}*, {meaning}" for name, meaning in STANDINGS.items())
    + "."
)


class Cell(NamedTuple):
    """One number of the paper's Tables III and IV beside ours."""

    record: Record
    measure: Measure
    known: float

    @property
    def comparison(self) -> Comparison:
        return against_paper(self.record, self.measure, self.known)


def cells(results: Results) -> list[Cell]:
    """Every number of Tables III and IV that our best runs have been measured for."""
    runs = {name: results.standing_for(name) for name in OVERTRAINED}
    return list(_beside({name: {r.suite: r for r in run.measured()} for name, run in runs.items() if run is not None}))


def _beside(records: Mapping[str, Mapping[str, Record]]) -> Iterator[Cell]:
    """The numbers of Tables III and IV beside these records, which are by variant and suite."""
    for published in (paper.COMPARISON, paper.LONG_DIGITS, paper.LONG_TERMS):
        for name, scores in published.items():
            for suite, score in scores.items():
                if suite in records.get(name, {}):
                    yield from (Cell(records[name][suite], m, getattr(score, m)) for m in _MEASURES)


def best_models(results: Results) -> Table:
    """Tables III and IV in one: a line for each suite, ours of each variant beside the paper's."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    both = cells(results)
    for char, seq in zip(both[::2], both[1::2], strict=True):
        record = char.record
        ours = "/".join(
            accuracy_text(getattr(record, cell.measure)) + _MARKS.get(cell.comparison.standing, "")
            for cell in (char, seq)
        )
        known = f"{accuracy_text(char.known)}/{accuracy_text(seq.known)}"
        found.setdefault(record.suite, {})[record.variant] = ours, known
    runs = {name: run for name in OVERTRAINED if (run := results.standing_for(name)) is not None}
    lines = [
        (suite, *(text for name in runs for text in of_suite.get(name, (NOTHING, NOTHING))))
        for suite, of_suite in found.items()
    ]
    caption = (
        "Share of characters / of whole sums right, on the published grids. The number of a model is its seed. "
        f"{ROUNDING} ↓ below, ? inconclusive."
    )
    header = ("suite", *(text for run in runs.values() for text in (f"{run.training.name} {run.seed}", "paper")))
    return Table("The best models", caption, header, tuple(lines))


def replications(blocks: Sequence[Results]) -> Table:
    """Tables III and IV beside what several times the paper's whole selection came to: overtrained runs alone."""
    values: dict[tuple[str, str, Measure, float], list[float]] = {}
    for cell in (cell for results in blocks for cell in cells(results)):
        record = cell.record
        if record.model == overtrained_name(record.variant):
            of_one_number = values.setdefault((record.suite, record.variant, cell.measure, cell.known), [])
            of_one_number.append(getattr(record, cell.measure))
    rows, verdicts = [], []
    for (suite, variant, measure, known), found in values.items():
        least, most = printed_range(known)
        verdicts.append("below" if max(found) < least else "above" if min(found) > most else "inside")
        spread_over = (f"{value:.3f}" for value in (min(found), median(found), max(found)))
        rows.append((suite, variant, measure, str(len(found)), *spread_over, accuracy_text(known), verdicts[-1]))
    counts = ", ".join(f"{verdicts.count(kind)} {kind}" for kind in ("inside", "above", "below"))
    caption = (
        f"Of {len(rows)} numbers: {counts}. Of every block of seeds the run that is best on validation problems was "
        "overtrained and measured, as the paper does it once. Inside: the paper's number, as it is rounded, lies "
        "between the lowest and the highest of ours. Above: all of ours exceed it. Below: none reaches it."
    )
    header = ("suite", "variant", "measure", "blocks", "lowest", "median", "highest", "paper", "ours")
    return Table("The paper's selection, repeated", caption, header, tuple(rows))


def overtrained_runs(results: Results) -> Table:
    """How many of the paper's numbers each overtrained run reaches, by each placement."""
    rows = []
    for name in OVERTRAINED:
        further, shown = results.overtrained(name), results.standing_for(name)
        if further is None or shown is None:
            continue
        for seed in further.seeds:
            soft, hard = (
                {record.suite: record for record in further.measured(("published", placement)) if record.seed == seed}
                for placement in ("soft", "hard")
            )
            counts = []
            for records in (soft, soft | hard):
                found = list(_beside({name: records}))
                matched = sum(cell.comparison.standing in MATCHED for cell in found)
                counts.append(f"{matched} of {len(found)}")
            rows.append((further.name, str(seed), *counts, "yes" if seed == shown.seed else ""))
    caption = (
        "Of the numbers that the paper gives for the variant in Tables III and IV, those above or matched. Hard: "
        f"terms of {LEAKY_DIGITS} digits or more are placed by the most probable action, all others as before."
    )
    header = ("training", "seed", "soft placement, as in the paper", "hard", "beside the paper's")
    return Table("Every overtrained run", caption, header, tuple(rows))


def both_text(record: Record | None) -> str:
    """Accuracy by characters / of whole results."""
    return NOTHING if record is None else f"{accuracy_text(record.char)} / {accuracy_text(record.seq)}"


def tally(found: Sequence[Standing]) -> str:
    return f"of {len(found)} numbers, {', '.join(f'{found.count(kind)} {kind}' for kind in STANDINGS)}"


class Mean(NamedTuple):
    """One number of Table VI: a variant's mean over seeds beside the paper's."""

    suite: str
    variant: str
    measure: Measure
    comparison: Comparison


def means(records: Sequence[Record], by_spread: bool = True) -> list[Mean]:
    """Every number of Table VI that has been measured for two seeds or more;
    `by_spread`, with the paper's sd as margin."""
    found = []
    for suite in ABLATION_SUITES:
        for variant, known in paper.ABLATION.items():
            for measure in _MEASURES:
                values = _values(records, variant, suite, measure)
                if len(values) > 1:
                    compared = means_against_paper(
                        spread(values), len(values), getattr(known[suite], measure), by_spread
                    )
                    found.append(Mean(suite, variant, measure, compared))
    return found


def _values(records: Sequence[Record], variant: str, suite: str, measure: Measure) -> list[float]:
    return [getattr(record, measure) for record in records if (record.variant, record.suite) == (variant, suite)]


def variants(records: Sequence[Record], title: str = "The variants") -> Table:
    """Table VI in brief: a line for each variant, ours beside the paper's."""
    columns: list[tuple[str, Measure]] = [(suite, measure) for suite in ABLATION_SUITES for measure in _MEASURES]
    rows = []
    for variant, known in paper.ABLATION.items():
        row = []
        for suite, measure in columns:
            values = _values(records, variant, suite, measure)
            ours = spread_text(spread(values), best=False) if values else NOTHING
            row.append(f"{ours} ({spread_text(getattr(known[suite], measure), best=False)})")
        rows.append((variant, *row))
    caption = "Mean ± sd over training seeds, in brackets the paper's over ten."
    return Table(title, caption, ("variant", *map(" ".join, columns)), tuple(rows))


def mean_standings(found: Sequence[Mean], title: str) -> Table:
    """Table VI: our means over seeds against the paper's."""
    rows = []
    for suite, variant, measure, (standing, difference, low, high) in found:
        rows.append((suite, variant, measure, f"{difference:+.2f}", f"{low:.2f} to {high:.2f}", standing))
    caption = (
        f"By the paper's sd, where it is above {MARGIN}: {tally([mean.comparison.standing for mean in found])}. "
        f"Minus the paper's: the difference of the means. The interval is Student's of our mean over seeds. {CRITERION}"
    )
    header = ("suite", "variant", "measure", "minus the paper's", f"{CONFIDENCE:.0%} interval", "standing")
    return Table(title, caption, header, tuple(rows))


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
