"""Ours beside the paper's: tables and standings. Each part is a function of what a campaign's folder holds."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gridsum.evaluation import paper
from gridsum.evaluation.records import Record
from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import TABLES, accuracy_text, spread
from gridsum.evaluation.verdicts import MeanComparison, Standing, against_paper, means_against_paper
from gridsum.reproduction.campaign import FOLLOWED, OVERTRAINED, standard_name
from gridsum.reproduction.results import Results, Trained
from gridsum.training.folders import seed_folder

HEADLINE = {"base": "terms", "noGroups": "digits"}
"""What the paper shows each of its two best models for: the run that its numbers are compared with."""
ABLATION_SUITES = tuple(suite.name for suite in COLLECTIONS["ablation"])


def readings_of_the_best(results: Results) -> list[str | None]:
    """The readings whose best models are shown: None, which is as specified, and any that overtrained runs are of."""
    names = [standard_name(variant, FOLLOWED) for variant in OVERTRAINED]
    followed = any(results.overtrained[name].reported for name in names if name in results.overtrained)
    return [None, FOLLOWED] if followed else [None]


def best_models(results: Results, reading: str | None = None) -> list[Record]:
    """The reported records of the runs that Tables III to V show: those overtrained, or chosen to be."""
    records: list[Record] = []
    for variant in OVERTRAINED:
        name = standard_name(variant, reading)
        trained = results.overtrained.get(name)
        if trained is not None and trained.reported:
            records += trained.reported
        elif name in results.trained:
            chosen = set(results.chosen(name).values())
            records += [record for record in results.trained[name].reported if record.seed in chosen]
    return records


def headline(results: Results, variant: str, reading: str | None = None) -> list[Record]:
    """The records of the run of a variant that stands beside the paper's."""
    seed = results.chosen(standard_name(variant, reading)).get(HEADLINE[variant])
    records = best_models(results, reading)
    return [record for record in records if record.variant == variant and record.seed == seed]


def best_run(results: Results, name: str) -> Path | None:
    """The folder of that run of a variant as specified, overtrained if it has been."""
    seed = results.chosen(name).get(HEADLINE[name])
    if seed is None:
        return None
    further = results.overtrained.get(name)
    trained = name if further is None or seed not in further.seeds else further.name
    return seed_folder(results.folder / trained, seed)


def table(name: str, records: Sequence[Record], reading: str | None = None) -> str:
    """A table of the paper, or a line on what it lacks."""
    if not any(record.suite in {suite.name for suite in COLLECTIONS[name]} for record in records):
        return f"No records for the table `{name}` yet (`gridsum reproduce --only measure` makes them).\n"
    made = TABLES[name](list(records))
    return to_markdown(dataclasses.replace(made, title=_titled(made.title, reading)))


def _titled(title: str, reading: str | None) -> str:
    """The title of a table under a reading; the page has the same table as specified."""
    return title if reading is None else f"{title}, under {reading}"


class Cell:
    """One number of the paper's Tables III and IV beside ours."""

    def __init__(self, record: Record, measure: str, known: float) -> None:
        self.record, self.measure, self.known = record, measure, known
        counts = {"char": (record.chars_right, record.chars_valid), "seq": (record.sequences_right, record.samples)}
        self.comparison = against_paper(*counts[measure], known)


def cells(results: Results, reading: str | None = None) -> list[Cell]:
    """Every number of Tables III and IV that our best runs have been measured for."""
    found = []
    for published in (paper.COMPARISON, paper.LONG_DIGITS, paper.LONG_TERMS):
        for name, scores in published.items():
            records = {record.suite: record for record in headline(results, name, reading)}
            for suite, score in scores.items():
                if suite in records:
                    found += [Cell(records[suite], "char", score.char), Cell(records[suite], "seq", score.seq)]
    return found


def standings(results: Results, reading: str | None = None) -> str:
    """Which numbers of Tables III and IV are reached, and how far off the others are."""
    found = cells(results, reading)
    if not found:
        return "Nothing can be compared yet.\n"
    rows = [
        (
            cell.record.model,
            cell.record.suite,
            cell.measure,
            f"{_own(cell):.4f}",
            accuracy_text(cell.known),
            _standing(cell.comparison.standing, cell.comparison.difference),
        )
        for cell in found
    ]
    return to_markdown(
        Table(
            _titled("Number by number (Tables III and IV)", reading),
            f"{tally([cell.comparison.standing for cell in found])} Passed: the 95% interval of ours lies above all "
            "that the printed number can mean. Reached: at least the printed number, or the interval touches it. "
            "Short: by how much ours lies below the printed number.",
            ("model", "suite", "measure", "ours", "paper", "standing"),
            tuple(rows),
        )
    )


def _own(cell: Cell) -> float:
    return getattr(cell.record, cell.measure)


def _standing(standing: Standing, difference: float) -> str:
    return f"short by {-difference:.3f}" if standing == "short" else standing


def tally(found: Sequence[Standing]) -> str:
    return f"Of {len(found)} numbers: {counts(found)}."


def counts(found: Sequence[Standing]) -> str:
    return ", ".join(f"{found.count(kind)} {kind}" for kind in ("passed", "reached", "short"))


class Mean(NamedTuple):
    """One number of Table VI: a variant's mean over seeds, minus the paper's."""

    suite: str
    variant: str
    measure: str
    comparison: MeanComparison


def means(variants: Sequence[Trained]) -> Iterator[Mean]:
    """Every number of Table VI that has been measured for two seeds or more, of trainings of the paper's variants."""
    for suite in ABLATION_SUITES:
        for trained in variants:
            records = trained.of(suite)
            if len(records) < 2:
                continue
            variant = trained.config.variant
            for measure in ("char", "seq"):
                ours = spread([getattr(record, measure) for record in records])
                known = getattr(paper.ABLATION[variant][suite], measure)
                yield Mean(suite, variant, measure, means_against_paper(ours, len(records), known))


def mean_standings(variants: Sequence[Trained], reading: str | None = None) -> str:
    """Table VI: our means over seeds against the paper's."""
    found = list(means(variants))
    if not found:
        return ""
    rows = tuple(
        (
            mean.suite,
            mean.variant,
            mean.measure,
            f"{of.difference:+.2f}",
            f"{of.low:+.2f} to {of.high:+.2f}",
            of.standing,
        )
        for mean in found
        for of in [mean.comparison]
    )
    caption = (
        f"{tally([mean.comparison.standing for mean in found])} The interval is Welch's at 95%; passed and short where "
        "it excludes zero. The paper's spreads are taken as the sample's."
    )
    header = ("suite", "variant", "measure", "difference", "95% interval", "standing")
    return to_markdown(Table(_titled("Our means minus the paper's (Table VI)", reading), caption, header, rows))


def p_text(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"
