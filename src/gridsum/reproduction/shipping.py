"""Which trained runs come with the package, and putting them there.

A variant's own name means its best run on validation: as specified or under the reading that is followed, overtrained
or not. VARIANT-overtrained is the best of the overtrained runs as specified, VARIANT-overtrained-AIM the other one,
named for what it was chosen for, and VARIANT-standard the best run of the standard training as specified where VARIANT
itself is another. VARIANT-published is the best run of the standard training under the reading that is followed, and
VARIANT-published-overtrained and VARIANT-published-overtrained-AIM are what was overtrained of it.
"""

import dataclasses
import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from gridsum.evaluation.choice import merit
from gridsum.evaluation.records import Record
from gridsum.reproduction.campaign import FOLLOWED, standard_name
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
    def merit(self) -> tuple[float, float, float, int]:
        """Over both aims together, because a shipped model is for any sum."""
        return merit(self.training.validation, self.seed)

    @property
    def records(self) -> list[Record]:
        return [record for record in self.training.reported if record.seed == self.seed]


def shipments(results: Results, variants: Collection[str] = tuple(VARIANTS)) -> dict[str, Run]:
    """The runs of these variants to ship, by the name each gets.

    Variants whose runs as specified are not validated yet are left out, and so is what else is not.
    """
    found: dict[str, Run] = {}
    for trained in [*results.variants, *results.beyond.values()]:
        name = trained.name
        if name not in variants or not results.chosen(name):
            continue
        specified = _best(trained)
        overtrained = _overtrained(results, name)
        followed = _followed(results, name)
        found[name] = max([specified, *overtrained.values(), *followed.values()], key=lambda run: run.merit)
        if found[name] is not specified:
            found[f"{name}-standard"] = specified
        found |= overtrained | followed
    return found


def _followed(results: Results, variant: str) -> dict[str, Run]:
    """The best run of a variant's standard training under the reading that is followed, and those overtrained."""
    name = standard_name(variant, FOLLOWED)
    if not results.chosen(name):
        return {}
    return {name: _best(results.trained[name]), **_overtrained(results, name)}


def _overtrained(results: Results, name: str) -> dict[str, Run]:
    """What was overtrained of a standard training: the best, then the other run, if there is one."""
    further = results.overtrained.get(name)
    if further is None or not results.chosen(further.name):
        return {}
    best, aims = _best(further), results.chosen(name)
    others = {
        f"{further.name}-{aim}": Run(further, aims[aim])
        for aim in AIMS
        if aims[aim] in further.seeds and aims[aim] != best.seed
    }
    return {further.name: best, **others}


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
