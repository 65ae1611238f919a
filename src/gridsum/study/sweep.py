"""A sweep: one fleet of seeds for each of many configurations, and how good each became.

FOLDER/sweep.json             the configurations, by name
FOLDER/NAME/                  a training folder
FOLDER/records/NAME.jsonl     records of its runs, if suites were asked for
"""

import itertools
import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import torch

from gridsum.config.exact import ExactConfig
from gridsum.config.fields import fields_of, from_dict, override, to_json
from gridsum.config.paper import Config, ConfigError
from gridsum.evaluation.evaluate import PaperSubject, evaluate
from gridsum.evaluation.records import append, read
from gridsum.evaluation.suites import Suite
from gridsum.io.disk import write_atomically
from gridsum.ops.costs import Work, exact_work, training_work
from gridsum.study.pieces import Piece, State, Surroundings, fleet_bytes, load_seeds
from gridsum.study.proved import outcomes
from gridsum.training.exact import Progress, train_exact
from gridsum.training.folders import FolderError, read_exact_setup, read_setup, trained_epochs
from gridsum.training.loop import train

_SETUP = "sweep.json"
_MOST = 10_000
Kind = TypeVar("Kind", Config, ExactConfig)
AnyConfig = Config | ExactConfig


class SweepError(ValueError):
    """A sweep that cannot be made; the message says what to mend."""


@dataclass(frozen=True)
class Range:
    """Numbers to draw from, evenly or, where the lower is above 0 and `log` is asked for, by their logarithm."""

    low: float
    high: float
    log: bool = False

    def draw(self, chance: random.Random, whole: bool) -> Any:
        if self.log:
            value = math.exp(chance.uniform(math.log(self.low), math.log(self.high)))
        else:
            value = chance.uniform(self.low, self.high)
        return round(value) if whole else float(f"{value:.6g}")


def grid(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination."""
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def drawn(config: AnyConfig, ranges: Mapping[str, Range], count: int, seed: int) -> list[dict[str, Any]]:
    """Changes at random, the same for the same seed."""
    chance, kinds = random.Random(seed), fields_of(config)
    return [
        {name: between.draw(chance, kinds[name][0] is int) for name, between in ranges.items()} for _ in range(count)
    ]


def configurations(base: Kind, changes: Sequence[Mapping[str, Any]]) -> dict[str, Kind]:
    """The configurations of a sweep by name; a name says what is changed."""
    if not 0 < len(changes) <= _MOST:
        raise SweepError(f"a sweep has 1 to {_MOST:,} configurations, not {len(changes):,}")
    digits = len(str(len(changes) - 1))
    found = {}
    for index, change in enumerate(changes):
        told = ",".join(f"{path.rsplit('.', 1)[-1]}={value}" for path, value in change.items())
        name = re.sub(r"[^\w.,=+-]+", "-", f"{index:0{digits}}-{told}")[:100].rstrip("-,")
        found[name] = override(base, dict(change))
    return found


def write_sweep(folder: Path, configs: Mapping[str, AnyConfig], seeds: Sequence[int]) -> None:
    """Keep what a sweep is; refuse a folder that holds another one."""
    setup = {"seeds": list(seeds), "configurations": {name: json.loads(to_json(c)) for name, c in configs.items()}}
    path = folder / _SETUP
    if path.exists() and json.loads(path.read_text()) != setup:
        raise SweepError(f"{folder} holds another sweep; call it as it was begun, or choose another --out")
    write_atomically(path, json.dumps(setup, indent=1).encode() + b"\n")


def read_sweep(folder: Path) -> tuple[dict[str, AnyConfig], tuple[int, ...]]:
    try:
        setup = json.loads((folder / _SETUP).read_text())
        configs = {name: from_dict(_kind_of(data), data) for name, data in setup["configurations"].items()}
        return configs, tuple(setup["seeds"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SweepError(f"{folder / _SETUP} cannot be read as a sweep: {error}") from None


def _kind_of(data: dict[str, Any]) -> type[AnyConfig]:
    return ExactConfig if data.get("variant") == "exact" else Config


def holds_sweep(folder: Path) -> bool:
    return (folder / _SETUP).is_file()


class _Fleet(Piece, Generic[Kind]):
    """The fleet of one configuration."""

    stage = "train"

    def __init__(self, folder: Path, subject: str, config: Kind, seeds: tuple[int, ...]) -> None:
        self.folder, self.subject, self.config, self.seeds = folder.absolute(), subject, config, seeds

    @property
    def place(self) -> Path:
        return self.folder / self.subject

    def places(self) -> list[Path]:
        return [self.place]

    def moved(self, old: Path, new: Path) -> Self:
        return type(self)(new / self.folder.relative_to(old), self.subject, self.config, self.seeds)

    def memory(self) -> int:
        return fleet_bytes(self.config, len(self.seeds))


class SweepTrain(_Fleet[Config]):
    """One of the paper's networks."""

    def state(self) -> State:
        total = self.config.training.epochs
        if not (self.place / "config.json").exists():
            return State(0, total, "epochs")
        there, seeds = read_setup(self.place)
        if (there, seeds) != (self.config, self.seeds):
            raise FolderError(f"{self.place} holds another training; choose another --out")
        return State(min(trained_epochs(self.place), total), total, "epochs")

    def work(self, device: torch.device) -> Work:
        state = self.state()
        return training_work(self.config, len(self.seeds), state.total - state.done, device)

    def run(self, around: Surroundings) -> None:
        resume = (self.place / "config.json").exists()

        def report(epoch: Any) -> None:
            around.epoch(self.subject, epoch)

        train(self.config, self.seeds, self.place, around.device, resume, report, around.note)


class Discover(_Fleet[ExactConfig]):
    """A fleet of `exact`: trained, consolidated and proved."""

    def state(self) -> State:
        if (self.place / "config.json").exists() and read_exact_setup(self.place) != (self.config, self.seeds):
            raise FolderError(f"{self.place} holds another training; choose another --out")
        return State(len(outcomes(self.place, self.seeds)), len(self.seeds), "seeds")

    def work(self, device: torch.device) -> Work:  # noqa: ARG002
        return Work() if self.state().finished else exact_work(self.config, len(self.seeds))

    def run(self, around: Surroundings) -> None:
        resume = (self.place / "config.json").exists()

        def report(now: Progress) -> None:
            around.problems(f"{self.subject}, {now.phase}", now.done, now.of)

        train_exact(self.config, self.seeds, self.place, around.device, resume, report, around.note)


class SweepMeasure(Piece):
    """All runs of one configuration on one suite."""

    stage = "measure"

    def __init__(self, training: SweepTrain, suite: Suite, samples: int | None) -> None:
        self.training, self.suite, self.samples = training, suite, samples
        self.subject = f"{training.subject} on {suite.name}"
        self.path = training.folder / "records" / f"{training.subject}.jsonl"

    def places(self) -> list[Path]:
        return [self.training.place, self.path]

    def moved(self, old: Path, new: Path) -> Piece:
        return SweepMeasure(self.training.moved(old, new), self.suite, self.samples)

    def state(self) -> State:
        if not self.training.state().finished:
            return State(0, 1, "suites", f"the training of {self.training.subject}")
        found = read([self.path], pass_over_torn=True) if self.path.exists() else []
        done = {record.seed for record in found if record.suite == self.suite.name}
        return State(int(done >= set(self.training.seeds)), 1, "suites")

    def work(self, device: torch.device) -> Work:  # noqa: ARG002
        return Work()

    def run(self, around: Surroundings) -> None:
        model = load_seeds(self.training.place, self.training.subject, self.training.seeds, around.device)

        def report(done: int, total: int) -> None:
            around.problems(self.subject, done, total)

        append(self.path, evaluate(PaperSubject(model), self.suite, self.samples, commit=around.commit, report=report))


def sweep_pieces(
    folder: Path,
    configs: Mapping[str, AnyConfig],
    seeds: tuple[int, ...],
    suites: Sequence[Suite] = (),
    samples: int | None = None,
) -> list[Piece]:
    """Suites are for networks of the paper; what `exact` comes to is a proof."""
    found: list[Piece] = []
    trainings: list[SweepTrain] = []
    for name, config in configs.items():
        if isinstance(config, ExactConfig):
            found.append(Discover(folder, name, config, seeds))
        else:
            trainings.append(SweepTrain(folder, name, config, seeds))
    measures = (SweepMeasure(training, suite, samples) for training in trainings for suite in suites)
    return [*found, *trainings, *measures]


def parse_axis(config: AnyConfig, text: str) -> tuple[str, list[str]]:
    """`training.learning_rate=1e-3,3e-4` as a field and its values; values of a field with commas are split by `;`."""
    name, _, values = text.partition("=")
    if not values:
        raise SweepError(f"{text!r} names no values; write FIELD=VALUE,VALUE")
    if name not in fields_of(config):
        override(config, {name: values})  # which says what fields there are
    many = values.split(";") if ";" in values or isinstance(fields_of(config)[name][1], tuple) else values.split(",")
    for value in many:
        override(config, {name: value})
    return name, many


def parse_range(config: AnyConfig, text: str) -> tuple[str, Range]:
    """`training.learning_rate=1e-4:1e-2:log` as a field and the range to draw it from."""
    match = re.fullmatch(r"([\w.]+)=([^:]+):([^:]+)(:log)?", text)
    if match is None:
        raise SweepError(f"{text!r} is no range; write FIELD=LOW:HIGH or FIELD=LOW:HIGH:log")
    name = match[1]
    try:
        low, high = float(match[2]), float(match[3])
    except ValueError:
        raise SweepError(f"{text!r} has no numbers; write FIELD=LOW:HIGH") from None
    if not low < high or (match[4] and low <= 0):
        raise SweepError(f"{text!r} runs from {low:g} to {high:g}; the lower number comes first, above 0 for log")
    if name not in fields_of(config):
        override(config, {name: match[2]})
    if fields_of(config)[name][0] not in (int, float):
        raise ConfigError(f"{name} takes no number, so it cannot be drawn; name its values with --grid")
    return name, Range(low, high, bool(match[4]))
