"""What a campaign consists of, and where it keeps what.

    FOLDER/NAME/                  a training folder (see `gridsum.training.folders`); NAME is a variant, or one
                                  with -overtrained
    FOLDER/NAME/machine.jsonl     where and how long it was trained, one line for each stretch
    FOLDER/NAME/validation.jsonl  records of the problems that models are chosen by
    FOLDER/NAME/leakage.jsonl     how much of every symbol soft placement puts elsewhere
    FOLDER/NAME/summary.json      its logs in few numbers (see `gridsum.training.summary`)
    FOLDER/records/NAME.jsonl     records of the problems that are reported
    FOLDER/further/               the same of further seeds, by which the paper's orderings are decided
    FOLDER/manifest.json          checksums of all of these, and of the weights
    FOLDER/campaign.json          what was asked for last; `gridsum status` reads it

There is no state beside these: what is done is read from the folders and records themselves. Weights and logs need not
be kept of a training that has been measured: it counts as done.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gridsum.config.fields import fields_of, following, override
from gridsum.config.paper import Config
from gridsum.config.variants import variant
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.suites import COLLECTIONS, LONG_DIGITS, Suite
from gridsum.io.disk import read_objects, write_atomically
from gridsum.study.selection import choose
from gridsum.training.folders import FolderError, read_setup, trained_epochs

OVERTRAINED = {"base": "terms", "noGroups": "digits"}
"""The variants whose best runs the paper trains further, and what it shows each of them for."""
OVERTRAINING_WEIGHT = 5e-4

Way = tuple[str, str]
"""How problems are measured: on which grids, and by which placement."""
ON_EVERY_GRID: Way = ("every", "soft")
"""What models are chosen by, and the orderings decided."""
AS_PUBLISHED: Way = ("published", "soft")
"""What the paper's numbers are of."""
LEAKY_DIGITS = 100
"""Of terms so long, soft placement loses positions where it leaks; so they are placed hard, too."""

_BY_NAME = {suite.name: suite for collection in ("all", "terms") for suite in COLLECTIONS[collection]}
REPORTED = tuple(_BY_NAME.values())
"""The suites of the paper's tables and of its figure of accuracy against terms."""


@dataclass(frozen=True)
class Sheet:
    """What is measured of every run."""

    suites: tuple[Suite, ...]
    evaluation_seed: int
    ways: Callable[[Suite], tuple[Way, ...]]


def _all_ways(suite: Suite) -> tuple[Way, ...]:
    if suite.expressions:
        return (ON_EVERY_GRID,)
    placements = ("soft", "hard") if suite.space.digits[1] >= LEAKY_DIGITS else ("soft",)
    return tuple((grids, placement) for placement in placements for grids in ("every", "published"))


def _on_every_grid(suite: Suite) -> tuple[Way, ...]:  # noqa: ARG001
    return (ON_EVERY_GRID,)


VALIDATION = Sheet(COLLECTIONS["validation"], 7, _on_every_grid)
"""What models are chosen by: problems that no table reports."""
REPORT = Sheet(REPORTED, 0, _all_ways)
FURTHER = Sheet(COLLECTIONS["ablation"], 0, _on_every_grid)
"""Of the seeds that only the orderings need."""

_CAMPAIGN, _FURTHER = "campaign.json", "further"

# Where a training was done in another way than asked in these alone, it is still the training that was asked for.
_INDIFFERENT = ("training.precision", "training.checkpoint_epochs")


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    changes: dict[str, Any] = field(default_factory=dict)
    """Of every configuration."""
    overtraining_epochs: int = 300
    samples: int | None = None
    long_samples: int | None = None
    """Of each suite, and of those with long terms; None for each suite's own number."""
    suites: tuple[str, ...] | None = None
    """The names of those that are measured; None for all."""

    def samples_of(self, suite: Suite) -> int:
        asked = self.long_samples if suite.space.digits[1] >= LONG_DIGITS else self.samples
        return suite.samples if asked is None or suite.expressions else asked

    def within(self, suites: Iterable[Suite]) -> tuple[Suite, ...]:
        return tuple(suite for suite in suites if self.suites is None or suite.name in self.suites)


FULL = Scale()
QUICK = Scale(
    {
        "training.epochs": 2,
        "training.steps_per_epoch": 1,
        "training.batch": 8,
        "training.checkpoint_epochs": 1,
        "model.width": 16,
        "model.groups": 4,
        "model.heads": 16,
        "model.step_hidden": 32,
        "model.max_steps": 8,
    },
    overtraining_epochs=1,
    samples=2,
    long_samples=1,
    suites=(
        *("2x15", "2x100", "2x602", "[1,4]x[1,10]", "[5,6]x[1,10]", "[7,10]x[1,10]", "5x5", "6x5", "examples"),
        "2x[1,1000]",
        *(suite.name for suite in COLLECTIONS["validation"]),
    ),
)


@dataclass(frozen=True)
class Training:
    """One fleet to train."""

    name: str
    config: Config
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Campaign:
    """The trainings of some variants, and what follows from them."""

    folder: Path
    variants: tuple[str, ...]
    seeds: tuple[int, ...]
    precision: str = "bf16"
    scale: Scale = FULL
    reading: str | None = None
    """How the paper is read, if otherwise than by default."""

    @cached_property
    def trainings(self) -> list[Training]:
        """The standard ones."""
        changes = {"training.precision": self.precision, **self.scale.changes}
        return [Training(name, override(variant(name, self.reading), changes), self.seeds) for name in self.variants]

    @property
    def overtrained(self) -> list[str]:
        """The variants of this campaign whose best runs are trained further."""
        return [name for name in self.variants if name in OVERTRAINED]

    def overtraining(self, name: str) -> Training | None:
        """The training that follows a standard one, or None while its runs cannot be chosen yet."""
        standard = next(training for training in self.trainings if training.name == name)
        chosen = self.chosen(name)
        if not chosen or not self.finished(standard):
            return None
        config, _ = read_setup(self.folder / name)
        changes = {"objective.weight": OVERTRAINING_WEIGHT, "training.epochs": self.scale.overtraining_epochs}
        return Training(overtrained_name(name), override(following(config), changes), tuple(sorted({*chosen.values()})))

    def chosen(self, name: str) -> dict[str, int]:
        """The seed that is best on each of the validation's suites; empty while not all have been measured."""
        path = self.validation_records(name)
        whole = complete(path, self.seeds, VALIDATION, self.scale)
        return choose(current(path, self.seeds, VALIDATION, self.scale)) if whole else {}

    def validation_records(self, name: str) -> Path:
        return self.folder / name / "validation.jsonl"

    def report_records(self, name: str) -> Path:
        return self.folder / "records" / f"{name}.jsonl"

    def finished(self, training: Training) -> bool:
        return self.epochs_done(training) == training.config.training.epochs

    def epochs_done(self, training: Training) -> int:
        """Of a training, in its folder; refused where that folder holds another one.

        All of them where its weights have not been kept, but everything that they were for has been measured.
        """
        folder = self.folder / training.name
        if not (folder / "config.json").exists():
            return 0
        there, seeds = read_setup(folder)
        missing = [seed for seed in training.seeds if seed not in seeds]
        if missing:
            raise FolderError(
                f"{folder} was trained with seeds {_listed(seeds)}, without {_listed(missing)}; "
                "ask for --seeds that it has, or choose another --out"
            )
        ours, theirs = fields_of(training.config), fields_of(there)
        for name in ours:
            if ours[name] != theirs[name] and name not in _INDIFFERENT:
                others = " ".join(variant for variant in self.variants if not training.name.startswith(variant))
                leave_out = f", or leave this one out: --variants {others}" if others else ""
                raise FolderError(
                    f"{folder} was trained with {name} = {theirs[name][1]}, not {ours[name][1]}. It stays as it is; "
                    f"name a new folder for a study of your own: --out mine{leave_out}"
                )
        done, epochs = trained_epochs(folder), training.config.training.epochs
        return epochs if not done and self._measured(training) else min(done, epochs)

    def _measured(self, training: Training) -> bool:
        """Whether all records of a training's runs are there."""
        reported, validated = self.report_records(training.name), self.validation_records(training.name)
        if self.is_further:
            return complete(reported, training.seeds, FURTHER, self.scale)
        return complete(reported, training.seeds, REPORT, self.scale) and complete(
            validated, training.seeds, VALIDATION, self.scale
        )

    @property
    def is_further(self) -> bool:
        return self.folder.name == _FURTHER

    def moved(self, old: Path, new: Path) -> "Campaign":
        """The same campaign in another folder."""
        return replace(self, folder=new / self.folder.absolute().relative_to(old))

    def further(self, seeds: Sequence[int]) -> "Campaign":
        """The same trainings of other seeds."""
        return replace(self, folder=self.folder / _FURTHER, seeds=tuple(seeds))


_SCALES = {"full": FULL, "quick": QUICK}


def write_campaign(campaign: Campaign) -> None:
    """Keep what was asked for last, for whoever looks at how far it is."""
    scale = next(name for name, scale in _SCALES.items() if scale == campaign.scale)
    about = {
        "variants": campaign.variants,
        "seeds": campaign.seeds,
        "precision": campaign.precision,
        "scale": scale,
        "reading": campaign.reading,
    }
    path, content = campaign.folder / _CAMPAIGN, json.dumps(about).encode() + b"\n"
    if not path.exists() or path.read_bytes() != content:
        write_atomically(path, content)


def holds_campaign(folder: Path) -> bool:
    return (folder / _CAMPAIGN).is_file()


def read_campaign(folder: Path) -> Campaign:
    try:
        about = json.loads((folder / _CAMPAIGN).read_text())
        variants, seeds, scale = tuple(about["variants"]), tuple(about["seeds"]), _SCALES[about["scale"]]
        return Campaign(folder, variants, seeds, about["precision"], scale, about["reading"])
    except FileNotFoundError:
        raise FolderError(f"{folder} holds neither a campaign nor a sweep; name the --out of one") from None
    except (ValueError, KeyError, TypeError) as error:
        raise FolderError(f"{folder / _CAMPAIGN} cannot be read: {error!r}") from None


def overtrained_name(name: str) -> str:
    return f"{name}-overtrained"


def current(path: Path, seeds: Sequence[int], sheet: Sheet, scale: Scale) -> list[Record]:
    """The records in a file that count: of these runs, on this sheet, with problems enough; of several, the last."""
    if not path.exists():
        return []
    wanted = {
        (suite.name, way): scale.samples_of(suite) for suite in scale.within(sheet.suites) for way in sheet.ways(suite)
    }
    found = {
        (record.seed, record.suite, record.way): record
        for record in read([path], pass_over_torn=True)
        if record.seed in seeds
        and record.samples >= wanted.get((record.suite, record.way), record.samples + 1)
        and record.evaluation_seed == sheet.evaluation_seed
    }
    return list(found.values())


def complete(path: Path, seeds: Sequence[int], sheet: Sheet, scale: Scale) -> bool:
    """Whether a file holds all records of these runs on the sheet."""
    each = sum(len(sheet.ways(suite)) for suite in scale.within(sheet.suites))
    return len(current(path, seeds, sheet, scale)) == len(seeds) * each


def machines(folder: Path) -> list[dict[str, Any]]:
    """Where, and how long, a training folder was trained."""
    path = folder / "machine.jsonl"
    return list(read_objects(path)) if path.exists() else []


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))
