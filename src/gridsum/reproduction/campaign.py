"""What a campaign consists of, and where it keeps what.

    FOLDER/NAME/                  a training folder (see `gridsum.training.folders`); NAME is a variant, or one
                                  with -overtrained
    FOLDER/NAME/machine.jsonl     where and how long it was trained, one line for each stretch
    FOLDER/NAME/validation.jsonl  records of the problems that models are chosen by
    FOLDER/NAME/summary.json      its logs in few numbers (see `gridsum.training.summary`)
    FOLDER/records/NAME.jsonl     records of the problems that are reported
    FOLDER/manifest.json          checksums of all of these, and of the weights
    FOLDER/campaign.json          what was asked for last; `gridsum status` reads it

There is no state beside these: what is done is read from the folders and records themselves. Weights and logs need not
be kept of a training that has been measured: it counts as done.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gridsum.config import Config
from gridsum.deltas import variant
from gridsum.disk import read_objects, write_atomically
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.suites import COLLECTIONS, LONG_DIGITS, Suite
from gridsum.fields import fields_of, following, override
from gridsum.reproduction.selection import choose
from gridsum.training.folders import FolderError, read_setup, trained_epochs

OVERTRAINED = ("base", "noGroups")
"""The variants whose best runs the paper trains further."""
OVERTRAINING_WEIGHT = 5e-4
VALIDATION_SEED, REPORT_SEED = 7, 0
"""Of the problems that models are chosen by, and of those that are reported."""

_BY_NAME = {suite.name: suite for collection in ("all", "terms") for suite in COLLECTIONS[collection]}
REPORTED = tuple(_BY_NAME.values())
"""The suites of the paper's tables and of its figure of accuracy against terms."""


_CAMPAIGN = "campaign.json"

# Where a training was done in another way than asked in these alone, it is still the training that was asked for.
_INDIFFERENT = ("training.precision", "training.checkpoint_epochs")
# The same holds for what only the regulariser `kl` asks for, where there is another.
_OF_KL = ("objective.prior", "objective.truncate_prior")


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    changes: dict[str, Any] = field(default_factory=dict)
    """Of every configuration."""
    overtraining_epochs: int = 300
    samples: int | None = None
    long_samples: int | None = None
    """Of each suite, and of those with long terms; None for each suite's own number."""
    longest: int | None = None
    """Suites of more digits are left out."""

    def samples_of(self, suite: Suite) -> int:
        asked = self.long_samples if suite.space.digits[1] >= LONG_DIGITS else self.samples
        return suite.samples if asked is None or suite.expressions else asked

    def within(self, suites: Iterable[Suite]) -> tuple[Suite, ...]:
        return tuple(suite for suite in suites if self.longest is None or suite.space.digits[1] <= self.longest)


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
    longest=1000,
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

    @property
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
        suites = COLLECTIONS["validation"]
        records = current(self.validation_records(name), self.seeds, suites, VALIDATION_SEED, self.scale)
        return choose(records) if len(records) == len(self.seeds) * len(suites) else {}

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
        indifferent = _INDIFFERENT + (() if training.config.objective.regulariser == "kl" else _OF_KL)
        ours, theirs = fields_of(training.config), fields_of(there)
        for name in ours:
            if ours[name] != theirs[name] and name not in indifferent:
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
        name, scale = training.name, self.scale
        wanted = (
            (self.report_records(name), REPORTED, REPORT_SEED),
            (self.validation_records(name), COLLECTIONS["validation"], VALIDATION_SEED),
        )
        return all(
            len(current(path, training.seeds, within, seed, scale)) == len(training.seeds) * len(within)
            for path, suites, seed in wanted
            for within in [scale.within(suites)]
        )


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


def current(
    path: Path, seeds: Sequence[int], suites: Iterable[Suite], evaluation_seed: int, scale: Scale
) -> list[Record]:
    """The records in a file that count: of these runs and suites, with problems enough; of several, the last."""
    if not path.exists():
        return []
    wanted = {suite.name: scale.samples_of(suite) for suite in suites}
    found = {
        (record.seed, record.suite): record
        for record in read([path], pass_over_torn=True)
        if record.seed in seeds
        and record.samples >= wanted.get(record.suite, record.samples + 1)
        and record.evaluation_seed == evaluation_seed
    }
    return list(found.values())


def machines(folder: Path) -> list[dict[str, Any]]:
    """Where, and how long, a training folder was trained."""
    path = folder / "machine.jsonl"
    return list(read_objects(path)) if path.exists() else []


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))
