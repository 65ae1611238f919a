"""Put trained runs of a reproduction into the package: of each variant the run that stands in the tables.

python benchmarks/ship.py results [--variants base exact] [--seeds 0-9] [--to FOLDER]
"""

import argparse
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from gridsum.automaton.rule import LearnedRule
from gridsum.config.fields import seeds_of
from gridsum.config.registry import find
from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.records import Record, as_line, read
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.io.disk import write_atomically
from gridsum.model.store import SEEDS, SHIPPED, WEIGHTS, load_runs
from gridsum.study.jobs import outcomes_of, proved_seed
from gridsum.study.reproduction import EXACT
from gridsum.study.results import Results, Trained, load_results
from gridsum.training.folders import seed_folder


class ShippingError(ValueError):
    """Models that cannot be shipped yet; the message says what is missing."""


def ship(results: Results, folder: Path, variants: Collection[str] = tuple(PAPER_VARIANTS)) -> dict[str, Trained]:
    """Put weights and scores of the validated ones of these variants into a folder; all of them, or none."""
    runs = {name: results.standing_for(name) for name in PAPER_VARIANTS if name in variants}
    found = {name: run for name, run in runs.items() if run is not None}
    if not found:
        raise ShippingError(f"no validated runs in {results.folder}; make them: gridsum reproduce --only validate")
    files: dict[str, bytes] = {}
    for name, run in found.items():
        weights = seed_folder(results.folder / run.name, run.seeds[0]) / WEIGHTS
        if not run.measured():
            raise ShippingError(f"there are no scores yet of {name}; make them first: gridsum reproduce --only measure")
        if not weights.is_file():
            raise ShippingError(
                f"the weights of {name} have not been kept ({weights}); train them again elsewhere: "
                "gridsum reproduce --out FOLDER"
            )
        files |= {f"{name}.safetensors": weights.read_bytes(), f"{name}.jsonl": _lines(name, run.measured())}
    suites = {suite.name for suite in COLLECTIONS["ablation"]}
    means = ((one.name, [record for record in one.measured() if record.suite in suites]) for one in results.variants)
    for name, content in {**files, SEEDS: b"".join(_lines(*one) for one in means)}.items():
        write_atomically(folder / name, content)
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


def _lines(name: str, records: Iterable[Record]) -> bytes:
    return "".join(as_line(replace(record, model=name)) for record in records).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the --out of gridsum reproduce")
    parser.add_argument("--variants", nargs="+", default=list(PAPER_VARIANTS), choices=[*PAPER_VARIANTS, EXACT])
    parser.add_argument("--seeds", type=seeds_of, default=tuple(range(10)), help="of exact: those to choose among")
    parser.add_argument("--to", type=Path, default=SHIPPED)
    asked = parser.parse_args()
    if {*asked.variants} - {EXACT}:
        for name, run in ship(load_results(asked.folder), asked.to, asked.variants).items():
            print(f"{name} is seed {run.seeds[0]} of {run.name}")
    if EXACT in asked.variants:
        print(f"{EXACT} is seed {ship_exact(asked.folder, asked.to, asked.seeds)}")
    print(f"{asked.to} holds {sum(path.stat().st_size for path in asked.to.iterdir()) / 1e6:.1f} MB now")


if __name__ == "__main__":
    main()
