"""What a campaign consists of, and where it keeps what.

    FOLDER/NAME/                  a training folder (see `gridsum.training.folders`); NAME is a variant,
                                  VARIANT-ABLATION, or one of these with -overtrained
    FOLDER/NAME/machine.jsonl     where and how long it was trained, one line for each stretch
    FOLDER/NAME/validation.jsonl  records of the problems that models are chosen by
    FOLDER/records/NAME.jsonl     records of the problems that are reported

There is no state beside these: what is done is read from the folders and records themselves. Weights need not be kept
of a training that has been measured: it counts as done.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gridsum.ablations import ABLATIONS
from gridsum.config import Config
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.suites import COLLECTIONS, LONG_DIGITS, Suite
from gridsum.fields import fields_of, following, override
from gridsum.reproduction.selection import choose
from gridsum.training.folders import FolderError, read_setup, trained_epochs
from gridsum.variants import PAPER_VARIANTS, variant

OVERTRAINED = ("base", "noGroups")
"""The variants whose best runs the paper trains further."""
FOLLOWED = "published"
"""The reading that is followed to the end: under it variants are validated, trained further and measured as they are as
specified."""
OVERTRAINING_WEIGHT = 5e-4
VALIDATION_SEED, REPORT_SEED = 7, 0
"""Of the problems that models are chosen by, and of those that are reported."""

_BY_NAME = {suite.name: suite for collection in ("all", "terms") for suite in COLLECTIONS[collection]}
_LIKE_TRAINING = "[1,4]x[1,10]"
REPORTED = tuple(_BY_NAME.values())
"""The suites of the paper's tables and of its figure of accuracy against terms."""


def reported(name: str) -> tuple[Suite, ...]:
    """The suites that a training's runs are measured on: those of the paper.

    Ablations are measured on a few that tell them apart: those of the paper on the problems of its ablation and those
    like training's, unless they are the reading that is followed.
    """
    if name in ABLATIONS and not is_followed(name):
        return (*COLLECTIONS["ablation"], _BY_NAME[_LIKE_TRAINING])
    return REPORTED


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
        "training.steps_per_epoch": 2,
        "training.batch": 8,
        "training.checkpoint_epochs": 1,
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
    indifferent: tuple[str, ...] = _INDIFFERENT
    """Fields that may be otherwise in a folder that exists already."""
    validated: bool = True
    """Whether the best of its runs is to be known; where only all of them together count, it is not."""


@dataclass(frozen=True)
class Campaign:
    """The trainings of some variants and ablations, and what follows from them."""

    folder: Path
    variants: tuple[str, ...]
    ablations: tuple[str, ...]
    seeds: tuple[int, ...]
    precision: str = "bf16"
    scale: Scale = FULL

    @property
    def trainings(self) -> list[Training]:
        """The standard ones: variants, then ablations."""
        variants = [Training(name, self._variant_config(name), self.seeds) for name in self.variants]
        return variants + [self._ablation(name) for name in self.ablations]

    def _ablation(self, name: str) -> Training:
        changed, _, changes, _ = ABLATIONS[name]
        indifferent = tuple(path for path in _INDIFFERENT if path not in changes)
        return Training(name, self._config(changed, changes), self.seeds, indifferent, is_followed(name))

    def _variant_config(self, name: str) -> Config:
        """The paper's variants are what the paper says; of others, a training that is there is the one meant."""
        if name not in PAPER_VARIANTS and (self.folder / name / "config.json").exists():
            return read_setup(self.folder / name)[0]
        return self._config(name, {})

    def _config(self, name: str, changes: dict[str, Any]) -> Config:
        return override(variant(name), {"training.precision": self.precision, **self.scale.changes, **changes})

    @property
    def overtrained(self) -> list[str]:
        """The standard trainings of this campaign whose best runs are trained further."""
        return [name for name in (*self.variants, *self.ablations) if is_overtrained(name)]

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
        ours, theirs = fields_of(training.config), fields_of(there)
        for name in ours:
            if ours[name] != theirs[name] and name not in training.indifferent:
                there, asked = theirs[name][1], ours[name][1]
                mend = "choose another --out"
                raise FolderError(f"{folder} was trained with {name} = {there}, not {asked}; {mend}")
        done, epochs = trained_epochs(folder), training.config.training.epochs
        return epochs if not done and self._measured(training) else min(done, epochs)

    def _measured(self, training: Training) -> bool:
        """Whether all records of a training's runs are there."""
        name, scale = training.name, self.scale
        wanted = [(self.report_records(name), reported(name), REPORT_SEED)]
        if training.validated:
            wanted.append((self.validation_records(name), COLLECTIONS["validation"], VALIDATION_SEED))
        return all(
            len(current(path, training.seeds, within, seed, scale)) == len(training.seeds) * len(within)
            for path, suites, seed in wanted
            for within in [scale.within(suites)]
        )


def standard_name(variant: str, reading: str | None) -> str:
    """The standard training of a variant under a reading, None for the variant as specified."""
    return variant if reading is None else f"{variant}-{reading}"


def is_followed(name: str) -> bool:
    """Whether a standard training is of the reading that is followed."""
    return name in ABLATIONS and ABLATIONS[name].name == FOLLOWED


def is_overtrained(name: str) -> bool:
    """Whether the best runs of a standard training are trained further."""
    return any(name == standard_name(variant, reading) for variant in OVERTRAINED for reading in (None, FOLLOWED))


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
        for record in read([path])
        if record.seed in seeds
        and record.samples >= wanted.get(record.suite, record.samples + 1)
        and record.evaluation_seed == evaluation_seed
    }
    return list(found.values())


def machines(folder: Path) -> list[dict[str, Any]]:
    """Where, and how long, a training folder was trained."""
    path = folder / "machine.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def _listed(seeds: Sequence[int]) -> str:
    return ", ".join(map(str, seeds))
