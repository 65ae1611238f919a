"""How baselines learn: a line for each epoch of a training run, which shows what a score at its end cannot."""

import json
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from gridsum.evaluation.rendering import TableError
from gridsum.io.disk import LineError, read_objects
from gridsum.training.folders import read_metrics


class Learned(NamedTuple):
    """The means over the seeds of a baseline that are still sound, for one epoch."""

    variant: str
    """Its name and its setting, such as dngpu/native."""
    problems_seen: int
    """By each run, until the end of the epoch."""
    accuracy: float
    """Characters right in training."""
    held_out: float | None
    """Whole results right on held-out problems of the training space, where that was asked."""


def learned_in(folder: Path, variant: str) -> list[Learned]:
    """The epochs of a training folder, from its logs; runs that have diverged have none from there on."""
    data = json.loads((folder / "config.json").read_text())
    by_epoch: dict[int, list[dict[str, Any]]] = {}
    for seed in data["seeds"]:
        for line in read_metrics(folder, seed):
            by_epoch.setdefault(line["epoch"], []).append(line)
    a_epoch = data["training"]["steps_per_epoch"] * data["training"]["batch"]

    def mean(lines: list[dict[str, Any]], name: str) -> float | None:
        values = [line[name] for line in lines if name in line]
        return round(fmean(values), 4) if values else None

    return [
        Learned(variant, epoch * a_epoch, mean(lines, "accuracy") or 0.0, mean(lines, "held_out"))
        for epoch, lines in sorted(by_epoch.items())
    ]


def learning(paths: Iterable[str | Path]) -> dict[str, list[Learned]]:
    """The epochs of every baseline in the files, in order; of one trained twice, the last counts."""
    found: dict[str, dict[int, Learned]] = {}
    for path in paths:
        try:
            lines = [Learned(**line) for line in read_objects(Path(path))]
        except (LineError, TypeError, IsADirectoryError):
            lines = []
        if not lines:
            raise TableError(
                f"{path} does not say how baselines learn; name the baselines-learning.jsonl that "
                "gridsum reproduce writes"
            )
        for line in lines:
            found.setdefault(line.variant, {})[line.problems_seen] = line
    return {variant: [epochs[seen] for seen in sorted(epochs)] for variant, epochs in found.items()}
