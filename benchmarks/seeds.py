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
    """A line for each fleet, with the 95% interval of how many of its seeds are proved."""
    lines = [
        "| fleet | seeds | placement certain | sums right before consolidation | proved in round 1 | in two (95%) |",
        "|---|---|---|---|---|---|",
    ]
    for fleet in fleets:
        runs = fleet["runs"]
        right = sorted(run["rounds"][0]["right"] if run["rounds"] else 0.0 for run in runs)
        placed, proved = sum(run["log"].get("hardened", False) for run in runs), sum(run["proved"] or 0 for run in runs)
        first, (low, high) = sum(run["round"] in (0, 1) for run in runs), wilson(proved, len(runs))
        lines.append(
            f"| {fleet['fleet']} | {len(runs)} | {placed} | {right[0]:.3f} to {right[-1]:.3f}, median "
            f"{median(right):.3f} | {first} | {proved} ({low * len(runs):.1f}–{high * len(runs):.1f}) |"
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
