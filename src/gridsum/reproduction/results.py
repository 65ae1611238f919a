"""What a campaign's folder holds by now, read once: the records and logs that the page is made of."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gridsum.ablations import ablations_of
from gridsum.config import Config
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.reproduction.campaign import is_overtrained, machines, overtrained_name
from gridsum.reproduction.selection import choose
from gridsum.training.folders import read_metrics, read_setup
from gridsum.variants import PAPER_VARIANTS, VARIANTS

_READINGS = tuple(reading for name in PAPER_VARIANTS for reading in ablations_of(name))


FURTHER_SEEDS = "further-seeds"
"""The folder inside a campaign's that holds trainings of the same names from seeds that were added later."""


@dataclass(frozen=True)
class Trained:
    """A training folder, and the records of its runs."""

    name: str
    config: Config
    logs: dict[int, list[dict[str, Any]]]
    """A line an epoch, by seed."""
    machines: list[dict[str, Any]]
    validation: list[Record]
    reported: list[Record]

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(self.logs)

    def of(self, suite: str) -> list[Record]:
        """The reported records of a suite, by seed."""
        return sorted((r for r in self.reported if r.suite == suite), key=lambda record: record.seed or 0)

    def validated(self, suite: str, seed: int) -> Record | None:
        return next((r for r in self.validation if (r.suite, r.seed) == (suite, seed)), None)


@dataclass(frozen=True)
class Results:
    folder: Path
    trained: dict[str, Trained]
    """By name, variants in the paper's order and what was overtrained of them, then readings and what was of those."""
    beyond: dict[str, Trained] = field(default_factory=dict)
    """By name, variants that the paper does not have, then their ablations."""
    further: dict[str, Trained] = field(default_factory=dict)
    """By name, the trainings from further seeds, which are for the paper's orderings and in no table of means."""

    @property
    def variants(self) -> list[Trained]:
        return [self.trained[name] for name in PAPER_VARIANTS if name in self.trained]

    @property
    def overtrained(self) -> dict[str, Trained]:
        """By the name of the standard training whose runs were trained further."""
        names = {name: overtrained_name(name) for name in (*PAPER_VARIANTS, *_READINGS) if is_overtrained(name)}
        return {name: self.trained[further] for name, further in names.items() if further in self.trained}

    @property
    def readings(self) -> dict[str, Trained]:
        """By name: the paper's variants under other readings of what it leaves open."""
        return {name: self.trained[name] for name in _READINGS if name in self.trained}

    def chosen(self, name: str) -> dict[str, int]:
        """The best seed of a training for each aim; empty where not every run has been validated on both."""
        trained = self.trained.get(name) or self.beyond.get(name)
        if trained is None:
            return {}
        wanted = {(seed, suite.name) for seed in trained.seeds for suite in COLLECTIONS["validation"]}
        whole = {(record.seed, record.suite) for record in trained.validation} >= wanted
        return choose(trained.validation) if whole else {}


def load_results(folder: Path) -> Results:
    names = [
        name
        for standard in (tuple(PAPER_VARIANTS), _READINGS)
        for name in (*standard, *(overtrained_name(name) for name in standard if is_overtrained(name)))
    ]
    variants = [name for name in VARIANTS if name not in PAPER_VARIANTS]
    beyond = [*variants, *(ablation for name in variants for ablation in ablations_of(name))]

    def found(names: list[str], folder: Path = folder) -> dict[str, Trained]:
        return {name: _load(folder, name) for name in names if (folder / name / "config.json").exists()}

    return Results(folder, found(names), found(beyond), found(names, folder / FURTHER_SEEDS))


def _load(folder: Path, name: str) -> Trained:
    config, seeds = read_setup(folder / name)
    return Trained(
        name,
        config,
        {seed: read_metrics(folder / name, seed) for seed in seeds},
        machines(folder / name),
        _last(folder / name / "validation.jsonl", seeds),
        _last(folder / "records" / f"{name}.jsonl", seeds),
    )


def _last(path: Path, seeds: Collection[int]) -> list[Record]:
    """The records of a file, of several for one run and suite the last."""
    if not path.exists():
        return []
    found = {(record.seed, record.suite): record for record in read([path]) if record.seed in seeds}
    return list(found.values())
