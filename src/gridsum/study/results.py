"""What the folder of a reproduction holds by now, read once: the records and summaries that the pages are made of."""

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.records import Record, append, read
from gridsum.io.disk import write_atomically
from gridsum.model.store import WEIGHTS
from gridsum.study import rule
from gridsum.study.jobs import Way, best, choose
from gridsum.study.reproduction import AS_PUBLISHED, BLOCK, ON_EVERY_GRID, OVERTRAINED, overtrained_name
from gridsum.training.folders import read_setup, read_steps, seed_folder, write_summary

MANIFEST, ORDERINGS = "manifest.json", "records/orderings.jsonl"


@dataclass(frozen=True)
class Trained:
    """A training folder, and the records of its runs, or of one of them."""

    place: Path
    steps: dict[int, tuple[float, ...]]
    """The mean recurrent steps of every epoch, by seed."""
    validation: list[Record]
    records: list[Record]

    @property
    def name(self) -> str:
        return self.place.name

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(self.steps)

    def run(self, seed: int) -> "Trained":
        records = [record for record in self.records if record.seed == seed]
        return replace(self, steps={seed: self.steps.get(seed, ())}, records=records)

    def measured(self, way: Way = AS_PUBLISHED) -> list[Record]:
        """As the paper's numbers were measured, or in another way. Worked examples have one grid."""
        ways = {AS_PUBLISHED: (AS_PUBLISHED, ON_EVERY_GRID)}.get(way, (way,))
        return [record for record in self.records if record.way in (ways if record.answers is not None else (way,))]


@dataclass(frozen=True)
class Results:
    folder: Path
    trained: dict[str, Trained]
    """By name: variants in the paper's order, then what was overtrained of them."""

    @property
    def variants(self) -> list[Trained]:
        return [self.trained[name] for name in PAPER_VARIANTS if name in self.trained]

    def overtrained(self, variant: str) -> Trained | None:
        return self.trained.get(overtrained_name(variant))

    def standing_for(self, variant: str) -> Trained | None:
        """The run of a variant that is compared, drawn and shipped; None while its runs are not validated.

        It is the best for what the paper shows a variant for, overtrained if measured so, else for both aims together.
        """
        standard, further = self.trained.get(variant), self.overtrained(variant)
        chosen = choose(standard.validation, standard.seeds) if standard else {}
        if standard is None or not chosen:
            return None
        if variant not in OVERTRAINED:
            return standard.run(best(standard.validation))
        shown = standard if further is None or not further.measured() else further
        return shown.run(chosen[OVERTRAINED[variant]])

    def replications(self) -> "list[Results]":
        """These and those of every further block of seeds."""
        return [self, *map(load_results, sorted(self.folder.glob(f"{BLOCK}*")))]

    def of_all_seeds(self) -> list[Record]:
        """Of every seed that was trained by the standard, on every grid size."""
        paths = [path for name in PAPER_VARIANTS for path in sorted(self.folder.glob(f"**/records/{name}.jsonl"))]
        return [record for path in paths for record in _last(path) if record.way == ON_EVERY_GRID]

    def decisive(self) -> list[Record]:
        """The records that the paper's orderings are decided by: those kept, else those that do now; or none."""
        kept = self.folder / ORDERINGS
        found = read([kept]) if kept.exists() else rule.counting(self.of_all_seeds())
        return found if rule.decidable(found) else []


def load_results(folder: Path) -> Results:
    names = [*PAPER_VARIANTS, *map(overtrained_name, OVERTRAINED)]
    trained = {}
    for place in (folder / name for name in names if (folder / name / "config.json").exists()):
        _, seeds = read_setup(place)
        files = place / "validation.jsonl", folder / "records" / f"{place.name}.jsonl"
        records = ([record for record in _last(path) if record.seed in seeds] for path in files)
        trained[place.name] = Trained(place, read_steps(place), *records)
    return Results(folder, trained)


def _last(path: Path) -> list[Record]:
    """The records of a file, of several for one run, suite and way the last."""
    records = read([path]) if path.exists() else []
    return list({(record.seed, record.suite, record.way): record for record in records}.values())


def keep(results: Results) -> None:
    """Keep of every training a summary of its logs and the checksums of its weights, which need not stay themselves;
    and the records that the paper's orderings are decided by, once all of them are there."""
    if (decisive := results.decisive()) and not (results.folder / ORDERINGS).exists():
        append(results.folder / ORDERINGS, [replace(record, batches=None) for record in decisive])
    path = results.folder / MANIFEST
    known = json.loads(path.read_text()) if path.exists() else {}
    for name, trained in results.trained.items():
        write_summary(results.folder / name)
        files = {str(seed): seed_folder(results.folder / name, seed) / WEIGHTS for seed in trained.seeds}
        sums = {seed: hashlib.sha256(file.read_bytes()).hexdigest() for seed, file in files.items() if file.is_file()}
        known[name] = known.get(name, {}) | sums
    write_atomically(path, json.dumps(known, indent=1).encode() + b"\n")
