"""How systems learn: a line for each epoch of a training, which shows what a score at its end cannot."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gridsum.baselines.system import SystemConfig
from gridsum.disk import LineError, append_lines, read_objects
from gridsum.evaluation.rendering import TableError
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

    def mean(name: str) -> float:
        sound = [value for value, alive in zip(epoch.means[name], epoch.alive, strict=True) if alive]
        return round(sum(sound) / len(sound), 4)

    if not any(epoch.alive):
        return
    seen = epoch.number * config.training.steps_per_epoch * config.training.batch
    held_out = mean("held_out") if "held_out" in epoch.means else None
    line = json.dumps(Learned(variant, seen, mean("accuracy"), held_out)._asdict())
    append_lines(path, f"{line}\n".encode())


def learning(paths: Iterable[str | Path]) -> dict[str, list[Learned]]:
    """The epochs of every system in the files, in order; of one trained twice, the last counts."""
    found: dict[str, dict[int, Learned]] = {}
    for path in paths:
        try:
            for line in read_objects(Path(path)):
                learned = Learned(**line)
                found.setdefault(learned.variant, {})[learned.problems_seen] = learned
        except (LineError, TypeError, IsADirectoryError):
            found.clear()
        if not found:
            raise TableError(
                f"{path} does not say how systems learn; name the learning.jsonl that gridsum compare writes"
            )
    return {variant: [epochs[seen] for seen in sorted(epochs)] for variant, epochs in found.items()}
