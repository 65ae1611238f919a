"""What a cluster costs: the time of a campaign of fleets that is not spent in the fleets.

    python benchmarks/cluster.py [--json FILE] [--fleets N] [--epochs N]

One worker does fleets of `base` one after the other. Everything is taken from one run, so that a busy machine slows the
fleets and what lies between them alike. The start of the cluster and of the worker, which a campaign pays once, is told
apart.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from gridsum.config.fields import override
from gridsum.config.variants import variant
from gridsum.io.disk import read_objects
from gridsum.study.jobs import MACHINES, Train
from gridsum.study.sweep import sweep_jobs
from gridsum.study.workers import cluster, run_by


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--fleets", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=3, help="of ten training steps, of each fleet")
    options = parser.parse_args()
    base = override(variant("base"), {"training.epochs": options.epochs, "training.checkpoint_epochs": 1})
    tiny = override(base, {"training.epochs": 1, "training.steps_per_epoch": 1, "training.batch": 4})
    rates = [1e-3 * (1 + index) for index in range(options.fleets)]
    with tempfile.TemporaryDirectory() as folder:
        place, began = Path(folder), time.monotonic()
        with cluster("ray", cpus=1) as submit:
            up = time.monotonic() - began

            def took(name: str, jobs: list[Train]) -> tuple[float, float]:
                """Seconds from the first to the last of these fleets, and those that were spent in them."""
                began = time.monotonic()
                run_by(submit, jobs, place / name, None, print)
                logs = [read_objects(log) for log in (place / name).rglob(MACHINES)]
                return time.monotonic() - began, sum(line["seconds"] for log in logs for line in log)

            first, within_first = took("first", sweep_jobs(tiny, {}))
            whole, within = took("fleets", sweep_jobs(base, {"training.learning_rate": rates}))
    figures = {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[1],
        "cluster_up_seconds": round(up, 1),
        "first_worker_seconds": round(first - within_first, 1),
        "fleets": options.fleets,
        "seconds": round(whole, 1),
        "seconds_in_fleets": round(within, 1),
        "overhead_percent": round(100 * (whole / within - 1), 2),
    }
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
