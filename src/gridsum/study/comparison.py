"""Ours beside the paper's: tables and standings. Each part is a function of what the folder of a reproduction holds."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
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
)
from gridsum.evaluation.records import NOTHING, Record, read
from gridsum.evaluation.rendering import Table, TableError, to_markdown
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import ROUNDING, TABLES, accuracy_text, spread, spread_text
from gridsum.study.jobs import Way
from gridsum.study.reproduction import AS_PUBLISHED, LEAKY_DIGITS, ON_EVERY_GRID, OVERTRAINED
from gridsum.study.results import Results

ABLATION_SUITES = tuple(suite.name for suite in COLLECTIONS["ablation"])
_MEASURES: tuple[Measure, ...] = ("char", "seq")
REACHED = ("passed", "reached")
_CRITERION = (
    f"By the {CONFIDENCE:.0%} interval of ours and a margin of {MARGIN}, or half the paper's number if that is less: "
    + "; ".join(f"{name}, {meaning}" for name, meaning in STANDINGS.items())
    + "."
)


def best_models(results: Results, way: Way = AS_PUBLISHED) -> list[Record]:
    """The records of the runs that Tables III to V show: those overtrained, or chosen to be."""
    records: list[Record] = []
    for variant in OVERTRAINED:
        further = results.overtrained(variant)
        if further is not None and further.reported:
            records += further.measured(way)
        elif variant in results.trained:
            chosen = set(results.chosen(variant).values())
            records += [record for record in results.trained[variant].measured(way) if record.seed in chosen]
    return records


def headline(results: Results, variant: str, way: Way = AS_PUBLISHED) -> list[Record]:
    """The records of the run of a variant that stands beside the paper's."""
    run = results.standing_for(variant)
    return [] if run is None else run.measured(way)


def table(name: str, records: Sequence[Record]) -> str:
    """A table of the paper, or a line on what it lacks."""
    if not any(record.suite in {suite.name for suite in COLLECTIONS[name]} for record in records):
        return f"No records for the table `{name}` yet (`gridsum reproduce --only measure` makes them).\n"
    try:
        return to_markdown(TABLES[name](list(records)))
    except TableError as why:
        return f"No table `{name}` yet: {why}.\n"


class Cell(NamedTuple):
    """One number of the paper's Tables III and IV beside ours."""

    record: Record
    measure: Measure
    known: float

    @property
    def comparison(self) -> Comparison:
        return against_paper(self.record, self.measure, self.known)

    @property
    def standing(self) -> str:
        standing, difference, *_ = self.comparison
        return standing if standing in REACHED else f"{standing}, {difference:+.3f}"


def cells(results: Results) -> list[Cell]:
    """Every number of Tables III and IV that our best runs have been measured for."""
    records = {name: {record.suite: record for record in headline(results, name)} for name in OVERTRAINED}
    return list(_beside(records))


def _beside(records: Mapping[str, Mapping[str, Record]]) -> Iterator[Cell]:
    """The numbers of Tables III and IV beside these records, which are by variant and suite."""
    for published in (paper.COMPARISON, paper.LONG_DIGITS, paper.LONG_TERMS):
        for name, scores in published.items():
            for suite, score in scores.items():
                if suite in records.get(name, {}):
                    yield from (Cell(records[name][suite], m, getattr(score, m)) for m in _MEASURES)


def every_best_run(results: Results) -> str:
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
                reached = sum(cell.comparison.standing in REACHED for cell in found)
                counts.append(f"{reached} of {len(found)}")
            rows.append((further.name, str(seed), *counts, "yes" if seed == shown.seed else ""))
    if not rows:
        return ""
    caption = (
        "Of the numbers that the paper gives for the variant in Tables III and IV, those passed or reached. Hard: "
        f"terms of {LEAKY_DIGITS} digits or more are placed by the most probable action, all others as before."
    )
    header = ("training", "seed", "soft placement, as in the paper", "hard", "beside the paper's")
    return to_markdown(Table("Every overtrained run", caption, header, tuple(rows)))


def best_in_brief(results: Results) -> str:
    """Tables III and IV in one: a line for each suite and model, characters / whole results."""
    found = cells(results)
    if not found:
        return "Nothing can be compared with Tables III and IV yet (`gridsum reproduce --only measure`).\n"
    every = {(r.variant, r.suite): r for name in OVERTRAINED for r in headline(results, name, ON_EVERY_GRID)}
    rows = []
    for char, seq in zip(found[::2], found[1::2], strict=True):
        record = char.record
        ours, known = both_text(record), f"{accuracy_text(char.known)} / {accuracy_text(seq.known)}"
        others = [both_text(every.get((record.variant, record.suite)))] if every else []
        short = [f"{cell.measure} {cell.standing}" for cell in (char, seq) if cell.comparison.standing not in REACHED]
        rows.append((record.suite, f"{record.model} {record.seed}", ours, *others, known, "; ".join(short)))
    grids = ", ".join(sorted({cell.record.grids for cell in found}))
    caption = (
        f"Characters / whole results right. The model's number is its training seed. Ours is on {grids} grids"
        + (", then on every size equally" if every else "")
        + f". {ROUNDING} {_CRITERION}"
    )
    header = ("suite", "model", "ours", *(["every grid"] if every else []), "paper", "not reached")
    return to_markdown(Table("The best models", caption, header, tuple(rows)))


def both_text(record: Record | None) -> str:
    """Accuracy by characters / of whole results."""
    return NOTHING if record is None else f"{accuracy_text(record.char)} / {accuracy_text(record.seq)}"


def standings(results: Results) -> str:
    """Which numbers of Tables III and IV are reached, and how far off the others are."""
    found = cells(results)
    if not found:
        return "Nothing can be compared yet.\n"
    rows = [
        (
            cell.record.model,
            cell.record.suite,
            cell.measure,
            f"{getattr(cell.record, cell.measure):.4f}",
            accuracy_text(cell.known),
            cell.standing,
        )
        for cell in found
    ]
    return to_markdown(
        Table(
            "Number by number (Tables III and IV)",
            f"{tally([cell.comparison.standing for cell in found])} {_CRITERION}",
            ("model", "suite", "measure", "ours", "paper", "standing"),
            tuple(rows),
        )
    )


def tally(found: Sequence[Standing]) -> str:
    counts = ", ".join(f"{found.count(kind)} {kind}" for kind in STANDINGS)
    return f"Of {len(found)} numbers: {counts}."


class Mean(NamedTuple):
    """One number of Table VI: a variant's mean over seeds beside the paper's."""

    suite: str
    variant: str
    measure: Measure
    comparison: Comparison


def means(records: Sequence[Record]) -> Iterator[Mean]:
    """Every number of Table VI that has been measured for two seeds or more."""
    for suite in ABLATION_SUITES:
        for variant, known in paper.ABLATION.items():
            found = [record for record in records if (record.variant, record.suite) == (variant, suite)]
            if len(found) < 2:
                continue
            for measure in _MEASURES:
                ours, theirs = spread([getattr(r, measure) for r in found]), getattr(known[suite], measure)
                yield Mean(suite, variant, measure, means_against_paper(ours, len(found), theirs))


def standard_records(results: Results) -> list[Record]:
    """Of all runs of the standard trainings."""
    return [record for trained in results.variants for record in trained.reported]


def variants_in_brief(records: Sequence[Record], title: str = "The variants") -> str:
    """Table VI in brief: a line for each variant, ours beside the paper's."""
    rows = []
    for variant, known in paper.ABLATION.items():
        row = []
        for suite in ABLATION_SUITES:
            found = [record for record in records if (record.variant, record.suite) == (variant, suite)]
            for measure in _MEASURES:
                ours = spread_text(spread([getattr(r, measure) for r in found]), best=False) if found else NOTHING
                row.append(f"{ours} ({spread_text(getattr(known[suite], measure), best=False)})")
        rows.append((variant, *row))
    header = ("variant", *(f"{suite} {measure}" for suite in ABLATION_SUITES for measure in _MEASURES))
    caption = "Mean ± sd over training seeds, in brackets the paper's over ten."
    return to_markdown(Table(title, caption, header, tuple(rows)))


def mean_standings(records: Sequence[Record], title: str = "Our means minus the paper's (Table VI)") -> str:
    """Table VI: our means over seeds against the paper's."""
    found = list(means(records))
    if not found:
        return ""
    rows = tuple(
        (
            mean.suite,
            mean.variant,
            mean.measure,
            f"{of.difference:+.2f}",
            f"{of.low:.2f} to {of.high:.2f}",
            of.standing,
        )
        for mean in found
        for of in [mean.comparison]
    )
    caption = (
        f"{tally([mean.comparison.standing for mean in found])} Minus the paper's: the difference of the means. The "
        f"interval is Student's of our mean over seeds. {_CRITERION} The paper's sd, if it is larger, takes "
        f"the place of {MARGIN}."
    )
    header = ("suite", "variant", "measure", "minus the paper's", f"{CONFIDENCE:.0%} interval", "standing")
    return to_markdown(Table(title, caption, header, rows))


def inside_the_papers_spread(records: Sequence[Record]) -> tuple[int, int]:
    """Of how many variants the mean of whole results on more terms is at least the paper's mean − sd; of how many."""
    suite = ABLATION_SUITES[1]
    inside = measured = 0
    for variant, known in paper.ABLATION.items():
        values = [record.seq for record in records if (record.variant, record.suite) == (variant, suite)]
        if values:
            measured += 1
            inside += spread(values).mean >= known[suite].seq.mean - known[suite].seq.sd
    return inside, measured


def other_readings(folder: Path) -> dict[str, list[Record]]:
    """Records under other readings of the paper, FOLDER/READING/ablation.jsonl, by the reading's name."""
    return {path.parent.name: read([path]) for path in sorted(folder.glob("*/ablation.jsonl"))}


def p_text(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"
