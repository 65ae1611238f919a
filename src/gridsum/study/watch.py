"""What can be seen of a training run, a reproduction or a sweep while it goes on, from its folder alone."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from gridsum.config.registry import find
from gridsum.evaluation.rendering import Table, to_text
from gridsum.study.heartbeat import last_beats
from gridsum.study.jobs import Job, outcomes_of
from gridsum.study.reproduction import EXTRA_FOLDER, holds_reproduction, read_reproduction
from gridsum.study.sweep import holds_sweep, read_sweep, sweep_jobs
from gridsum.training.folders import FolderError, read_metrics, read_setup

_BLOCKS = "▁▂▃▄▅▆▇█"
_CURVE = 40
"""Letters of a curve."""


class Seen(NamedTuple):
    """What stands in a training folder."""

    variant: str
    of: int
    """How many epochs there are to do."""
    logs: dict[int, list[dict[str, Any]]]
    proofs: dict[int, bool]
    ended: bool


def jobs_in(folder: Path) -> list[Job]:
    """The jobs of a reproduction or a sweep; none where a folder holds neither."""
    if holds_sweep(folder):
        return sweep_jobs(*read_sweep(folder))
    if not holds_reproduction(folder):
        return []
    extra = (folder / EXTRA_FOLDER).exists()
    return [job for job in read_reproduction(folder).jobs() if extra or job.stage != EXTRA_FOLDER]


def status(folder: Path, jobs: Sequence[Job], everything: bool = False) -> tuple[list[str], bool]:
    """A line for each job that runs or could run, or for every one, and their counts; and whether all are done."""
    last = last_beats(folder)
    counts = {"done": 0, "running": 0, "waiting": 0, "ready": 0}
    lines = []
    for job in jobs:
        state, beat = job.state(folder), last.get(job.name)
        told = ""
        if state.finished:
            kind, told = "done", "done" if everything else ""
        elif beat is not None and beat.current:
            kind, told = "running", f"runs on {beat.machine} (process {beat.process})"
            told += "" if beat.seconds_left is None else f", about {beat.seconds_left / 60:.0f} min left"
        elif state.waits_for:
            kind, told = "waiting", f"waits for {state.waits_for}" if everything else ""
        else:
            kind, told = "ready", "not running"
        counts[kind] += 1
        if told:
            lines.append(f"{job.name:<44} {state.done:>5} of {state.total} {state.unit:<8} {told}")
    lines.append("; ".join(f"{count} {name}" for name, count in counts.items()))
    return lines, counts["done"] == sum(counts.values())


def look(folder: Path) -> Seen:
    """At one training."""
    if not (folder / "config.json").exists():
        raise FolderError(f"no training run, reproduction or sweep in {folder}; name the --out of one")
    config, seeds = read_setup(folder)
    logs = {seed: read_metrics(folder, seed) for seed in seeds}
    of, outcomes = config.training.epochs, outcomes_of(folder, config, seeds)
    proofs = {result["seed"]: bool(result["proved"]) for result in outcomes}
    trained = all(log and log[-1]["epoch"] >= of for log in logs.values())
    ended = len(proofs) == len(seeds) if find(config.variant).outcome else trained
    return Seen(config.label, of, logs, proofs, ended)


def drawn(folder: Path, seen: Seen, width: int | None = None) -> str:
    """A line and a curve for each seed."""
    rows = []
    for seed, log in seen.logs.items():
        held = [line["held_out"] for line in log if "held_out" in line]
        right = [line["accuracy"] for line in log]
        state = "" if seed not in seen.proofs else "proved" if seen.proofs[seed] else "not proved"
        numbers = [_number([line["total"] for line in log]), _number(right), _number(held)]
        done = f"{log[-1]['epoch'] if log else 0} of {seen.of}"
        rows.append((str(seed), done, *numbers, curve(held or right), state))
    header = ("seed", "epoch", "loss", "right", "held out", "curve", "")
    if not seen.proofs:
        header, rows = header[:-1], [row[:-1] for row in rows]
    caption = "Right: in training. Held out, and the curve: whole results right on problems never trained on."
    return to_text(Table(f"{seen.variant} in {folder}", caption, header, tuple(rows)), width)


def _number(values: list[float]) -> str:
    return f"{values[-1]:.3f}" if values else "–"


def curve(values: Sequence[float], most: int = _CURVE) -> str:
    """Shares over time, at most so many letters: each the mean of a stretch.

    >>> curve([0, 0.25, 0.5, 0.75, 1])
    '▁▃▅▇█'
    """
    if not values:
        return "–"
    count = min(most, len(values))
    edges = [len(values) * part // count for part in range(count + 1)]
    means = [sum(values[low:high]) / (high - low) for low, high in pairwise(edges)]
    return "".join(_BLOCKS[min(len(_BLOCKS) - 1, max(0, int(mean * len(_BLOCKS))))] for mean in means)
