"""An account of the reproduction itself: what is missing, how runs were chosen, every seed, cost, halting."""

import statistics
from collections.abc import Iterator

from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.orderings import rank_test
from gridsum.evaluation.records import NOTHING, Record
from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import accuracy_text, spread
from gridsum.study.comparison import ABLATION_SUITES, both_text, p_text
from gridsum.study.reproduction import LEAKY_DIGITS, OVERTRAINED, REPORTED, overtrained_name
from gridsum.study.results import Results, Trained
from gridsum.study.selection import AIMS, DIGITS, TERMS

PAPER_HOURS = {name: 40.0 if name == "ponderReg" else 20.0 for name in PAPER_VARIANTS}
"""GPU hours of ten runs: 2 a run, 4 for ponderReg. The paper gives the 2 for base; of the rest it says nothing."""
CYCLE = 30
"""Epochs of the last cosine, over which trained networks' steps are averaged."""


def missing(results: Results) -> list[str]:
    """What a whole reproduction has and this one lacks, in words."""
    found = []
    for name in [*PAPER_VARIANTS, *map(overtrained_name, OVERTRAINED)]:
        trained = results.trained.get(name)
        if trained is None:
            found.append(f"the training of {name}")
            continue
        behind = min((run.epochs for run in trained.summary.runs.values()), default=0)
        if behind < trained.config.training.epochs and not set_aside(trained):
            found.append(f"epochs {behind + 1} to {trained.config.training.epochs} of {name}")
        suites = [suite.name for suite in REPORTED]
        lacking = [suite for suite in suites if len(trained.of(suite)) < len(trained.seeds)]
        if lacking:
            what = "all suites" if lacking == suites else ", ".join(lacking)
            found.append(f"records of {name} on {what}")
        if not results.chosen(name):
            found.append(f"the validation of {name}")
    return found


def set_aside(trained: Trained) -> dict[int, int]:
    """The runs that diverged, with the last sound epoch of each: their logs end before the others'."""
    last = {seed: run.epochs for seed, run in trained.summary.runs.items()}
    return {seed: epoch for seed, epoch in last.items() if epoch < max(last.values(), default=0)}


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
        return NOTHING
    return f"{record.sequences_right} of {record.samples}, {accuracy_text(record.char)}"


def every_seed(results: Results) -> str:
    """Each run, failures included."""
    rows = []
    for trained in results.trained.values():
        failed = set_aside(trained)
        for seed, run in trained.summary.runs.items():
            epochs = f"{run.epochs}" + (" (diverged)" if seed in failed else "")
            steps = f"{statistics.fmean(run.steps[-CYCLE:]):.1f}" if run.steps else NOTHING
            accuracy = NOTHING if run.accuracy is None else f"{run.accuracy:.3f}"
            scores = _scores(trained.reported, seed)
            rows.append((trained.name, str(seed), epochs, accuracy, steps, *scores))
        for seed in sorted({record.seed or 0 for record in trained.extra}):
            rows.append((trained.name, str(seed), NOTHING, NOTHING, NOTHING, *_scores(trained.extra, seed)))
    return to_markdown(
        Table(
            "Every run",
            f"Accuracy: by characters on the training problems of the last epoch. Steps: the mean in the last {CYCLE} "
            "epochs. Then accuracy by character / by sequence. Of seeds without epochs only the records are kept.",
            ("training", "seed", "epochs", "accuracy", "steps", *ABLATION_SUITES),
            tuple(rows),
        )
    )


def _scores(records: list[Record], seed: int) -> list[str]:
    found = {record.suite: record for record in records if record.seed == seed}
    return [both_text(found.get(suite)) for suite in ABLATION_SUITES]


def placement(results: Results) -> str:
    """What soft placement loses of long terms, run by run."""
    suites = [suite.name for suite in COLLECTIONS["comparison"] if suite.space.digits[1] >= LEAKY_DIGITS]
    rows = []
    for trained in results.trained.values():
        for seed, leak in sorted(trained.leakage.items()):
            digit, share = leak.worst
            row = [trained.name, str(seed), f"{digit}: {share:.1e}", f"{leak.lost:.2g}"]
            for suite in suites:
                for way in (("every", "soft"), ("every", "hard")):
                    found = [r for r in trained.measured(way) if (r.seed, r.suite) == (seed, suite)]
                    row.append(both_text(found[0] if found else None))
            rows.append(tuple(row))
    if not rows:
        return "Nothing is known of it yet (`gridsum reproduce --only measure`).\n"
    header = ("training", "seed", "worst digit: 1 − p", "lost per 100 digits")
    header += tuple(f"{suite} {placement}" for suite in suites for placement in ("soft", "hard"))
    caption = (
        "A digit should move all that stands before it (TLU). 1 − p is how much of it the most probable action does "
        "not get. Lost: how many positions 100 digits are expected to lose. Then accuracy by character / by sequence, "
        "on every grid size, by soft placement, which is the paper's, and by the most probable actions."
    )
    return to_markdown(Table("Placement", caption, header, tuple(rows)))


def cost(results: Results) -> str:
    """What training took, beside the paper."""
    rows = []
    for name, trained in results.trained.items():
        hours = PAPER_HOURS.get(name)
        where = sorted({stretch["device"] for stretch in trained.machines})
        wall = sum(stretch["seconds"] for stretch in trained.machines)
        rows.append(
            (
                name,
                str(len(trained.seeds)),
                _minutes(trained.summary.seconds),
                _minutes(wall if where else None),
                ", ".join(where) or "not logged",
                trained.config.training.precision,
                NOTHING if hours is None else f"{hours:.0f} h",
            )
        )
    caption = (
        f"Epochs: the time of all epochs, {training_hours(results):.2f} h in all. With start-up: from the call to "
        "its end, compilation included. A fleet's runs are one computation; several fleets of one training add up. "
        "One that shared its GPU with other work took longer for it, which logs do not say. The paper trained 50 runs "
        f"on a Tesla K80: about {sum(PAPER_HOURS.values()):.0f} h, if noGroups, SASA and fixedTime took the 2 h a "
        "run that it gives for base."
    )
    header = ("training", "runs", "epochs", "with start-up", "on", "precision", "paper, ten runs")
    return to_markdown(Table("What training took", caption, header, tuple(rows)))


def training_hours(results: Results) -> float:
    return sum(trained.summary.seconds or 0.0 for trained in results.trained.values()) / 3600


def _minutes(seconds: float | None) -> str:
    return NOTHING if seconds is None else f"{seconds / 60:.1f} min"


def halting(results: Results) -> str:
    """Explore-Reinforce against KL: recurrent steps in training, and the time they cost."""
    pair = regularisers(results)
    if pair is None:
        return "This needs the trainings of base and ponderReg (`gridsum reproduce --only train`).\n"
    return to_markdown(
        Table(
            "Recurrent steps during training",
            "Mean ± sd over seeds of the steps expected under the halting distribution, runs that never learned "
            "included. The ratio is KL's to Explore-Reinforce's; in the paper Explore-Reinforce takes much fewer "
            "steps, and half the time (2 h against 4 h a run). p: Mann–Whitney's exact test over seeds.",
            ("over", "Explore-Reinforce", "KL", "ratio", "p"),
            tuple(_halting_rows(*pair)),
        )
    )


def _halting_rows(explored: Trained, divergence: Trained) -> Iterator[tuple[str, ...]]:
    for span, epochs in {"all epochs": None, f"the last {CYCLE} epochs": CYCLE}.items():
        first, second = (mean_steps(trained, epochs) for trained in (explored, divergence))
        ratio = statistics.fmean(second) / statistics.fmean(first)
        yield span, *map(_steps_text, (first, second)), f"{ratio:.2f}", p_text(rank_test(first, second).p)
    times = explored.summary.seconds, divergence.summary.seconds
    ratio = f"{times[1] / times[0]:.2f}" if times[0] and times[1] else NOTHING
    yield "time of all epochs", *map(_minutes, times), ratio, NOTHING


def regularisers(results: Results) -> tuple[Trained, Trained] | None:
    """The trainings with Explore-Reinforce and with KL, once both have begun."""
    explored, divergence = results.trained.get("base"), results.trained.get("ponderReg")
    if explored is None or divergence is None or not mean_steps(explored) or not mean_steps(divergence):
        return None
    return explored, divergence


def mean_steps(trained: Trained, epochs: int | None = None) -> list[float]:
    """By seed, over the last so many epochs."""
    runs = (run.steps if epochs is None else run.steps[-epochs:] for run in trained.summary.runs.values())
    return [statistics.fmean(steps) for steps in runs if steps]


def _steps_text(values: list[float]) -> str:
    found = spread(values)
    return f"{found.mean:.1f}" if len(values) == 1 else f"{found.mean:.1f} ± {found.sd:.1f}"
