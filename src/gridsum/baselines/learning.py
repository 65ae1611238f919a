"""How systems learn: a line for each epoch of a training, which shows what a score at its end cannot."""

import json
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from gridsum.baselines.system import SystemConfig
from gridsum.evaluation.rendering import TableError
from gridsum.io.disk import LineError, append_lines, read_objects
from gridsum.training.loop import Epoch


class Learned(NamedTuple):
    """The means over the seeds of a system that are still sound, for one epoch."""

    variant: str
    """Its name and its setting, such as dngpu/own."""
    problems_seen: int
    """By each run, until the end of the epoch."""
    accuracy: float
    """Characters right in training."""
    held_out: float | None
    """Whole results right on held-out problems of the training space, where that was asked."""


def note(path: Path, variant: str, config: SystemConfig, epoch: Epoch) -> None:
    """Add an epoch to the file; nothing if every run has diverged."""
    if not any(epoch.alive):
        return
    seen = epoch.number * config.training.steps_per_epoch * config.training.batch
    accuracy, held_out = (
        round(fmean(epoch.sound(name)), 4) if name in epoch.means else None for name in ("accuracy", "held_out")
    )
    line = json.dumps({"variant": variant, "problems_seen": seen, "accuracy": accuracy, "held_out": held_out})
    append_lines(path, f"{line}\n".encode())


def learning(paths: Iterable[str | Path]) -> dict[str, list[Learned]]:
    """The epochs of every system in the files, in order; of one trained twice, the last counts."""
    found: dict[str, dict[int, Learned]] = {}
    for path in paths:
        try:
            lines = [Learned(**line) for line in read_objects(Path(path))]
        except (LineError, TypeError, IsADirectoryError):
            lines = []
        if not lines:
            raise TableError(
                f"{path} does not say how systems learn; name the learning.jsonl that gridsum compare writes"
            )
        for line in lines:
            found.setdefault(line.variant, {})[line.problems_seen] = line
    return {variant: [epochs[seen] for seen in sorted(epochs)] for variant, epochs in found.items()}
