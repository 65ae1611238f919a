"""The pieces of a campaign: each knows what of it is done, what is left, and how to do it.

A piece can be stopped at any moment by an exception from what it reports to; what it has done stays done.
"""

import gc
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from gridsum.config.exact import ExactConfig
from gridsum.config.paper import Config
from gridsum.evaluation.evaluate import PaperSubject, evaluate
from gridsum.evaluation.records import append
from gridsum.evaluation.suites import Suite
from gridsum.io.disk import append_lines
from gridsum.io.version import __version__
from gridsum.model.store import WEIGHTS, Model, load_runs
from gridsum.ops.costs import Work, operations, steps_of_solving, training_work
from gridsum.ops.devices import describe, on_gpu
from gridsum.ops.sizes import training_bytes
from gridsum.study.campaign import (
    FURTHER,
    REPORT,
    VALIDATION,
    Campaign,
    Sheet,
    Training,
    Way,
    current,
    overtrained_name,
)
from gridsum.study.leakage import keep_leakage, leakage, read_leakage
from gridsum.study.rule import FURTHER_SEEDS
from gridsum.training.checkpoints import drop_checkpoints
from gridsum.training.folders import read_setup, seed_folder
from gridsum.training.loop import Epoch, train


@dataclass(frozen=True)
class Surroundings:
    """What a piece works with, and whom it tells."""

    device: torch.device
    epoch: Callable[[str, Epoch], None]
    """Hears of a training, by name, that an epoch is done."""
    problems: Callable[[str, int, int], None]
    """Hears how many of how many problems are done, and of what."""
    note: Callable[[str], None]
    commit: str | None = None
    check: Callable[[], None] = lambda: None
    """Called between parts that have been kept; raises to stop."""


@dataclass(frozen=True)
class State:
    """How far a piece has come."""

    done: int
    total: int
    unit: str
    waits_for: str = ""
    """What has to be done before the piece can begin."""

    @property
    def finished(self) -> bool:
        return self.done >= self.total


# What a piece takes of memory where nothing is known: the process itself.
_PROCESS_BYTES = 10**9


def fleet_bytes(config: Config | ExactConfig, runs: int) -> int:
    """What a process that trains a fleet takes."""
    return _PROCESS_BYTES + training_bytes(config, runs)


class Piece(ABC):
    stage: str
    subject: str

    @property
    def name(self) -> str:
        return f"{self.stage} {self.subject}"

    def memory(self) -> int:
        """Bytes it takes, about."""
        return _PROCESS_BYTES

    def parts(self) -> "list[Piece]":
        """What of it can be done at the same time on several machines."""
        return [self]

    @abstractmethod
    def places(self) -> list[Path]:
        """The folders and files that it reads or writes."""

    @abstractmethod
    def moved(self, old: Path, new: Path) -> "Piece":
        """The same piece of a campaign that lies in another folder."""

    @abstractmethod
    def state(self) -> State: ...

    @abstractmethod
    def work(self, device: torch.device) -> Work:
        """What is left to do."""

    @abstractmethod
    def run(self, around: Surroundings) -> None: ...


# Runs that will be overtrained, while they are not chosen yet: one for each aim.
_EXPECTED_RUNS = 2


class Train(Piece):
    """The standard training of a variant."""

    def __init__(self, campaign: Campaign, training: Training, stage: str = "train") -> None:
        self.campaign, self.training, self.subject, self.stage = campaign, training, training.name, stage

    def state(self) -> State:
        return State(self.campaign.epochs_done(self.training), self.training.config.training.epochs, "epochs")

    def work(self, device: torch.device) -> Work:
        state = self.state()
        return training_work(self.training.config, len(self.training.seeds), state.total - state.done, device)

    def memory(self) -> int:
        return fleet_bytes(self.training.config, len(self.training.seeds))

    def places(self) -> list[Path]:
        return [self.campaign.folder / self.subject]

    def moved(self, old: Path, new: Path) -> Piece:
        return Train(self.campaign.moved(old, new), self.training, self.stage)

    def run(self, around: Surroundings) -> None:
        _train(self.campaign, self.training, around, None)


class Overtrain(Piece):
    """The further training of a variant's best runs."""

    stage = "overtrain"

    def __init__(self, campaign: Campaign, standard: Training) -> None:
        self.campaign, self.standard, self.subject = campaign, standard, overtrained_name(standard.name)

    def state(self) -> State:
        total = self.campaign.scale.overtraining_epochs
        training = self.campaign.overtraining(self.standard.name)
        if training is None:
            return State(0, total, "epochs", f"the validation of {self.standard.name}")
        return State(self.campaign.epochs_done(training), total, "epochs")

    def work(self, device: torch.device) -> Work:
        state = self.state()
        training = self.campaign.overtraining(self.standard.name)
        runs = _EXPECTED_RUNS if training is None else len(training.seeds)
        return training_work(self.standard.config, runs, state.total - state.done, device)

    def places(self) -> list[Path]:
        return [self.campaign.folder / self.standard.name, self.campaign.folder / self.subject]

    def moved(self, old: Path, new: Path) -> Piece:
        return Overtrain(self.campaign.moved(old, new), self.standard)

    def run(self, around: Surroundings) -> None:
        name = self.standard.name
        training = self.campaign.overtraining(name)
        assert training is not None, "runs are validated before they are overtrained"
        chosen = ", ".join(f"seed {seed} for {aim}" for aim, seed in self.campaign.chosen(name).items())
        around.note(f"{name}: best on validation are {chosen}")
        start = load_seeds(self.campaign.folder / name, name, training.seeds)
        _train(self.campaign, training, around, start)
        drop_checkpoints(self.campaign.folder / name)


_SHEETS: dict[str, Sheet] = {"validate": VALIDATION, "measure": REPORT, "further": FURTHER}


class Measure(Piece):
    """Records of a training's runs on a sheet of suites."""

    def __init__(
        self,
        campaign: Campaign,
        standard: Training,
        stage: str,
        overtrained: bool = False,
        suites: Sequence[Suite] | None = None,
    ) -> None:
        self.campaign, self.standard, self.stage, self.overtrained = campaign, standard, stage, overtrained
        self.subject = overtrained_name(standard.name) if overtrained else standard.name
        self.sheet = _SHEETS[stage]
        self.collection = campaign.scale.within(self.sheet.suites) if suites is None else tuple(suites)
        self.path = (campaign.validation_records if stage == "validate" else campaign.report_records)(self.subject)

    @property
    def name(self) -> str:
        one = f" on {self.collection[0].name}" if len(self.collection) == 1 else ""
        return f"{self.stage} {self.subject}{one}"

    def parts(self) -> list[Piece]:
        """A suite each."""
        return [Measure(self.campaign, self.standard, self.stage, self.overtrained, [s]) for s in self.collection]

    def places(self) -> list[Path]:
        folder = self.campaign.folder
        return [folder / name for name in dict.fromkeys((self.standard.name, self.subject))] + [self.path]

    def moved(self, old: Path, new: Path) -> Piece:
        campaign = self.campaign.moved(old, new)
        return Measure(campaign, self.standard, self.stage, self.overtrained, self.collection)

    def training(self) -> Training | None:
        """What is measured; None while it cannot be told yet."""
        return self.campaign.overtraining(self.standard.name) if self.overtrained else self.standard

    def _missing(self, suite: Suite, seeds: Sequence[int]) -> dict[Way, list[int]]:
        """The runs that lack a record, by the way it is measured."""
        records = current(self.path, seeds, self.sheet, self.campaign.scale)
        found = {(record.way, record.seed) for record in records if record.suite == suite.name}
        lacking = {way: [seed for seed in seeds if (way, seed) not in found] for way in self.sheet.ways(suite)}
        return {way: runs for way, runs in lacking.items() if runs}

    def state(self) -> State:
        training = self.training()
        total = len(self.collection)
        if training is None or not self.campaign.finished(training):
            return State(0, total, "suites", f"the training of {self.subject}")
        done = sum(not self._missing(suite, training.seeds) for suite in self.collection)
        return State(done, total, "suites")

    def work(self, device: torch.device) -> Work:  # noqa: ARG002
        model, training = self.standard.config.model, self.training()
        total = 0.0
        for suite in self.collection:
            ways = self.sheet.ways(suite)
            runs = _EXPECTED_RUNS * len(ways) if training is None else self._left(suite, training.seeds)
            rows, columns = suite.space.terms[1] + 1.5, suite.space.columns + 2.5
            cells = round(rows * columns * self.campaign.scale.samples_of(suite) * runs)
            placement = 2.0 * model.width * suite.space.symbols
            total += steps_of_solving(model) * operations(model, cells) + placement * cells
        return Work(inference=total)

    def _left(self, suite: Suite, seeds: Sequence[int]) -> int:
        return sum(map(len, self._missing(suite, seeds).values()))

    def run(self, around: Surroundings) -> None:
        if on_gpu(around.device):
            # A training before this one may have allowed less; records are of full precision.
            torch.backends.cuda.matmul.allow_tf32 = False
        training = self.training()
        assert training is not None, "runs are trained before they are measured"
        model = None
        folder = self.campaign.folder / self.subject
        if self.stage == "measure":
            known = read_leakage(folder)
            unknown = [seed for seed in training.seeds if seed not in known]
            if unknown:
                keep_leakage(folder, leakage(load_seeds(folder, self.subject, unknown, around.device)))
        for suite in self.collection:
            for (grids, placement), missing in self._missing(suite, training.seeds).items():
                if model is None or model.seeds != tuple(missing):
                    model = load_seeds(folder, self.subject, missing, around.device)

                def report(done: int, total: int, label: str = f"{self.subject} on {suite.name}") -> None:
                    around.problems(label, done, total)

                samples = self.campaign.scale.samples_of(suite)
                subject = PaperSubject(model, None, placement, grids)  # pyright: ignore[reportArgumentType]
                asked = (samples, self.sheet.evaluation_seed, around.commit, report)
                append(self.path, evaluate(subject, suite, *asked))
                around.check()


def pieces(campaign: Campaign) -> Iterator[Piece]:
    """All of a campaign but its report and further seeds, in the order they are done."""
    standard = campaign.trainings
    further = [training for training in standard if training.name in campaign.overtrained]

    def measures(stage: str, trainings: Sequence[Training]) -> Iterator[Piece]:
        for training in trainings:
            yield Measure(campaign, training, stage)

    def measures_further(stage: str) -> Iterator[Piece]:
        for training in further:
            yield Measure(campaign, training, stage, overtrained=True)

    yield from (Train(campaign, training) for training in standard)
    yield from measures("validate", standard)
    yield from (Overtrain(campaign, training) for training in further)
    yield from measures_further("validate")
    yield from measures("measure", standard)
    yield from measures_further("measure")


def further_pieces(campaign: Campaign) -> Iterator[Piece]:
    """What decides the paper's orderings beside the campaign."""
    others = campaign.further(FURTHER_SEEDS)
    for training in others.trainings:
        yield Train(others, training, "further")
        yield Measure(others, training, "further")


def load_seeds(folder: Path, name: str, seeds: Sequence[int], device: torch.device | str = "cpu") -> Model:
    return load_runs(name, [seed_folder(folder, seed) / WEIGHTS for seed in seeds], device)


def _train(campaign: Campaign, training: Training, around: Surroundings, start: Model | None) -> None:
    """Begin a training or go on with it, as the folder has it; keep where and how long."""
    folder = campaign.folder / training.name
    config, seeds = training.config, training.seeds
    resume = (folder / "config.json").exists()
    if resume:
        config, seeds = read_setup(folder)
    first = campaign.epochs_done(training)
    began = time.monotonic()
    try:
        train(
            config,
            seeds,
            folder,
            around.device,
            resume,
            lambda epoch: around.epoch(training.name, epoch),
            lambda text: around.note(f"{training.name}: {text}"),
            start,
        )
    finally:
        _keep_stretch(folder, first, campaign.epochs_done(training), time.monotonic() - began, around)
        gc.collect()
        if on_gpu(around.device):
            torch.cuda.empty_cache()
    # Overtraining goes on with the optimiser's moments.
    if campaign.is_further or training.name not in campaign.overtrained:
        drop_checkpoints(folder)


def _keep_stretch(folder: Path, first: int, last: int, seconds: float, around: Surroundings) -> None:
    """A line for what has been trained just now; nothing where no epoch was completed."""
    if last > first:
        line = {
            "epochs": [first + 1, last],
            "seconds": round(seconds, 1),
            "device": describe(around.device),
            "version": __version__,
            "commit": around.commit,
        }
        append_lines(folder / "machine.jsonl", json.dumps(line).encode() + b"\n")
