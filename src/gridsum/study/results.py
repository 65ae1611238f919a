"""What the folder of a reproduction holds by now, read once: the records and summaries that the pages are made of."""

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gridsum.config.paper import Config
from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.io.disk import write_atomically
from gridsum.model.store import WEIGHTS
from gridsum.study.jobs import Way
from gridsum.study.reproduction import AS_PUBLISHED, EXTRA_FOLDER, ON_EVERY_GRID, OVERTRAINED, overtrained_name
from gridsum.study.selection import best, choose
from gridsum.training.folders import read_setup, seed_folder
from gridsum.training.summary import Summary, read_summary, write_summary

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Trained:
    """A training folder, and the records of its runs."""

    name: str
    config: Config
    summary: Summary
    validation: list[Record]
    by_way: dict[Way, list[Record]]
    """The reported records, by how they were measured."""
    extra: list[Record]
    """Records of other seeds: they are in no table of means, but the paper's orderings are decided by them too."""

    @property
    def reported(self) -> list[Record]:
        """As the paper's numbers were measured."""
        return self.measured(AS_PUBLISHED)

    def measured(self, way: Way) -> list[Record]:
        return self.by_way.get(way, [])

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(self.summary.runs)

    def of(self, suite: str) -> list[Record]:
        """The reported records of a suite, by seed."""
        return sorted((r for r in self.reported if r.suite == suite), key=lambda record: record.seed or 0)


class Run(NamedTuple):
    training: Trained
    seed: int

    @property
    def records(self) -> list[Record]:
        """As the paper's numbers were measured."""
        return self.measured(AS_PUBLISHED)

    def measured(self, way: Way) -> list[Record]:
        return [record for record in self.training.measured(way) if record.seed == self.seed]


@dataclass(frozen=True)
class Results:
    folder: Path
    trained: dict[str, Trained]
    """By name: variants in the paper's order, then what was overtrained of them."""

    @property
    def variants(self) -> list[Trained]:
        return [self.trained[name] for name in PAPER_VARIANTS if name in self.trained]

    def overtrained(self, variant: str) -> Trained | None:
        """What was overtrained of a variant."""
        return self.trained.get(overtrained_name(variant))

    def chosen(self, name: str) -> dict[str, int]:
        """The best seed of a training for each aim; empty where not every run has been validated on both."""
        trained = self.trained.get(name)
        if trained is None:
            return {}
        wanted = {(seed, suite.name) for seed in trained.seeds for suite in COLLECTIONS["validation"]}
        whole = {(record.seed, record.suite) for record in trained.validation} >= wanted
        return choose(trained.validation) if whole else {}

    def standing_for(self, variant: str) -> Run | None:
        """The run of a variant that is compared, drawn and shipped; None while its runs are not validated.

        Where the paper shows a variant for something, this is the best run for that, overtrained if it has been
        measured so. Of any other variant it is the best for both aims together.
        """
        chosen, further = self.chosen(variant), self.overtrained(variant)
        if not chosen:
            return None
        standard = self.trained[variant]
        if variant not in OVERTRAINED:
            return Run(standard, best(standard.validation))
        seed = chosen[OVERTRAINED[variant]]
        return Run(standard if further is None or not further.reported else further, seed)


def load_results(folder: Path) -> Results:
    names = [*PAPER_VARIANTS, *map(overtrained_name, OVERTRAINED)]
    return Results(folder, {name: _load(folder, name) for name in names if (folder / name / "config.json").exists()})


def _load(folder: Path, name: str) -> Trained:
    config, seeds = read_setup(folder / name)
    found = _last(folder / "records" / f"{name}.jsonl")
    by_way: dict[Way, list[Record]] = {}
    for record in _of(seeds, found):
        by_way.setdefault(record.way, []).append(record)
        if record.answers is not None and record.way == ON_EVERY_GRID:  # worked examples have one grid
            by_way.setdefault(AS_PUBLISHED, []).append(record)
    others = _last(folder / EXTRA_FOLDER / "records" / f"{name}.jsonl")
    return Trained(
        name,
        config,
        read_summary(folder / name),
        _of(seeds, _last(folder / name / "validation.jsonl")),
        by_way,
        [record for record in (*found, *others) if record.seed not in seeds],
    )


def _last(path: Path) -> list[Record]:
    """The records of a file, of several for one run, suite and way the last."""
    if not path.exists():
        return []
    records = read([path], pass_over_torn=True)
    return list({(record.seed, record.suite, record.way): record for record in records}.values())


def _of(seeds: Collection[int], records: list[Record]) -> list[Record]:
    return [record for record in records if record.seed in seeds]


def keep(results: Results) -> None:
    """Keep of every training a summary of its logs, and the checksums of its weights: neither need stay themselves."""
    path = results.folder / MANIFEST
    known = json.loads(path.read_text()) if path.exists() else {}
    for name, trained in results.trained.items():
        write_summary(results.folder / name)
        files = {str(seed): seed_folder(results.folder / name, seed) / WEIGHTS for seed in trained.seeds}
        sums = {seed: hashlib.sha256(file.read_bytes()).hexdigest() for seed, file in files.items() if file.is_file()}
        known[name] = known.get(name, {}) | sums
    write_atomically(path, json.dumps(known, indent=1).encode() + b"\n")
