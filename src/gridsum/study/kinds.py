"""What a job asks of the registry: how much of a training is done, its work, and what is measured of it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from gridsum.config.registry import find
from gridsum.evaluation.evaluate import Subject
from gridsum.model.store import WEIGHTS, Model, load_runs
from gridsum.ops.costs import Work
from gridsum.training.folders import seed_folder, trained_epochs
from gridsum.training.loop import Epoch, news, read_outcome
from gridsum.training.loop import train as train_fleet

Told = Callable[[str, int, int, str], None]


def train(
    config: Any,
    seeds: Sequence[int],
    place: Path,
    device: torch.device,
    resume: bool,
    progress: Told,
    note: Callable[[str], None],
    start: Model | None = None,
) -> None:
    def epoch(done: Epoch) -> None:
        progress(f"{done.phase}, epoch" if done.phase else "epoch", done.number, done.of, news(done))

    def finishing(done: int, of: int, told: str) -> None:
        progress("consolidate", done, of, told)

    train_fleet(config, seeds, place, device, resume, epoch, note, start, finishing=finishing)


def unit(config: Any) -> str:
    return "seeds" if find(config.variant).outcome else "epochs"


def total(config: Any, seeds: Sequence[int]) -> int:
    return len(seeds) if find(config.variant).outcome else config.training.epochs


def done(place: Path, config: Any, seeds: Sequence[int]) -> int:
    return len(outcomes(place, config, seeds)) if find(config.variant).outcome else trained_epochs(place)


def outcomes(place: Path, config: Any, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What each run came to after training, as far as they are done."""
    paths = [seed_folder(place, seed) / find(config.variant).outcome for seed in seeds]
    return [read_outcome(path) for path in paths if path.is_file()]


def work(config: Any, runs: int, left: int, device: torch.device) -> Work:
    return find(config.variant).work(config, runs, left, device) or Work() if left else Work()


def load(place: Path, name: str, seeds: Sequence[int], device: torch.device | str = "cpu") -> Model:
    """The runs of these seeds."""
    return load_runs(name, [seed_folder(place, seed) / WEIGHTS for seed in seeds], device)


def subject(model: Model, way: tuple[str, str] | None) -> Subject:
    """What is measured, on grids and by a placement if they are named."""
    how: dict[str, Any] = {} if way is None else {"grids": way[0], "placement": way[1]}
    (found,) = model.kind.subjects(model, **how)
    return found
