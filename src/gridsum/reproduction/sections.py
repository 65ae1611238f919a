"""The parts of the results page, each a function of what a campaign's folder holds.

A part whose records are missing says so, with the command that makes them.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from gridsum.evaluation import paper
from gridsum.evaluation.records import Record
from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.evaluation.statistics import CLAIMS, Finding, findings, pairs_of, rank_test, verdict_of
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import MISSING, TABLES, accuracy_text, spread
from gridsum.evaluation.verdicts import Standing, against_paper, means_against_paper
from gridsum.reproduction.campaign import OVERTRAINED, REPORTED, overtrained_name
from gridsum.reproduction.readings import READINGS
from gridsum.reproduction.results import Results, Trained
from gridsum.reproduction.selection import AIMS, DIGITS, TERMS
from gridsum.training.folders import seed_folder
from gridsum.variants import VARIANTS

HEADLINE = {"base": "terms", "noGroups": "digits"}
"""What the paper shows each of its two best models for: the run that its numbers are compared with."""
PAPER_HOURS = {name: 40.0 if name == "ponderReg" else 20.0 for name in VARIANTS}
"""GPU hours of ten runs: 2 a run, 4 for ponderReg. The paper gives the 2 for base; of the rest it says nothing."""
_ABLATION_SUITES = [suite.name for suite in COLLECTIONS["ablation"]]
_CYCLE = 30
"""Epochs of the last cosine, over which trained networks' steps are averaged."""


def missing(results: Results) -> list[str]:
    """What a whole reproduction has and this one lacks, in words."""
    found = []
    for name in [*VARIANTS, *map(overtrained_name, OVERTRAINED)]:
        trained = results.trained.get(name)
        if trained is None:
            found.append(f"the training of {name}")
            continue
        behind = min((log[-1]["epoch"] if log else 0 for log in trained.logs.values()), default=0)
        if behind < trained.config.training.epochs and not set_aside(trained):
            found.append(f"epochs {behind + 1} to {trained.config.training.epochs} of {name}")
        lacking = [suite.name for suite in REPORTED if len(trained.of(suite.name)) < len(trained.seeds)]
        if lacking:
            what = "all suites" if len(lacking) == len(REPORTED) else ", ".join(lacking)
            found.append(f"records of {name} on {what}")
        if not results.chosen(name):
            found.append(f"the validation of {name}")
    return found


def set_aside(trained: Trained) -> dict[int, int]:
    """The runs that diverged, with the last sound epoch of each: their logs end before the others'."""
    last = {seed: log[-1]["epoch"] if log else 0 for seed, log in trained.logs.items()}
    return {seed: epoch for seed, epoch in last.items() if epoch < max(last.values(), default=0)}


def best_models(results: Results) -> list[Record]:
    """The reported records of the runs that Tables III to V show: those overtrained, or chosen to be."""
    records: list[Record] = []
    for name in OVERTRAINED:
        trained = results.overtrained.get(name)
        if trained is not None and trained.reported:
            records += trained.reported
        elif name in results.trained:
            chosen = set(results.chosen(name).values())
            records += [record for record in results.trained[name].reported if record.seed in chosen]
    return records


def headline(results: Results, name: str) -> list[Record]:
    """The records of the run of a variant that stands beside the paper's."""
    seed = results.chosen(name).get(HEADLINE[name])
    return [record for record in best_models(results) if record.variant == name and record.seed == seed]


def best_run(results: Results, name: str) -> Path | None:
    """The folder of that run, overtrained if it has been."""
    seed = results.chosen(name).get(HEADLINE[name])
    if seed is None:
        return None
    further = results.overtrained.get(name)
    trained = name if further is None or seed not in further.seeds else further.name
    return seed_folder(results.folder / trained, seed)


def table(name: str, records: Sequence[Record]) -> str:
    """A table of the paper, or a line on what it lacks."""
    if not any(record.suite in {suite.name for suite in COLLECTIONS[name]} for record in records):
        return f"No records for the table `{name}` yet (`gridsum reproduce --only measure` makes them).\n"
    return to_markdown(TABLES[name](list(records)))


class Cell:
    """One number of the paper's Tables III and IV beside ours."""

    def __init__(self, record: Record, measure: str, known: float) -> None:
        self.record, self.measure, self.known = record, measure, known
        counts = {"char": (record.chars_right, record.chars_valid), "seq": (record.sequences_right, record.samples)}
        self.comparison = against_paper(*counts[measure], known)


def cells(results: Results) -> list[Cell]:
    """Every number of Tables III and IV that our best runs have been measured for."""
    found = []
    for published in (paper.COMPARISON, paper.LONG_DIGITS, paper.LONG_TERMS):
        for name, scores in published.items():
            records = {record.suite: record for record in headline(results, name)}
            for suite, score in scores.items():
                if suite in records:
                    found += [Cell(records[suite], "char", score.char), Cell(records[suite], "seq", score.seq)]
    return found


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
            f"{_own(cell):.4f}",
            accuracy_text(cell.known),
            _standing(cell.comparison.standing, cell.comparison.difference),
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


def _own(cell: Cell) -> float:
    return getattr(cell.record, cell.measure)


def _standing(standing: Standing, difference: float) -> str:
    return f"short by {-difference:.3f}" if standing == "short" else standing


def tally(found: Sequence[Standing]) -> str:
    counts = ", ".join(f"{found.count(kind)} {kind}" for kind in ("passed", "reached", "short"))
    return f"Of {len(found)} numbers: {counts}."


def mean_standings(results: Results) -> str:
    """Table VI: our means over seeds against the paper's."""
    rows, found = [], []
    for suite in _ABLATION_SUITES:
        for trained in results.variants:
            records = trained.of(suite)
            if len(records) < 2:
                continue
            for measure in ("char", "seq"):
                ours = spread([getattr(record, measure) for record in records])
                known = getattr(paper.ABLATION[trained.name][suite], measure)
                compared = means_against_paper(ours, len(records), known)
                found.append(compared.standing)
                reach = f"{compared.low:+.2f} to {compared.high:+.2f}"
                rows.append((suite, trained.name, measure, f"{compared.difference:+.2f}", reach, compared.standing))
    if not rows:
        return ""
    return to_markdown(
        Table(
            "Our means minus the paper's (Table VI)",
            f"{tally(found)} The interval is Welch's at 95%; passed and short where it excludes zero. The paper's "
            "spreads are taken as the sample's.",
            ("suite", "variant", "measure", "difference", "95% interval", "standing"),
            tuple(rows),
        )
    )


def selection(results: Results) -> str:
    """How runs were chosen, with the validation's counts of every run."""
    rows = []
    for name in results.trained:
        chosen = results.chosen(name)
        for seed in results.trained[name].seeds:
            aims = [aim for aim, best in chosen.items() if best == seed]
            records = [results.trained[name].validated(suite, seed) for suite in AIMS.values()]
            if any(records):
                rows.append((name, str(seed), *map(_counted, records), " and ".join(aims)))
    if not rows:
        return "No run has been validated yet (`gridsum reproduce --only validate`).\n"
    return to_markdown(
        Table(
            "Validation",
            "Whole results right, and the accuracy by characters; best for: the run with most results right, by "
            "characters where runs are equal. The problems are of spaces that no table reports, with an evaluation "
            "seed of their own.",
            ("training", "seed", f"digits: {DIGITS}", f"terms: {TERMS}", "best for"),
            tuple(rows),
        )
    )


def _counted(record: Record | None) -> str:
    if record is None:
        return MISSING
    return f"{record.sequences_right} of {record.samples}, {accuracy_text(record.char)}"


def every_seed(results: Results) -> str:
    """Each run of the standard training, failures included."""
    rows = []
    for trained in [*results.variants, *results.overtrained.values()]:
        failed = set_aside(trained)
        for seed, log in trained.logs.items():
            last = log[-1] if log else {}
            epochs = f"{last.get('epoch', 0)}" + (" (diverged)" if seed in failed else "")
            steps = statistics.fmean(line["steps"] for line in log[-_CYCLE:]) if log else math.nan
            records = {record.suite: record for record in trained.reported if record.seed == seed}
            scores = [
                f"{accuracy_text(records[suite].char)} / {accuracy_text(records[suite].seq)}"
                if suite in records
                else MISSING
                for suite in _ABLATION_SUITES
            ]
            accuracy = f"{last['accuracy']:.3f}" if last else MISSING
            rows.append((trained.name, str(seed), epochs, accuracy, f"{steps:.1f}", *scores))
    return to_markdown(
        Table(
            "Every run",
            f"Accuracy: by characters on the training problems of the last epoch. Steps: the mean in the last {_CYCLE} "
            "epochs. Then accuracy by character / by sequence.",
            ("training", "seed", "epochs", "accuracy", "steps", *_ABLATION_SUITES),
            tuple(rows),
        )
    )


def orderings(results: Results) -> str:
    """The paper's claims on which variant is best, tested over seeds."""
    found = findings(record for trained in results.variants for record in trained.reported)
    lines = "".join(f"- {claim.text}: **{verdict_of(claim, found)}**\n" for claim in CLAIMS)
    rows = tuple(_finding_row(finding) for finding in found.values() if finding.p is not None)
    if not rows:
        return lines
    sizes = ", ".join(str(len(pairs_of(claim))) for claim in CLAIMS)
    caption = (
        "Mann–Whitney's test, exact, two-sided, over training seeds. δ is Cliff's: 1 where every seed of the first is "
        "above every seed of the second, −1 the other way round. Holm: p corrected for all comparisons made. The "
        f"claims consist of {sizes} comparisons, some of them shared; {len(found) - len(rows)} are not measured yet. A "
        "claim is confirmed when all its comparisons are, and refuted when one is."
    )
    header = ("suite", "measure", "comparison", "seeds", "means", "δ", "p", "Holm", "verdict")
    return lines + "\n" + to_markdown(Table("Comparisons", caption, header, rows))


def _finding_row(finding: Finding) -> tuple[str, ...]:
    pair = finding.pair
    start = (pair.suite, pair.measure, f"{pair.better} > {pair.worse}", "/".join(map(str, finding.seeds)))
    if finding.means is None or finding.effect is None or finding.p is None or finding.corrected is None:
        return (*start, MISSING, MISSING, MISSING, MISSING, finding.verdict)
    means = f"{finding.means[0]:.3f} / {finding.means[1]:.3f}"
    return (*start, means, f"{finding.effect:+.2f}", p_text(finding.p), p_text(finding.corrected), finding.verdict)


def p_text(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def cost(results: Results) -> str:
    """What training took, beside the paper."""
    rows = []
    total = 0.0
    for trained in results.trained.values():
        seconds = trained_seconds(trained)
        total += seconds or 0.0
        hours = PAPER_HOURS.get(trained.name)
        where = sorted({stretch["device"] for stretch in trained.machines})
        wall = sum(stretch["seconds"] for stretch in trained.machines)
        rows.append(
            (
                trained.name,
                str(len(trained.seeds)),
                MISSING if seconds is None else f"{seconds / 60:.1f} min",
                f"{wall / 60:.1f} min" if where else MISSING,
                ", ".join(where) or "not logged",
                trained.config.training.precision,
                MISSING if hours is None else f"{hours:.0f} h",
            )
        )
    caption = (
        f"Epochs: the sum of the epochs' times in the logs, {total / 3600:.2f} h in all. With start-up: from the call "
        "to its end, compilation included. A fleet's runs are one computation. The paper trained 50 runs on a Tesla "
        f"K80: about {sum(PAPER_HOURS.values()):.0f} h, if noGroups, SASA and fixedTime took the 2 h a run that it "
        "gives for base."
    )
    header = ("training", "runs", "epochs", "with start-up", "on", "precision", "paper, ten runs")
    return to_markdown(Table("What training took", caption, header, tuple(rows)))


def trained_seconds(trained: Trained) -> float | None:
    """The time of all epochs of a fleet, whose runs are one computation; None where logs lack it."""
    longest = max(trained.logs.values(), key=len, default=[])
    times = [line.get("seconds") for line in longest]
    return None if not times or None in times else math.fsum(time for time in times if time is not None)


def halting(results: Results) -> str:
    """Explore-Reinforce against KL: recurrent steps in training, and the time they cost."""
    sides = [results.trained.get(name) for name in ("base", "ponderReg")]
    if sides[0] is None or sides[1] is None:
        return "This needs the trainings of base and ponderReg (`gridsum reproduce --only train`).\n"
    explored, divergence = sides[0], sides[1]
    spans = {"all epochs": None, f"the last {_CYCLE} epochs": _CYCLE}
    rows = []
    for span, epochs in spans.items():
        first, second = (_mean_steps(trained, epochs) for trained in (explored, divergence))
        test = rank_test(first, second)
        means = statistics.fmean(first), statistics.fmean(second)
        rows.append((span, *map(_with_sd, (first, second)), f"{means[1] / means[0]:.2f}", p_text(test.p)))
    times = trained_seconds(explored), trained_seconds(divergence)
    ratio = f"{times[1] / times[0]:.2f}" if times[0] and times[1] else MISSING
    shown = [MISSING if time is None else f"{time:.0f} s" for time in times]
    rows.append(("time of all epochs", *shown, ratio, MISSING))
    return to_markdown(
        Table(
            "Recurrent steps during training",
            "Mean ± sd over seeds of the steps expected under the halting distribution. The ratio is KL's to "
            "Explore-Reinforce's; in the paper Explore-Reinforce takes much fewer steps, and half the time (2 h "
            "against 4 h a run). p: Mann–Whitney's exact test over seeds.",
            ("over", "Explore-Reinforce (base)", "KL (ponderReg)", "ratio", "p"),
            tuple(rows),
        )
    )


def _mean_steps(trained: Trained, epochs: int | None) -> list[float]:
    """By seed, over the last so many epochs."""
    logs = (log if epochs is None else log[-epochs:] for log in trained.logs.values() if log)
    return [statistics.fmean(line["steps"] for line in log) for log in logs]


def _with_sd(values: Sequence[float]) -> str:
    found = spread(list(values))
    return f"{found.mean:.1f} ± {found.sd:.1f}"


def readings(results: Results) -> str:
    """What other readings of the paper change."""
    if not results.readings:
        return "None has been trained yet (`gridsum reproduce --ablations`).\n"
    rows = []
    base = results.trained.get("base")
    compared: Mapping[str, Trained] = ({"base": base} if base else {}) | results.readings
    for name, trained in compared.items():
        scores = [_spread_of(trained.of(suite)) for suite in _ABLATION_SUITES]
        steps = _with_sd(_mean_steps(trained, _CYCLE)) if any(trained.logs.values()) else MISSING
        rows.append((name, str(len(trained.seeds)), steps, *scores))
    lines = [f"- `{name}`: {READINGS[name].why} ({_changes(name)})" for name in results.readings]
    shown = Table(
        "base under other readings",
        f"Steps in the last {_CYCLE} epochs of training, then accuracy by sequence: mean ± sd (best) over seeds.",
        ("reading", "seeds", "steps", *_ABLATION_SUITES),
        tuple(rows),
    )
    return "\n".join(lines) + "\n\n" + to_markdown(shown)


def _changes(reading: str) -> str:
    return ", ".join(f"`{path}={value}`" for path, value in READINGS[reading].changes.items())


def _spread_of(records: Sequence[Record]) -> str:
    if not records:
        return MISSING
    found = spread([record.seq for record in records])
    return f"{accuracy_text(found.mean)}±{found.sd:.2f} ({accuracy_text(found.best)})"
