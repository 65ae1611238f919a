"""Jobs: train some seeds of a configuration, or measure them. A job knows what of it is done, and how to do the rest.

    FOLDER/NAME/                  a training folder (see `gridsum.training.folders`)
    FOLDER/NAME/machine.jsonl     where and how long it was trained, one line for each stretch
    FOLDER/records/NAME.jsonl     records of its runs

There is no state beside these: what is done is read from them, and stays done whenever a job is stopped. Weights and
logs need not be kept of a training run that has been measured: it counts as done.
"""

import gc
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path, PurePath
from statistics import fmean
from typing import Any, NamedTuple

import torch

from gridsum.config.fields import fields_of, override
from gridsum.config.paper import Config
from gridsum.config.registry import Trainable, find
from gridsum.evaluation.evaluate import evaluate
from gridsum.evaluation.records import Record, append, read
from gridsum.evaluation.suites import COLLECTIONS, Suite
from gridsum.io.disk import append_lines
from gridsum.io.limits import duration
from gridsum.io.progress import SILENT, Progress
from gridsum.io.version import __version__
from gridsum.model.store import WEIGHTS, Model, load_runs
from gridsum.ops.costs import solving_seconds, training_seconds
from gridsum.ops.devices import describe, on_gpu
from gridsum.ops.forms import served
from gridsum.training import folders
from gridsum.training.loop import train

Way = tuple[str, str]
"""How problems are measured: on which grids, and by which placement."""
DIGITS, TERMS = (suite.name for suite in COLLECTIONS["validation"])
"""The suites that extrapolation to more digits and to more terms is judged by."""
AIMS = {"digits": DIGITS, "terms": TERMS}
MACHINES = "machine.jsonl"
# Where a training run was done in another way than asked in these alone, it is still the training that was asked for.
_INDIFFERENT = ("training.precision", "training.checkpoint_epochs")
# What a job takes of memory where nothing else is known: the process itself.
_PROCESS_BYTES = 10**9


class Asked(NamedTuple):
    suite: Suite
    way: Way


@dataclass(frozen=True)
class Sheet:
    """What is measured of every run of a training run, and the file that its records go to."""

    stage: str
    path: str
    asked: tuple[Asked, ...]
    evaluation_seed: int = 0
    model: str = ""
    """Whose records count, where several training runs share the file."""
    proved_alone: bool = False
    """Only the run that is chosen among those that are proved is measured."""

    def records(self, folder: Path, seeds: Iterable[int]) -> dict[tuple[str, Way, int], Record]:
        """The records that count, by suite, way and seed: of these runs, with problems enough; of several, the last."""
        path, seeds = folder / self.path, set(seeds)
        wanted = {(asked.suite.name, asked.way): asked.suite.samples for asked in self.asked}
        found: dict[tuple[str, Way, int], Record] = {}
        for record in read([path]) if path.exists() else []:
            ours = record.model == (self.model or record.model)
            enough = record.samples >= wanted.get((record.suite, record.way), record.samples + 1)
            if ours and enough and record.seed in seeds and record.evaluation_seed == self.evaluation_seed:
                found[record.suite, record.way, record.seed] = record
        return found

    def missing(self, folder: Path, seeds: Sequence[int]) -> dict[Asked, list[int]]:
        """What is asked and the runs that lack a record of it."""
        found = self.records(folder, seeds)
        lacking = {one: [s for s in seeds if (one.suite.name, one.way, s) not in found] for one in self.asked}
        return {asked: runs for asked, runs in lacking.items() if runs}


class State(NamedTuple):
    """How far a job has come."""

    done: int
    total: int
    unit: str
    waits_for: str = ""
    """What has to be done before the job can begin; it ends with the name of a training run."""

    @property
    def finished(self) -> bool:
        return self.done >= self.total


@dataclass(frozen=True)
class Train:
    """Train some seeds of one configuration in a folder of their own, or go on with them."""

    name: str
    """Of its folder."""
    config: Any
    seeds: tuple[int, ...]
    sheets: tuple[Sheet, ...] = ()
    follows: "Train | None" = None
    """It goes on with the best runs of this one. Until they are chosen, its own seeds are a guess."""
    stage: str = "train"
    keep_checkpoint: bool = True

    @property
    def training(self) -> "Train":
        """Itself, as of every job."""
        return self

    @property
    def subject(self) -> str:
        """What its models are called."""
        return PurePath(self.name).name

    @property
    def kind(self) -> Trainable:
        return find(self.config.variant)

    @property
    def unit(self) -> str:
        """What it is counted in: runs, where each comes to something after its training."""
        return "seeds" if self.kind.outcome else "epochs"

    @property
    def total(self) -> int:
        return len(self.seeds) if self.kind.outcome else self.config.training.epochs

    @property
    def memory(self) -> int:
        """Bytes it takes, about."""
        return _PROCESS_BYTES + self.kind.memory(self.config, len(self.seeds))

    def resolved(self, folder: Path) -> "Train | None":
        """With the seeds that it really has; None while the training that it follows is not done or not validated."""
        if self.follows is None:
            return self
        chosen = self.follows.chosen(folder)
        if not chosen or not self.follows.finished(folder):
            return None
        config, _ = folders.read_setup(folder / self.follows.name)
        changes = {name: fields_of(self.config)[name][1] for name in ("objective.weight", "training.epochs")}
        followed = override(self.kind.following(config), changes)
        return replace(self, config=followed, seeds=tuple(sorted({*chosen.values()})))

    def chosen(self, folder: Path) -> dict[str, int]:
        """The best seed for each aim; empty while not all runs are validated."""
        validation = next(sheet for sheet in self.sheets if sheet.stage == "validate")
        return choose([*validation.records(folder, self.seeds).values()], self.seeds)

    def finished(self, folder: Path) -> bool:
        return self.done(folder) == self.total

    def done(self, folder: Path) -> int:
        """How much of it is done: all, where its weights are not kept but all that they were for has been measured."""
        place = folder / self.name
        if not (place / "config.json").exists():
            return 0
        there, seeds = folders.read_setup(place)
        missing = [seed for seed in self.seeds if seed not in seeds]
        if missing:
            raise folders.FolderError(
                f"{place} was trained with seeds {[*seeds]}, without {missing}; "
                "ask for --seeds that it has, or choose another --out"
            )
        if different := folders.difference(self.config, there, *_INDIFFERENT):
            raise folders.FolderError(
                f"{place} was trained with {different}. It stays as it is; leave it out with --variants, or name a new "
                "folder for a study of your own: --out mine"
            )
        done = len(outcomes_of(place, self.config, self.seeds)) if self.kind.outcome else folders.trained_epochs(place)
        measured = self.sheets and not any(sheet.missing(folder, self.seeds) for sheet in self.sheets)
        return self.total if not done and measured else min(done, self.total)

    def state(self, folder: Path) -> State:
        resolved = self.resolved(folder)
        waits_for = f"the validation of {self.follows.name}" if self.follows and not resolved else ""
        return State(resolved.done(folder) if resolved else 0, self.total, self.unit, waits_for)

    def seconds(self, folder: Path, device: torch.device) -> float:
        """How long what is left takes, about; 0 where nobody knows."""
        resolved, state = self.resolved(folder) or self, self.state(folder)
        left = state.total - state.done
        work = self.kind.work(resolved.config, len(resolved.seeds), left, device) if left else 0.0
        return training_seconds(work, device, served(resolved.config.training.precision, device))

    def load(self, folder: Path, seeds: Sequence[int], device: torch.device | str = "cpu") -> Model:
        paths = [folders.seed_folder(folder / self.name, seed) / WEIGHTS for seed in seeds]
        return load_runs(self.subject, paths, device)

    def run(self, folder: Path, device: torch.device, shown: Progress = SILENT, commit: str | None = None) -> None:
        resolved = self.resolved(folder)
        assert resolved is not None, "runs are validated before they are overtrained"
        place = folder / self.name
        config, seeds, start = resolved.config, resolved.seeds, None
        if resume := (place / "config.json").exists():
            config, seeds = folders.read_setup(place)
        elif self.follows is not None:
            chosen = self.follows.chosen(folder)
            told = ", ".join(f"seed {seed} for {aim}" for aim, seed in chosen.items())
            shown.note(f"{self.follows.name}: best on validation are {told}")
            start = self.follows.load(folder, seeds)
        first, began = resolved.done(folder), time.monotonic()
        try:
            train(config, seeds, place, device, resume, start, shown, f"{self.name}: ")
        finally:
            last, seconds = resolved.done(folder), round(time.monotonic() - began, 1)
            if last > first:
                about = {self.unit: [first + 1, last], "seconds": seconds, "device": describe(device)}
                about |= {"precision": served(folders.read_setup(place)[0].training.precision, device)}
                about |= {"version": __version__, "commit": commit}
                append_lines(place / MACHINES, json.dumps(about).encode() + b"\n")
            gc.collect()
            if on_gpu(device):
                torch.cuda.empty_cache()
        # A training run that has ended needs no checkpoint: weights and logs say all there is to say.
        if not self.keep_checkpoint:
            (place / folders.CHECKPOINT).unlink(missing_ok=True)
        if self.follows is not None:
            (folder / self.follows.name / folders.CHECKPOINT).unlink(missing_ok=True)


@dataclass(frozen=True)
class Measure:
    """Records of a training run's runs on a sheet of suites."""

    training: Train
    sheet: Sheet
    memory = _PROCESS_BYTES

    @property
    def stage(self) -> str:
        return self.sheet.stage

    def _seeds(self, folder: Path) -> tuple[int, ...] | None:
        """The runs that are measured; None while that cannot be told."""
        training = self.training.resolved(folder)
        if training is None or not training.finished(folder):
            return None
        if not self.sheet.proved_alone:
            return training.seeds
        seed = proved_seed(outcomes_of(folder / training.name, training.config, training.seeds))
        return None if seed is None else (seed,)

    def state(self, folder: Path) -> State:
        seeds, total = self._seeds(folder), len({asked.suite for asked in self.sheet.asked})
        if seeds is None:
            done = self.sheet.proved_alone and self.training.finished(folder)
            what = "a proof of a run" if done else "the training"
            return State(0, total, "suites", f"{what} of {self.training.name}")
        return State(total - len({asked.suite for asked in self.sheet.missing(folder, seeds)}), total, "suites")

    def seconds(self, folder: Path, device: torch.device) -> float:
        if not isinstance(self.training.config, Config):
            return 0.0
        model, seeds = self.training.config.model, (self.training.resolved(folder) or self.training).seeds
        total = 0.0
        for asked, runs in self.sheet.missing(folder, seeds).items():
            space = asked.suite.space
            cells = round((space.terms[1] + 1.5) * (space.columns_of() + 2.5) * asked.suite.samples * len(runs))
            total += solving_seconds(model, cells, space.symbols, device)
        return total

    def run(self, folder: Path, device: torch.device, shown: Progress = SILENT, commit: str | None = None) -> None:
        if on_gpu(device):
            # A training run before this one may have allowed less; records are of full precision.
            torch.backends.cuda.matmul.allow_tf32 = False
        seeds, training = self._seeds(folder), self.training
        assert seeds is not None, "runs are trained before they are measured"
        load = cache(lambda *seeds: training.load(folder, seeds, device))
        for asked, missing in self.sheet.missing(folder, seeds).items():
            grids, placement = asked.way
            (subject,) = training.kind.subjects(load(*missing), placement=placement, grids=grids)
            report = partial(shown.update, f"{training.name} on {asked.suite.name}:", news="", unit="problems measured")
            records = evaluate(subject, asked.suite, None, self.sheet.evaluation_seed, commit, report)
            append(folder / self.sheet.path, records)


Job = Train | Measure


def title(job: Job) -> str:
    return f"{job.stage} {job.training.name}"


def outcomes_of(place: Path, config: Any, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What the runs in a training folder came to after their training, as far as they are done."""
    paths = [folders.seed_folder(place, seed) / find(config.variant).outcome for seed in seeds]
    return [folders.read_outcome(path) for path in paths if path.is_file()]


def jobs_of(trainings: Sequence[Train]) -> list[Job]:
    """The training runs, then what is measured of them."""
    return [*trainings, *(Measure(training, sheet) for training in trainings for sheet in training.sheets)]


def plan(jobs: Sequence[Job], folder: Path, device: torch.device) -> str:
    """What is done and what is left, with the time it takes."""
    if not jobs:
        return "  nothing of this has a cost"
    lines, total = [], 0.0
    width = max(24, *(len(job.training.name) + 2 for job in jobs))
    for job in jobs:
        state = job.state(folder)
        seconds = 0.0 if state.finished else job.seconds(folder, device)
        total += seconds
        left = "done" if state.finished else f"about {duration(seconds)}" if seconds else "not estimated"
        amount = f"{state.done} of {state.total} {state.unit}"
        lines.append(f"  {job.stage:<11} {job.training.name:<{width}}{amount:<20}{left}")
    done, threads = all(line.endswith("done") for line in lines), torch.get_num_threads()
    rate = "the rate of an H200" if on_gpu(device) else f"the rate of a server's cores, of which it uses {threads}"
    left = f"left: about {duration(total)} on {describe(device).split(';')[0]}, by {rate}"
    return "\n".join([*lines, f"  {'nothing is left to do' if done else left}"])


def choose(records: Sequence[Record], seeds: Iterable[int]) -> dict[str, int]:
    """The seed of the best run for each aim; empty where not all of these runs have been validated on both."""
    if not {(record.seed, record.suite) for record in records} >= {*product(seeds, AIMS.values())}:
        return {}
    return {aim: best([record for record in records if record.suite == suite]) for aim, suite in AIMS.items()}


def best(records: Sequence[Record]) -> int:
    """The seed of the run with most whole results right over these records; where runs have equally many, above all
    none, characters decide; of equals, the smallest seed."""
    by_seed: dict[int, list[Record]] = {}
    for record in records:
        assert record.seed is not None, "runs that were trained here have a seed"
        by_seed.setdefault(record.seed, []).append(record)
    return max(sorted(by_seed), key=lambda n: (fmean(r.seq for r in by_seed[n]), fmean(r.char for r in by_seed[n])))


def proved_seed(outcomes: Sequence[dict[str, Any]]) -> int | None:
    """Of the runs of `exact` that are proved after the fewest rounds, the one whose nearest logit is farthest from 0;
    of equals, the smallest seed."""
    proved = [outcome for outcome in outcomes if outcome["proved"]]
    chosen = min(proved, key=lambda outcome: (outcome["round"], -outcome["margin"], outcome["seed"]), default=None)
    return None if chosen is None else chosen["seed"]
