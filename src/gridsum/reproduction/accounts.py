"""An account of the campaign itself: what is missing, how runs were chosen, every seed, cost, halting."""

import math
import statistics
from collections.abc import Iterator, Sequence

from gridsum.ablations import ablations_of
from gridsum.evaluation.records import Record
from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.evaluation.statistics import rank_test
from gridsum.evaluation.tables import MISSING, accuracy_text, spread
from gridsum.reproduction.campaign import is_followed, is_overtrained, overtrained_name, reported
from gridsum.reproduction.comparison import ABLATION_SUITES, p_text
from gridsum.reproduction.results import Results, Trained
from gridsum.reproduction.selection import AIMS, DIGITS, TERMS
from gridsum.variants import PAPER_VARIANTS

PAPER_HOURS = {name: 40.0 if name == "ponderReg" else 20.0 for name in PAPER_VARIANTS}
"""GPU hours of ten runs: 2 a run, 4 for ponderReg. The paper gives the 2 for base; of the rest it says nothing."""
CYCLE = 30
"""Epochs of the last cosine, over which trained networks' steps are averaged."""


def missing(results: Results) -> list[str]:
    """What a whole reproduction has and this one lacks, in words.

    It has all variants as specified. To train any under the reading that is followed is its own choice, so what a
    training of that reading lacks is missing only once it was begun.
    """
    found = []
    standard = [*PAPER_VARIANTS, *filter(is_followed, results.readings)]
    for name in [*standard, *(overtrained_name(name) for name in standard if is_overtrained(name))]:
        trained = results.trained.get(name)
        if trained is None:
            found.append(f"the training of {name}")
            continue
        behind = min((log[-1]["epoch"] if log else 0 for log in trained.logs.values()), default=0)
        if behind < trained.config.training.epochs and not set_aside(trained):
            found.append(f"epochs {behind + 1} to {trained.config.training.epochs} of {name}")
        suites = [suite.name for suite in reported(name)]
        lacking = [suite for suite in suites if len(trained.of(suite)) < len(trained.seeds)]
        if lacking:
            what = "all suites" if lacking == suites else ", ".join(lacking)
            found.append(f"records of {name} on {what}")
        if not results.chosen(name):
            found.append(f"the validation of {name}")
    return found


def set_aside(trained: Trained) -> dict[int, int]:
    """The runs that diverged, with the last sound epoch of each: their logs end before the others'."""
    last = {seed: log[-1]["epoch"] if log else 0 for seed, log in trained.logs.items()}
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
        return MISSING
    return f"{record.sequences_right} of {record.samples}, {accuracy_text(record.char)}"


def every_seed(results: Results) -> str:
    """Each run, failures included."""
    rows = []
    for trained in [*results.trained.values(), *results.further.values()]:
        failed = set_aside(trained)
        for seed, log in trained.logs.items():
            last = log[-1] if log else {}
            epochs = f"{last.get('epoch', 0)}" + (" (diverged)" if seed in failed else "")
            steps = statistics.fmean(line["steps"] for line in log[-CYCLE:]) if log else math.nan
            records = {record.suite: record for record in trained.reported if record.seed == seed}
            scores = [
                f"{accuracy_text(records[suite].char)} / {accuracy_text(records[suite].seq)}"
                if suite in records
                else MISSING
                for suite in ABLATION_SUITES
            ]
            accuracy = f"{last['accuracy']:.3f}" if last else MISSING
            rows.append((trained.name, str(seed), epochs, accuracy, f"{steps:.1f}", *scores))
    return to_markdown(
        Table(
            "Every run",
            f"Accuracy: by characters on the training problems of the last epoch. Steps: the mean in the last {CYCLE} "
            "epochs. Then accuracy by character / by sequence.",
            ("training", "seed", "epochs", "accuracy", "steps", *ABLATION_SUITES),
            tuple(rows),
        )
    )


def cost(results: Results) -> str:
    """What training took, beside the paper."""
    rows = []
    total = 0.0
    further = {f"{name}, further seeds": trained for name, trained in results.further.items()}
    for name, trained in {**results.trained, **further}.items():
        seconds = trained_seconds(trained)
        total += seconds or 0.0
        hours = PAPER_HOURS.get(name)
        where = sorted({stretch["device"] for stretch in trained.machines})
        wall = sum(stretch["seconds"] for stretch in trained.machines)
        rows.append(
            (
                name,
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
        "to its end, compilation included. A fleet's runs are one computation; several fleets of one training add up. "
        "One that shared its GPU with other work took longer for it, which logs do not say. The paper trained 50 runs "
        f"on a Tesla K80: about {sum(PAPER_HOURS.values()):.0f} h, if noGroups, SASA and fixedTime took the 2 h a run "
        "that it gives for base."
    )
    header = ("training", "runs", "epochs", "with start-up", "on", "precision", "paper, ten runs")
    return to_markdown(Table("What training took", caption, header, tuple(rows)))


def trained_seconds(trained: Trained) -> float | None:
    """The time of all epochs of a training, whose runs are one computation; None where logs lack it.

    Where its seeds were trained as several fleets, those add up; the runs of one fleet log the same times.
    """
    fleets: dict[float | None, list[float | None]] = {}
    for log in trained.logs.values():
        times = [line.get("seconds") for line in log]
        first = times[0] if times else None
        fleets[first] = max(times, fleets.get(first, []), key=len)
    found = [time for times in fleets.values() for time in times]
    return None if not found or None in found else math.fsum(time for time in found if time is not None)


def halting(results: Results) -> str:
    """Explore-Reinforce against KL: recurrent steps in training, and the time they cost."""
    pairs = regularisers(results)
    if not pairs:
        return "This needs the trainings of base and ponderReg (`gridsum reproduce --only train`).\n"
    return to_markdown(
        Table(
            "Recurrent steps during training",
            "Mean ± sd over seeds of the steps expected under the halting distribution, runs that never learned "
            "included. The ratio is KL's to Explore-Reinforce's; in the paper Explore-Reinforce takes much fewer "
            "steps, and half the time (2 h against 4 h a run). A training that shared its GPU with other work took "
            "longer for it, which logs do not say. p: Mann–Whitney's exact test over seeds.",
            ("trainings", "over", "Explore-Reinforce", "KL", "ratio", "p"),
            tuple(row for pair in pairs for row in _halting_rows(*pair)),
        )
    )


def _halting_rows(explored: Trained, divergence: Trained) -> Iterator[tuple[str, ...]]:
    trainings = f"{explored.name}, {divergence.name}"
    for span, epochs in {"all epochs": None, f"the last {CYCLE} epochs": CYCLE}.items():
        first, second = (mean_steps(trained, epochs) for trained in (explored, divergence))
        ratio = statistics.fmean(second) / statistics.fmean(first)
        yield trainings, span, *map(steps_text, (first, second)), f"{ratio:.2f}", p_text(rank_test(first, second).p)
    times = trained_seconds(explored), trained_seconds(divergence)
    ratio = f"{times[1] / times[0]:.2f}" if times[0] and times[1] else MISSING
    yield trainings, "time of all epochs", *map(seconds_text, times), ratio, MISSING


def regularisers(results: Results) -> list[tuple[Trained, Trained]]:
    """The trainings with Explore-Reinforce and with KL that have both begun: as specified, then under each reading."""
    names = ["", *(f"-{ablation.name}" for ablation in ablations_of("base").values())]
    pairs = [(results.trained.get(f"base{name}"), results.trained.get(f"ponderReg{name}")) for name in names]
    return [
        (explored, divergence)
        for explored, divergence in pairs
        if explored and divergence and any(explored.logs.values()) and any(divergence.logs.values())
    ]


def mean_steps(trained: Trained, epochs: int | None = None) -> list[float]:
    """By seed, over the last so many epochs."""
    logs = (log if epochs is None else log[-epochs:] for log in trained.logs.values() if log)
    return [statistics.fmean(line["steps"] for line in log) for log in logs]


def steps_text(values: Sequence[float]) -> str:
    if not values:
        return MISSING
    found = spread(list(values))
    return f"{found.mean:.1f} ± {found.sd:.1f}"


def seconds_text(seconds: float | None) -> str:
    return MISSING if seconds is None else f"{seconds:.0f} s"
