"""What became of every run of trained fleets of `exact`: a table, and a record with every seed.

python benchmarks/seeds.py [--json FILE --commit COMMIT --note TEXT] --fleet NAME FOLDER [--fleet ...]
"""

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any

from gridsum.evaluation.intervals import wilson
from gridsum.training.folders import read_metrics

LOGGED = ("epoch", "draws", "results", "held_out", "hardened")


def fleet_of(name: str, folder: Path) -> dict[str, Any]:
    """A fleet and all its runs; a run without a proof.json was not consolidated."""
    runs = []
    for seed in sorted(int(path.name.removeprefix("seed-")) for path in folder.glob("seed-*")):
        proof, metrics = folder / f"seed-{seed}" / "proof.json", read_metrics(folder, seed)
        found = json.loads(proof.read_text()) if proof.exists() else {"rounds": [], "proved": None, "round": None}
        log = {key: value for line in metrics for key, value in line.items() if key in LOGGED}
        runs.append({"seed": seed} | found | {"log": log, "training_seconds": sum(line["seconds"] for line in metrics)})
    return {"fleet": name, "config": json.loads((folder / "config.json").read_text()), "runs": runs}


def table(fleets: list[dict[str, Any]]) -> str:
    """A line for each fleet: of its consolidated seeds how many are proved, with the 95% interval."""
    lines = [
        "| fleet | consolidated | placement certain | sums right before | proved in round 1 | in all (95%) |",
        "|---|---|---|---|---|---|",
    ]
    for fleet in fleets:
        runs = fleet["runs"]
        done = [run for run in runs if run["rounds"] or run["proved"]]
        right = [run["rounds"][0]["right"] for run in done if run["rounds"]] or [0.0]
        placed, proved = sum(run["log"].get("hardened", False) for run in runs), sum(run["proved"] for run in done)
        first, (low, high) = sum(run["round"] in (0, 1) for run in done), wilson(proved, max(1, len(done)))
        lines.append(
            f"| {fleet['fleet']} | {len(done)} of {len(runs)} | {placed} | {min(right):.3f} to {max(right):.3f}, "
            f"median {median(right):.3f} | {first} | {proved} ({low * len(done):.1f}–{high * len(done):.1f}) |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fleet", nargs=2, action="append", required=True, metavar=("NAME", "FOLDER"))
    parser.add_argument("--json", type=Path, metavar="FILE", help="the record")
    parser.add_argument("--commit", help="of the code that trained them")
    parser.add_argument("--note", help="what else is to be known of them")
    options = parser.parse_args()
    fleets = [fleet_of(name, Path(folder)) for name, folder in options.fleet]
    if options.json:
        record = {"commit": options.commit, "note": options.note, "fleets": fleets}
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    print(table(fleets))


if __name__ == "__main__":
    main()
