"""A baseline that is measured: the same problems and records as for ours."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gridsum.baselines.fleet import answers
from gridsum.data.problems import Space
from gridsum.evaluation.evaluate import Answers, Asked, Subject
from gridsum.model.runs import parameter_count
from gridsum.model.store import Model
from gridsum.training.folders import read_metrics


class BaselineSubject(Subject):
    """Trained runs of a baseline; its records say what it was given and what it took."""

    def __init__(self, model: Model) -> None:
        self.model, self.name, self.variant, self.seeds = model, model.name, model.config.label, model.seeds
        self.task, self.device = model.task, next(model.network.parameters()).device
        self.seconds, self.held_out = _logged(model.paths, model.seeds)

    def fits(self, space: Space) -> bool:
        return self.model.network.fits(space)

    def answer(self, asked: Asked) -> Answers:
        predicted, steps = answers(self.model.network, len(self.seeds), asked.batch, asked.space)
        return Answers(predicted, steps[:, None].expand(predicted.shape[:2]))

    def about(self, run: int) -> dict[str, Any]:
        config = self.model.config
        return {
            "given": self.model.kind.given[config.label],
            "parameters": parameter_count(self.model.network),
            "problems_seen": config.steps * config.training.batch,
            "training_seconds": self.seconds,
            "held_out": self.held_out[run],
        }


def _logged(paths: Sequence[Path], seeds: Sequence[int]) -> tuple[float | None, tuple[float | None, ...]]:
    """Seconds and held-out shares. Runs of a fleet log the same times, each of them the whole fleet's."""
    try:
        folder = paths[0].parent.parent
        logs = [read_metrics(folder, seed) for seed in seeds]
        seconds = sum(line["seconds"] for line in logs[0]) / len(list(folder.glob("seed-*")))
        asked = [[line["held_out"] for line in log if "held_out" in line] for log in logs]
        return round(seconds, 2), tuple(shares[-1] if shares else None for shares in asked)
    except (OSError, KeyError, ValueError, ZeroDivisionError, IndexError):
        return None, (None,) * len(seeds)
