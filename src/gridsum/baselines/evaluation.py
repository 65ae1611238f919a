"""Measuring systems: the same problems and records as for ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gridsum.baselines.fleet import answers, stacked
from gridsum.baselines.registry import find
from gridsum.baselines.system import Baseline, System, SystemConfig
from gridsum.config.fields import from_dict
from gridsum.config.paper import ConfigError
from gridsum.data.problems import Space
from gridsum.evaluation.evaluate import Answers, Asked, Subject
from gridsum.model.store import StoreError, check_state, locate, read_weights
from gridsum.training.folders import read_metrics


@dataclass
class SystemRuns(Subject):
    """Trained runs of a system in one configuration."""

    name: str
    system: System
    config: SystemConfig
    seeds: Sequence[int | None]
    network: Baseline
    seconds: float | None
    """The seconds of training of each run; None where no log says it."""
    held_out: tuple[float | None, ...]
    """The share of held-out problems that each had right at the end of its training; None where no log says it."""

    def __post_init__(self) -> None:
        self.variant = f"{self.system.name}/{self.config.setting}"
        self.task, self.device = self.config.task.task, next(self.network.parameters()).device

    def fits(self, space: Space) -> bool:
        return self.network.fits(space)

    def answer(self, asked: Asked) -> Answers:
        predicted, steps = answers(self.network, len(self.seeds), asked.batch, asked.space)
        return Answers(predicted, steps[:, None].expand(predicted.shape[:2]))

    def about(self, run: int) -> dict[str, Any]:
        return {
            "given": self.system.given(self.config.setting),
            "parameters": sum(parameter[0].numel() for parameter in self.network.parameters()),
            "problems_seen": self.config.samples,
            "training_seconds": self.seconds,
            "held_out": self.held_out[run],
        }


def load(name: str, device: torch.device | str = "cpu") -> SystemRuns:
    """The runs that a training folder, a run's folder or a weights file holds."""
    paths = locate(name)
    read = [(path, *read_weights(path)) for path in paths]
    system = find(read[0][2]["config"]["variant"])
    try:
        configs = [from_dict(system.config, about["config"]) for _, _, about in read]
    except ConfigError as error:
        raise StoreError(f"{paths[0]} holds a configuration that this version cannot read: {error}") from None
    config, seeds = configs[0], tuple(about["seed"] for _, _, about in read)
    different = next((path for path, other in zip(paths, configs, strict=True) if other != config), None)
    if different is not None:
        raise StoreError(f"{different} has another configuration than {paths[0]}; measure them apart")
    shapes, network = stacked(config, []), stacked(config, [0] * len(paths))
    for path, state, _ in read:
        check_state(path, config, state, shapes)
    network.load_state_dict({key: torch.stack([state[key] for _, state, _ in read]) for key in read[0][1]})
    network.requires_grad_(False).to(device)
    return SystemRuns(name, system, config, seeds, network, *_logged(paths, seeds))


def _logged(paths: Sequence[Path], seeds: Sequence[int]) -> tuple[float | None, tuple[float | None, ...]]:
    """Seconds and held-out shares. Runs of a fleet log the same times, each of them the whole fleet's."""
    folder = paths[0].parent.parent
    try:
        logs = [read_metrics(folder, seed) for seed in seeds]
        seconds = sum(line["seconds"] for line in logs[0]) / len(list(folder.glob("seed-*")))
        asked = [[line["held_out"] for line in log if "held_out" in line] for log in logs]
        return round(seconds, 2), tuple(shares[-1] if shares else None for shares in asked)
    except (OSError, KeyError, ValueError, ZeroDivisionError):
        return None, (None,) * len(seeds)
