"""Measuring systems: the same problems and records as for ours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from gridsum.baselines.fleet import answers, stacked
from gridsum.baselines.registry import find
from gridsum.baselines.system import Baseline, System, SystemConfig
from gridsum.config.fields import from_dict
from gridsum.config.paper import ConfigError
from gridsum.evaluation.metrics import Counts, count
from gridsum.evaluation.records import Record
from gridsum.evaluation.solvers import NOTHING
from gridsum.evaluation.suites import Suite, problems_of
from gridsum.io.version import __version__
from gridsum.model.store import StoreError, check_state, locate, read_weights
from gridsum.training.folders import read_metrics


@dataclass(frozen=True)
class SystemRuns:
    """Trained runs of a system in one configuration."""

    name: str
    system: System
    config: SystemConfig
    seeds: tuple[int, ...]
    network: Baseline
    seconds: float | None
    """The seconds of training of each run; None where no log says it."""
    held_out: tuple[float | None, ...]
    """The share of held-out problems that each had right at the end of its training; None where no log says it."""

    @property
    def variant(self) -> str:
        """The system and its setting, such as dngpu/own."""
        return f"{self.system.name}/{self.config.setting}"


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


def evaluate(
    runs: SystemRuns,
    suite: Suite,
    samples: int | None = None,
    seed: int = 0,
    commit: str | None = None,
    report: Callable[[int, int], None] | None = None,
) -> list[Record]:
    """A record for each run; none where the system cannot be given such problems at all."""
    if not runs.network.fits(suite.space):
        return []
    device = next(runs.network.parameters()).device
    batches, counts, steps, written = suite.batches(samples), [], [], []
    for index, problems in enumerate(batches):
        batch = problems_of(suite, index, problems, seed, device, runs.config.task.task)
        predicted, taken = answers(runs.network, len(runs.seeds), batch, suite.space)
        counts.append(count(predicted, batch.targets_for(predicted.shape[-1])).total())
        steps.append(taken)
        written.append(predicted)
        if report is not None:
            report(sum(batches[: index + 1]), sum(batches))
    total: Counts = sum(counts[1:], counts[0])
    mean, decode = torch.stack(steps).mean(0), runs.config.task.task.decode
    parameters = sum(parameter[0].numel() for parameter in runs.network.parameters())
    return [
        Record(
            model=runs.name,
            variant=runs.variant,
            seed=run_seed,
            suite=suite.name,
            halting=NOTHING,
            placement=NOTHING,
            samples=int(total.sequences[run]),
            chars_right=int(total.chars_right[run]),
            chars_valid=int(total.chars_valid[run]),
            sequences_right=int(total.sequences_right[run]),
            steps_mean=float(mean[run]),
            steps_max=None,
            evaluation_seed=seed,
            version=__version__,
            commit=commit,
            answers=tuple(decode(row.tolist()) for part in written for row in part[run]) if suite.expressions else None,
            given=runs.system.given(runs.config.setting),
            parameters=parameters,
            problems_seen=runs.config.samples,
            training_seconds=runs.seconds,
            held_out=runs.held_out[run],
        )
        for run, run_seed in enumerate(runs.seeds)
    ]
