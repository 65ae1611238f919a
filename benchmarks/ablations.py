"""What each part of `exact`'s recipe is good for: fleets with one part left out or changed, from nothing to proofs.

    python benchmarks/ablations.py --out FOLDER [--seeds 0-9] [--small] [--at-once N] [NAME ...]

Each fleet is trained into a folder of its own, so what was stopped goes on; `seeds.py` makes a table of them. A fleet
of few seeds leaves most of a large GPU idle: with `nvidia-cuda-mps-control -d` running, several fit on it side by side.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from gridsum.config.fields import seeds_of
from gridsum.config.registry import find
from gridsum.io.progress import Lines
from gridsum.ops.devices import pick_device
from gridsum.training.loop import train

ABLATIONS: dict[str, dict[str, Any]] = {
    "the whole recipe": {},
    "no short sums first": {"phases.place.steps": 0, "phases.soft.steps": 3400},
    "no soft states": {"phases.soft.bits": True, "phases.soft.noise": 1.0},
    **{f"{bits} bits": {"rule.bits": bits} for bits in (6, 7, 8, 10)},
    **{f"{steps} steps of long sums": {"phases.long.steps": steps} for steps in (400, 2000)},
}


def measure(name: str, options: argparse.Namespace) -> None:
    """One fleet, trained, consolidated and proved."""
    config = find("exact").configure("small" if options.small else None, changes=ABLATIONS[name])
    folder = options.out / name.replace(" ", "-").replace(",", "")
    shown, resume = Lines(sys.stdout), (folder / "config.json").exists()
    train(config, options.seeds, folder, options.device, resume, shown=shown, label=f"{name}: ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ABLATIONS)} (default: all)")
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="where the fleets are trained")
    parser.add_argument("--seeds", type=seeds_of, default=tuple(range(10)))
    parser.add_argument("--small", action="store_true", help="the recipe for a CPU: a smaller network, shorter sums")
    parser.add_argument("--at-once", type=int, default=1, metavar="N", help="fleets trained side by side")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in ABLATIONS]
    if unknown:
        parser.error(f"there is no fleet {unknown[0]!r}; they are {', '.join(ABLATIONS)}")
    options.device = pick_device(options.device)
    names = options.names or list(ABLATIONS)
    with ProcessPoolExecutor(options.at_once, get_context("spawn")) as pool:
        list(pool.map(measure, names, [options] * len(names)))


if __name__ == "__main__":
    main()
