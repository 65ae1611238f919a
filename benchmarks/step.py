"""What a training step costs on this machine, and where its time goes.

    python benchmarks/step.py [NAME ...] [--runs N ...] [--device cuda] [--precision bf16] [--json FILE]
    python benchmarks/step.py base --profile

Names are those of the paper's variants, `exact` and `exact-small`. Runs begin from the weights that come with gridsum:
trained networks take more recurrent steps than new ones. `exact` is timed in the middle of its last phase. The median
step counts. Beside its time stands the time that its products alone would take at the rate of a large one. `--profile`
prints torch's own table of operations (on a GPU: of kernels) and the time of each.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from gridsum.config.fields import override
from gridsum.config.registry import find
from gridsum.config.variants import PAPER_VARIANTS, variant
from gridsum.model.rollout import Network
from gridsum.model.store import load
from gridsum.ops.costs import cells_of_a_step, operations
from gridsum.ops.devices import describe, on_gpu, pick_device
from gridsum.training.discovery import at_step, recurrent_steps
from gridsum.training.loop import Fleet
from gridsum.training.process import set_for_training

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.timing import product_rate, synchronise

Step = Callable[[int], float]
"""Takes the number of a training step; returns how many recurrent steps it took, on average over samples."""
EXACT = ("exact", "exact-small")
WARM_UP = 5


def paper_step(name: str, runs: int, device: torch.device, precision: str) -> Step:
    config, seeds = override(variant(name), {"training.precision": precision}), tuple(range(runs))
    fleet = Fleet(config, seeds, device)
    trained = load(name)
    if trained.config.model == config.model:
        network = Network(config.model, seeds)
        weights = trained.network.state_dict()
        network.load_state_dict({key: part.expand(runs, *part.shape[1:]) for key, part in weights.items()})
        fleet.begin_from(replace(trained, seeds=seeds, network=network))

    def step(number: int) -> float:
        logged = fleet.train_step(number)
        return float(logged[fleet.quantities.index("steps")].mean())

    return step


def exact_step(name: str, runs: int, device: torch.device) -> Step:
    config = find("exact").configure("small" if name == "exact-small" else None)
    fleet = Fleet(config, tuple(range(runs)), device)
    first = config.steps - config.phases.long.steps // 2

    def step(number: int) -> float:
        fleet.train_step(first + number)
        return recurrent_steps(at_step(config, first + number)[1], first + number)

    return step


def measure(name: str, runs: int, device: torch.device, precision: str, steps: int) -> tuple[dict[str, Any], Step]:
    """A record of what was measured, and the step, for whoever wants to look into it."""
    if on_gpu(device):
        torch.cuda.reset_peak_memory_stats(device)
    start = time.perf_counter()
    exact = name in EXACT
    step = exact_step(name, runs, device) if exact else paper_step(name, runs, device, precision)
    step(0)
    synchronise(device)
    start_up = time.perf_counter() - start
    for number in range(1, WARM_UP):
        step(number)
    timed = []
    for number in range(WARM_UP, WARM_UP + steps):
        synchronise(device)
        start = time.perf_counter()
        taken = step(number)
        synchronise(device)
        timed.append((time.perf_counter() - start, taken))
    seconds, taken = statistics.median_low(timed)
    record = {
        "name": name,
        "runs": runs,
        "ms_per_step": 1e3 * seconds,
        "recurrent_steps": taken,
        "start_up_seconds": start_up,
        "gigabytes": torch.cuda.max_memory_allocated(device) / 1e9 if on_gpu(device) else None,
    }
    if not exact:
        config = variant(name)
        flops = 3 * operations(config.model, round(cells_of_a_step(config) * runs)) * taken
        record |= {"precision": precision, "share_of_product_rate": flops / seconds / product_rate(device, precision)}
    return record, step


def line(record: dict[str, Any]) -> str:
    share, gigabytes = record.get("share_of_product_rate"), record["gigabytes"]
    return (
        f"{record['name']:<12}{record['runs']:>3} runs {record['ms_per_step']:10.2f} ms a step, "
        f"{record['ms_per_step'] / record['runs']:8.2f} a run, {record['recurrent_steps']:5.1f} recurrent steps"
        + ("" if share is None else f", {100 * share:4.1f} % of the product rate")
        + ("" if gigabytes is None else f", {gigabytes:.1f} GB")
    )


def profiled(step: Step, device: torch.device) -> str:
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu(device) else [])]
    with profile(activities=activities) as profiler:
        step(WARM_UP)
        synchronise(device)
    key = "self_cuda_time_total" if on_gpu(device) else "self_cpu_time_total"
    return profiler.key_averages().table(sort_by=key, row_limit=30, max_name_column_width=60)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join((*PAPER_VARIANTS, *EXACT))}")
    parser.add_argument("--runs", nargs="+", type=int, default=[10], metavar="N", help="trained at once (default: 10)")
    parser.add_argument("--steps", type=int, default=20, help="training steps to time (default: 20)")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda (default: auto)")
    parser.add_argument("--precision", default="fp32", help="fp32, bf16 or, on a GPU, tf32 (default: fp32)")
    parser.add_argument("--profile", action="store_true", help="also print where the time goes")
    parser.add_argument("--json", type=Path, help="also write the figures to this file, as they come")
    options = parser.parse_args()
    device = pick_device(options.device)
    records = []
    for name in options.names or PAPER_VARIANTS:
        for runs in options.runs:
            with set_for_training(device, "tf32" if name in EXACT else options.precision):
                record, step = measure(name, runs, device, options.precision, options.steps)
                print(line(record), flush=True)
                if options.profile:
                    print(profiled(step, device), flush=True)
            records.append(record)
            if options.json:
                options.json.write_text(json.dumps({"device": describe(device), "records": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()
