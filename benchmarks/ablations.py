"""What each part of `exact`'s recipe is good for: fleets with one part left out or changed, from nothing to proofs.

    python benchmarks/ablations.py --out FOLDER [--json FILE] [--seeds 0-9] [--small] [--at-once N] [NAME ...]

Each fleet is trained into a folder of its own, so what was stopped goes on. A table comes last. A fleet of few seeds
leaves most of a large GPU idle: with `nvidia-cuda-mps-control -d` running, several fit on it side by side.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from gridsum.config.fields import seeds_of
from gridsum.config.registry import find
from gridsum.evaluation.intervals import wilson
from gridsum.ops.devices import describe, pick_device
from gridsum.training.folders import read_metrics
from gridsum.training.loop import Epoch, news, train

LATE = ("anneal", "hard", "robust")
ABLATIONS: dict[str, dict[str, Any]] = {
    "the whole recipe": {},
    "bits at once, no annealing": {
        **{f"phases.{phase}.hard_start": 1.0 for phase in ("anneal", "hard")},
        "phases.anneal.hard_end": 1.0,
        "phases.anneal.noise_start": 1.0,
    },
    "no random starts": {f"phases.{phase}.random_starts": 0.0 for phase in LATE},
    "no corruption": {"phases.robust.corruption": 0.0},
    "bits cost nothing": {f"phases.{phase}.bit_cost": 0.0 for phase in LATE},
    "no short sums first": {"phases.place.steps": 0, "phases.soft.steps": 3400},
    **{f"{bits} bits": {"rule.bits": bits} for bits in (6, 7, 10)},
    **{f"{steps} robust steps": {"phases.robust.steps": steps} for steps in (400, 2000)},
}


def measure(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """What each run of one fleet came to."""
    config = find("exact").configure("small" if options.small else None, changes=ABLATIONS[name])
    folder = options.out / name.replace(" ", "-").replace(",", "")

    def report(epoch: Epoch) -> None:
        print(f"{name}: {epoch.phase}, epoch {epoch.number} of {epoch.of}, {news(epoch)}", flush=True)

    runs = train(config, options.seeds, folder, options.device, (folder / "config.json").exists(), report)
    logs = {run["seed"]: read_metrics(folder, run["seed"])[-1] for run in runs}
    return [run | {"fleet": name, "log": logs[run["seed"]]} for run in runs]


def table(runs: list[dict[str, Any]]) -> str:
    """A line for each fleet."""
    lines = [
        "| fleet | seeds | placement certain | sums right before consolidation | proved in round 1 | in two (95%) |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(run["fleet"] for run in runs):
        fleet = [run for run in runs if run["fleet"] == name]
        right = sorted(run["rounds"][0]["right"] if run["rounds"] else 0.0 for run in fleet)
        placed, proved = (sum(run["log"]["hardened"] for run in fleet), sum(run["proved"] for run in fleet))
        at_once, (low, high) = sum(run["round"] == 1 for run in fleet), wilson(proved, len(fleet))
        lines.append(
            f"| {name} | {len(fleet)} | {placed} | {right[0]:.3f} to {right[-1]:.3f}, median {median(right):.3f} "
            f"| {at_once} | {proved} ({low * len(fleet):.1f}–{high * len(fleet):.1f}) |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ABLATIONS)} (default: all)")
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="where the fleets are trained")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the record")
    parser.add_argument("--seeds", type=seeds_of, default=tuple(range(10)))
    parser.add_argument("--small", action="store_true", help="the recipe for a CPU: a smaller network, shorter sums")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="fleets trained side by side")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in ABLATIONS]
    if unknown:
        parser.error(f"there is no fleet {unknown[0]!r}; they are {', '.join(ABLATIONS)}")
    options.device = pick_device(options.device)
    runs: list[dict[str, Any]] = []
    names = options.names or list(ABLATIONS)
    with ProcessPoolExecutor(options.at_once, get_context("spawn")) as pool:
        for fleet in pool.map(measure, names, [options] * len(names)):
            runs += fleet
            if options.json:
                command = f"python benchmarks/ablations.py{' --small' if options.small else ''}"
                record = {"command": command, "device": describe(options.device), "runs": runs}
                options.json.write_text(json.dumps(record, indent=1) + "\n")
            print(table(runs), flush=True)


if __name__ == "__main__":
    main()
