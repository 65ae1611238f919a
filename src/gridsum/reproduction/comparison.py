"""Ours beside the paper's: tables and standings. Each part is a function of what a campaign's folder holds."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gridsum.evaluation import paper
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import MISSING, ROUNDING, TABLES, accuracy_text, spread, spread_text
from gridsum.evaluation.verdicts import Comparison, MeanComparison, Standing, against_paper, means_against_paper
from gridsum.reproduction.campaign import OVERTRAINED
from gridsum.reproduction.results import Results

HEADLINE = {"base": "terms", "noGroups": "digits"}
"""What the paper shows each of its two best models for: the run that its numbers are compared with."""
ABLATION_SUITES = tuple(suite.name for suite in COLLECTIONS["ablation"])
_MEASURES = ("char", "seq")


def best_models(results: Results) -> list[Record]:
    """The reported records of the runs that Tables III to V show: those overtrained, or chosen to be."""
    records: list[Record] = []
    for variant in OVERTRAINED:
        further = results.overtrained(variant)
        if further is not None and further.reported:
            records += further.reported
        elif variant in results.trained:
            chosen = set(results.chosen(variant).values())
            records += [record for record in results.trained[variant].reported if record.seed in chosen]
    return records


def headline(results: Results, variant: str) -> list[Record]:
    """The records of the run of a variant that stands beside the paper's."""
    seed = results.chosen(variant).get(HEADLINE[variant])
    return [record for record in best_models(results) if record.variant == variant and record.seed == seed]


def table(name: str, records: Sequence[Record]) -> str:
    """A table of the paper, or a line on what it lacks."""
    if not any(record.suite in {suite.name for suite in COLLECTIONS[name]} for record in records):
        return f"No records for the table `{name}` yet (`gridsum reproduce --only measure` makes them).\n"
    return to_markdown(TABLES[name](list(records)))


class Cell(NamedTuple):
    """One number of the paper's Tables III and IV beside ours."""

    record: Record
    measure: str
    known: float

    @property
    def comparison(self) -> Comparison:
        record = self.record
        counts = {"char": (record.chars_right, record.chars_valid), "seq": (record.sequences_right, record.samples)}
        return against_paper(*counts[self.measure], self.known)

    @property
    def standing(self) -> str:
        standing, difference = self.comparison
        if standing != "short":
            return standing
        return f"short by {-difference:.3f}" if difference < -0.0005 else "short by less than 0.001"


def cells(results: Results) -> list[Cell]:
    """Every number of Tables III and IV that our best runs have been measured for."""
    found = []
    for published in (paper.COMPARISON, paper.LONG_DIGITS, paper.LONG_TERMS):
        for name, scores in published.items():
            records = {record.suite: record for record in headline(results, name)}
            for suite, score in scores.items():
                if suite in records:
                    found += [Cell(records[suite], measure, getattr(score, measure)) for measure in _MEASURES]
    return found


def best_in_brief(results: Results) -> str:
    """Tables III and IV in one: a line for each suite and model, characters / whole results."""
    found = cells(results)
    if not found:
        return "Nothing can be compared with Tables III and IV yet (`gridsum reproduce --only measure`).\n"
    rows = []
    for char, seq in zip(found[::2], found[1::2], strict=True):
        record = char.record
        ours = f"{accuracy_text(record.char)} / {accuracy_text(record.seq)}"
        known = f"{accuracy_text(char.known)} / {accuracy_text(seq.known)}"
        short = [f"{cell.measure} {cell.standing}" for cell in (char, seq) if cell.comparison.standing == "short"]
        rows.append((record.suite, f"{record.model} {record.seed}", ours, known, ", ".join(short)))
    caption = (
        f"Characters / whole results right. The model's number is its training seed. {ROUNDING} Short: the 95% "
        "interval of ours lies below all that the printed number can mean."
    )
    return to_markdown(Table("The best models", caption, ("suite", "model", "ours", "paper", "short"), tuple(rows)))


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
            f"{tally([cell.comparison.standing for cell in found])} Passed: the 95% interval of ours lies above all "
            "that the printed number can mean. Reached: at least the printed number, or the interval touches it. "
            "Short: by how much ours lies below the printed number.",
            ("model", "suite", "measure", "ours", "paper", "standing"),
            tuple(rows),
        )
    )


def tally(found: Sequence[Standing]) -> str:
    counts = ", ".join(f"{found.count(kind)} {kind}" for kind in ("passed", "reached", "short"))
    return f"Of {len(found)} numbers: {counts}."


class Mean(NamedTuple):
    """One number of Table VI: a variant's mean over seeds, minus the paper's."""

    suite: str
    variant: str
    measure: str
    comparison: MeanComparison


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
                ours = spread_text(spread([getattr(r, measure) for r in found]), best=False) if found else MISSING
                row.append(f"{ours} ({spread_text(getattr(known[suite], measure), best=False)})")
        rows.append((variant, *row))
    header = ("variant", *(f"{suite} {measure}" for suite in ABLATION_SUITES for measure in _MEASURES))
    caption = "Mean ± sd over training seeds, in brackets the paper's over ten."
    return to_markdown(Table(title, caption, header, tuple(rows)))


def mean_standings(records: Sequence[Record]) -> str:
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
            f"{of.low:+.2f} to {of.high:+.2f}",
            of.standing,
        )
        for mean in found
        for of in [mean.comparison]
    )
    caption = (
        f"{tally([mean.comparison.standing for mean in found])} The interval is Welch's at 95%. Passed and short: it "
        "excludes zero. Reached: it does not, which is no proof that the means are equal. The paper's spreads are "
        "taken as the sample's."
    )
    header = ("suite", "variant", "measure", "difference", "95% interval", "standing")
    return to_markdown(Table("Our means minus the paper's (Table VI)", caption, header, rows))


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
