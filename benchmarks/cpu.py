"""What gridsum costs on a CPU: a training step, solving against the number of digits, and starting up.

    python benchmarks/cpu.py [--json FILE]

Times on a shared machine mean little by themselves, so each stands beside a 2048³ float32 product timed in the same
run. The published code needs 4.0 s for a training step of `base` at the start of training (about 5 recurrent steps)
on a machine where that product runs at 74 GFLOP/s.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from gridsum.cli import keep_freed_memory_for_a_while
from gridsum.config.variants import variant
from gridsum.data.answers import SolveOptions
from gridsum.data.streams import Stream
from gridsum.evaluation.solving import solve
from gridsum.model.rollout import Network
from gridsum.model.store import load
from gridsum.training.gradients import part_gradient
from gridsum.training.process import keep_freed_memory

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.timing import fastest, product_rate

CPU = torch.device("cpu")
PUBLISHED_STEP, PUBLISHED_RATE = 4.0, 74e9


def training_step(recurrent_steps: int = 5) -> float:
    config = variant("base")
    network = Network(config.model, (0,))
    stream = Stream.of_seeds((0,))
    keep_freed_memory()  # as training does

    def step() -> None:
        for group in range(len(config.task.groups)):
            part_gradient(network, config, stream, group, recurrent_steps, static=False)

    return fastest(step, CPU)


def in_a_process(*arguments: str) -> Any:
    """What this file says in a process of its own, for its memory."""
    return json.loads(subprocess.run([sys.executable, __file__, *arguments], capture_output=True, check=True).stdout)


def solve_here(name: str, digits: int) -> dict[str, Any]:
    model = load(name)
    terms = [("3" * digits, "8" * digits)]
    list(solve(model, [("3", "8")]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    (answer,) = solve(model, terms, SolveOptions("median" if model.config.model.halting == "ponder" else None))
    seconds = time.perf_counter() - start
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {
        "model": name,
        "digits": digits,
        "seconds": seconds,
        "megabytes": megabytes,
        "steps": answer.steps,
        "placement": answer.placement,
        "right": answer.correct,
    }


def start_up() -> dict[str, float]:
    """Cold starts, each beside importing torch alone."""

    def process(*arguments: str) -> float:
        return fastest(lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True), CPU)

    return {"import torch": process("-c", "import torch"), "gridsum solve": process("-m", "gridsum", "solve", "12+34")}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--step", action="store_true", help="only say how many seconds a training step takes")
    parser.add_argument("--solve", type=int, metavar="DIGITS", help="only solve two numbers of so many digits")
    parser.add_argument("--model", default="base", help="that solves them (default: base)")
    options = parser.parse_args()
    if options.step:
        print(training_step())
        return
    if options.solve:
        print(json.dumps(solve_here(options.model, options.solve)))
        return

    keep_freed_memory_for_a_while()  # as the command does; processes are told from now on
    rate, step = product_rate(CPU, "fp32"), in_a_process("--step")
    product = 2 * 2048**3 / rate
    published = PUBLISHED_STEP / (2 * 2048**3 / PUBLISHED_RATE)
    print(f"a 2048³ product            {product:8.3f} s   {rate / 1e9:.0f} GFLOP/s, {torch.get_num_threads()} threads")
    print(f"training step, 5 recurrent {step:8.3f} s   {step / product:.1f} products (published code: {published:.1f})")
    solved = []
    sizes = (10, 100, 1000, 2000, 4000)
    for name, digits in (*(("base", size) for size in sizes), *(("noGroups", size) for size in (*sizes, 20000))):
        solved.append(in_a_process("--solve", str(digits), "--model", name))
        found = solved[-1]
        print(
            f"{name:<5} solving 2 × {digits:<6}   {found['seconds']:8.3f} s   {found['megabytes']:.0f} MB, "
            f"{found['steps']} steps, {found['placement']} placement"
        )
    started = start_up()
    ratio = started["gridsum solve"] / started["import torch"]
    print(f"cold start of gridsum solve {started['gridsum solve']:7.3f} s   {ratio:.2f} × import torch")
    if options.json:
        figures = {"product_rate": rate, "training_step": step, "solving": solved, "start_up": started}
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
