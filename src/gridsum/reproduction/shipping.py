"""Which trained runs come with the package, and putting them there.

A variant's own name means its best run on validation, overtrained or not. VARIANT-AIM is the run that was overtrained
because it was the best for that aim. `gridsum.names.MODELS` says which of these names are shipped.
"""

import dataclasses
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from gridsum.deltas import PAPER_VARIANTS
from gridsum.disk import write_atomically
from gridsum.evaluation.records import Record, as_line
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.names import MODELS
from gridsum.reproduction.results import Results, Trained
from gridsum.reproduction.selection import best, merit
from gridsum.store import SEEDS, WEIGHTS
from gridsum.training.folders import seed_folder


class ShippingError(ValueError):
    """Models that cannot be shipped yet; the message says what is missing."""


class Run(NamedTuple):
    training: Trained
    seed: int

    @property
    def merit(self) -> tuple[float, float]:
        """Over both aims together, because a shipped model is for any sum."""
        return merit([record for record in self.training.validation if record.seed == self.seed])

    @property
    def records(self) -> list[Record]:
        """As they were measured in every way."""
        return [record for records in self.training.by_way.values() for record in records if record.seed == self.seed]


def shipments(results: Results, variants: Collection[str] = tuple(PAPER_VARIANTS)) -> dict[str, Run]:
    """The runs of these variants to ship, by the name each gets; variants that are not validated are left out."""
    found: dict[str, Run] = {}
    for trained in results.variants:
        name = trained.name
        if name not in variants or not results.chosen(name):
            continue
        candidates = [_best(trained)]
        further = results.overtrained(name)
        if further is not None and results.chosen(further.name):
            candidates.append(_best(further))
            aims = results.chosen(name)
            found |= {f"{name}-{aim}": Run(further, seed) for aim, seed in aims.items() if seed in further.seeds}
        found[name] = max(candidates, key=lambda run: run.merit)
    return {name: found[name] for name in MODELS if name in found}


def _best(trained: Trained) -> Run:
    return Run(trained, best(trained.validation))


def ship(results: Results, folder: Path, variants: Collection[str] = tuple(PAPER_VARIANTS)) -> dict[str, Run]:
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
    write_atomically(folder / SEEDS, _seeds(results))
    return found


def _seeds(results: Results) -> bytes:
    """The records of every seed that Table VI is made of."""
    suites = {suite.name for suite in COLLECTIONS["ablation"]}
    by_name = {trained.name: trained.reported for trained in results.variants}
    return b"".join(_lines(name, [r for r in records if r.suite in suites]) for name, records in by_name.items())


def _lines(name: str, records: Iterable[Record]) -> bytes:
    renamed = (dataclasses.replace(record, model=name) for record in records)
    return "".join(as_line(record) for record in renamed).encode()
