"""Which trained runs come with the package, and putting them there.

A variant's own name means its best run on validation, overtrained or not. VARIANT-overtrained is the best of the
overtrained runs, VARIANT-overtrained-AIM the other one, named for what it was chosen for, and VARIANT-standard the
best run of the standard training where VARIANT itself is an overtrained one.
"""

import dataclasses
import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from gridsum.evaluation.choice import merit
from gridsum.evaluation.records import Record
from gridsum.reproduction.results import Results, Trained
from gridsum.reproduction.selection import AIMS
from gridsum.store import WEIGHTS, write_atomically
from gridsum.training.folders import seed_folder
from gridsum.variants import VARIANTS


class ShippingError(ValueError):
    """Models that cannot be shipped yet; the message says what is missing."""


class Run(NamedTuple):
    training: Trained
    seed: int

    @property
    def merit(self) -> tuple[float, float, int]:
        """Over both aims together, because a shipped model is for any sum."""
        return merit(self.training.validation, self.seed)

    @property
    def records(self) -> list[Record]:
        return [record for record in self.training.reported if record.seed == self.seed]


def shipments(results: Results, variants: Collection[str] = tuple(VARIANTS)) -> dict[str, Run]:
    """The runs of these variants to ship, by the name each gets; variants not validated yet are left out."""
    found: dict[str, Run] = {}
    for trained in [*results.variants, *results.beyond.values()]:
        name = trained.name
        if name not in variants or not results.chosen(name):
            continue
        best = _best(trained)
        further = results.overtrained.get(name)
        if further is None or not results.chosen(further.name):
            found[name] = best
            continue
        overtrained = _best(further)
        found[name] = max(best, overtrained, key=lambda run: run.merit)
        if found[name] is overtrained:
            found[f"{name}-standard"] = best
        found[further.name] = overtrained
        aims = results.chosen(name)
        found |= {
            f"{further.name}-{aim}": Run(further, aims[aim])
            for aim in AIMS
            if aims[aim] in further.seeds and aims[aim] != overtrained.seed
        }
    return found


def _best(trained: Trained) -> Run:
    return max((Run(trained, seed) for seed in trained.seeds), key=lambda run: run.merit)


def ship(results: Results, folder: Path, variants: Collection[str] = tuple(VARIANTS)) -> dict[str, Run]:
    """Copy the weights and scores of the shipments of `variants` into `folder`; all of them, or none."""
    found = shipments(results, variants)
    if not found:
        raise ShippingError(f"{results.folder} holds no validated runs; make them: gridsum reproduce --only validate")
    unmeasured = [name for name, run in found.items() if not run.records]
    if unmeasured:
        raise ShippingError(
            f"there are no scores yet of {', '.join(unmeasured)}; make them first: gridsum reproduce --only measure"
        )
    files = {name: seed_folder(results.folder / run.training.name, run.seed) / WEIGHTS for name, run in found.items()}
    absent = [name for name, path in files.items() if not path.is_file()]
    if absent:
        raise ShippingError(
            f"the weights of {', '.join(absent)} have not been kept ({files[absent[0]]}); train them again elsewhere: "
            "gridsum reproduce --out FOLDER"
        )
    weights = {name: path.read_bytes() for name, path in files.items()}
    for name, run in found.items():
        write_atomically(folder / f"{name}.safetensors", weights[name])
        write_atomically(folder / f"{name}.jsonl", _lines(name, run.records))
    return found


def _lines(name: str, records: Iterable[Record]) -> bytes:
    renamed = (dataclasses.replace(record, model=name) for record in records)
    return "".join(json.dumps(dataclasses.asdict(record)) + "\n" for record in renamed).encode()
