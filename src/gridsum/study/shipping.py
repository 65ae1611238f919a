"""Which trained runs come with the package, and putting them there.

Each variant has one: the run that stands for it in the tables, too.
"""

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from gridsum.automaton.rule import LearnedRule
from gridsum.config.registry import find
from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.records import Record, as_line, read
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.io.disk import write_atomically
from gridsum.model.store import SEEDS, WEIGHTS, load_runs
from gridsum.study.jobs import outcomes_of
from gridsum.study.reproduction import EXACT
from gridsum.study.results import Results, Run
from gridsum.study.selection import proved_seed
from gridsum.training.folders import seed_folder


class ShippingError(ValueError):
    """Models that cannot be shipped yet; the message says what is missing."""


def shipments(results: Results, variants: Collection[str] = tuple(PAPER_VARIANTS)) -> dict[str, Run]:
    """The run of each of these variants to ship; variants that are not validated are left out."""
    found = {name: results.standing_for(name) for name in PAPER_VARIANTS if name in variants}
    return {name: run for name, run in found.items() if run is not None}


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


def ship_exact(folder: Path, to: Path, seeds: Sequence[int]) -> int:
    """Weights, rule and scores of the chosen run of `exact` into `to`; returns its seed."""
    outcomes, records = outcomes_of(folder / EXACT, find(EXACT).configure(), seeds), folder / f"records/{EXACT}.jsonl"
    seed = proved_seed(outcomes)
    if seed is None:
        raise ShippingError(
            f"no run of {EXACT} in {folder} is proved; train more seeds, or see what fails: gridsum prove --model RUN"
        )
    if not records.exists():
        raise ShippingError(f"there are no scores yet of {EXACT}; make them first: gridsum reproduce --only measure")
    weights = seed_folder(folder / EXACT, seed) / WEIGHTS
    rule = LearnedRule(load_runs(EXACT, [weights]).network).table()
    write_atomically(to / f"{EXACT}.safetensors", weights.read_bytes())
    write_atomically(to / f"{EXACT}.rule.json", (rule.to_json() + "\n").encode())
    write_atomically(to / f"{EXACT}.jsonl", _lines(EXACT, [r for r in read([records]) if r.seed == seed]))
    return seed


def _seeds(results: Results) -> bytes:
    """The records of every seed that Table VI is made of."""
    suites = {suite.name for suite in COLLECTIONS["ablation"]}
    by_name = {trained.name: trained.reported for trained in results.variants}
    return b"".join(_lines(name, [r for r in records if r.suite in suites]) for name, records in by_name.items())


def _lines(name: str, records: Iterable[Record]) -> bytes:
    renamed = (dataclasses.replace(record, model=name) for record in records)
    return "".join(as_line(record) for record in renamed).encode()
