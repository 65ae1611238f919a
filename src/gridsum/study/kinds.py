"""What differs between the kinds of networks that are trained: the paper's, `exact`, and the baselines."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from gridsum.automaton.rule import LearnedRule
from gridsum.baselines.evaluation import load as load_baseline
from gridsum.baselines.fleet import SystemFleet
from gridsum.baselines.registry import find
from gridsum.config.exact import ExactConfig
from gridsum.config.paper import Config
from gridsum.evaluation.evaluate import PaperSubject, RuleSubject, Subject
from gridsum.model.store import WEIGHTS, Model, load_exact, load_runs
from gridsum.ops.costs import Work, exact_work, training_work
from gridsum.ops.sizes import training_bytes
from gridsum.training.exact import PROOF, train_exact
from gridsum.training.exact import Progress as ExactProgress
from gridsum.training.folders import (
    holds_exact,
    read_exact_setup,
    read_setup,
    read_setup_of,
    seed_folder,
    system_in,
    trained_epochs,
)
from gridsum.training.loop import Epoch, news
from gridsum.training.loop import train as train_fleet

Told = Callable[[str, int, int, str], None]


def setup(place: Path) -> tuple[Any, tuple[int, ...]]:
    """The configuration and seeds of a training folder."""
    system = system_in(place)
    if system is not None:
        return read_setup_of(place, find(system).config)
    return read_exact_setup(place) if holds_exact(place) else read_setup(place)


def train(
    config: Any,
    seeds: Sequence[int],
    place: Path,
    device: torch.device,
    resume: bool,
    progress: Told,
    note: Callable[[str], None],
    start: Any = None,
) -> None:
    if isinstance(config, ExactConfig):

        def phase(now: ExactProgress) -> None:
            progress(now.phase, now.done, now.of, now.news)

        train_exact(config, seeds, place, device, resume, phase, note)
        return

    def epoch(done: Epoch) -> None:
        progress("epoch", done.number, done.of, news(done))

    fleet = None if isinstance(config, Config) else SystemFleet
    train_fleet(config, seeds, place, device, resume, epoch, note, start, fleet=fleet)


def unit(config: Any) -> str:
    return "seeds" if isinstance(config, ExactConfig) else "epochs"


def total(config: Any, seeds: Sequence[int]) -> int:
    return len(seeds) if isinstance(config, ExactConfig) else config.training.epochs


def done(place: Path, config: Any, seeds: Sequence[int]) -> int:
    return len(outcomes(place, seeds)) if isinstance(config, ExactConfig) else trained_epochs(place)


def outcomes(place: Path, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What each run of `exact` came to, as far as they are done."""
    paths = [seed_folder(place, seed) / PROOF for seed in seeds]
    return [json.loads(path.read_text()) for path in paths if path.is_file()]


def work(config: Any, runs: int, left: int, device: torch.device) -> Work:
    if isinstance(config, Config):
        return training_work(config, runs, left, device)
    return exact_work(config, runs) if left and isinstance(config, ExactConfig) else Work()


def memory(config: Any, runs: int) -> int:
    return training_bytes(config, runs) if isinstance(config, Config | ExactConfig) else 0


def load(place: Path, name: str, seeds: Sequence[int], device: torch.device | str = "cpu") -> Any:
    """The runs of these seeds: a model of the paper, or what is measured of any other kind."""
    paths = [seed_folder(place, seed) / WEIGHTS for seed in seeds]
    if holds_exact(place):
        (path,), (seed,) = paths, seeds
        return RuleSubject(name, LearnedRule(load_exact(path)[0]).table(), seed)
    if system_in(place) is None:
        return load_runs(name, paths, device)
    assert tuple(seeds) == setup(place)[1], "all runs of a baseline are measured together"
    return replace(load_baseline(str(place), device), name=name)


def subject(model: Any, way: tuple[str, str] | None) -> Subject:
    """What is measured, on grids and by a placement if they are named."""
    if not isinstance(model, Model):
        return model
    how: dict[str, Any] = {} if way is None else {"grids": way[0], "placement": way[1]}
    return PaperSubject(model, **how)
