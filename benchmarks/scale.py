"""Very long sums with the shipped `exact` on a CPU: time, memory, and whether computing only what changes is safe.

    python benchmarks/scale.py [--json FILE] [--threads N]

Beside the time on the clock stands that of the processor, which other work on the machine hardly changes. Each long sum
is solved in a process of its own, for its memory: two random numbers of 100,000 digits, and 9…9 + 1 and 1 + 9…9 with
10,000 nines, whose carry passes through every column. `model.tolerance` is what a cell's features may move by without
being handed on; 0 computes every cell at every step, which is compared on shorter sums. Then the same problems are
solved under several tolerances, and answers and steps compared with those of computing everything.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from gridsum.solving import Answer, solve
from gridsum.store import Model, load

TOLERANCES = (1e-2, 1e-1)
LONG = (
    ("random", 100_000, 1e-2),
    ("nines", 10_000, 1e-2),
    ("one and nines", 10_000, 1e-2),
    ("random", 10_000, 1e-2),
    ("random", 10_000, 0.0),
    ("nines", 500, 1e-2),
)


def with_tolerance(model: Model, tolerance: float) -> Model:
    model.network.config = replace(model.network.config, tolerance=tolerance)
    return model


def number(digits: int, source: random.Random) -> str:
    return "".join(source.choices("0123456789", k=digits))


def long_sum(kind: str, digits: int) -> tuple[str, str]:
    nines = "9" * digits
    source = random.Random(0)
    known = {"nines": (nines, "1"), "one and nines": ("1", nines)}
    return known.get(kind) or (number(digits, source), number(digits, source))


def solve_here(kind: str, digits: int, tolerance: float) -> dict[str, Any]:
    model = with_tolerance(load("exact"), tolerance)
    list(solve(model, [("3", "8")]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, began = time.perf_counter(), time.process_time()
    (answer,) = solve(model, [long_sum(kind, digits)])
    return {
        "kind": kind,
        "digits": digits,
        "tolerance": tolerance,
        "seconds": round(time.perf_counter() - start, 2),
        "cpu_seconds": round(time.process_time() - began, 2),
        "megabytes": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024),
        "steps": answer.steps,
        "correct": answer.correct,
        "capped": answer.capped,
        "threads": torch.get_num_threads(),
    }


def samples() -> dict[str, list[tuple[str, ...]]]:
    """Problems on which tolerances are compared."""
    source = random.Random(1)
    return {
        "2x200": [(number(200, source), number(200, source)) for _ in range(16)],
        "[2,8]x[1,10]": [
            tuple(number(source.randint(1, 10), source) for _ in range(source.randint(2, 8))) for _ in range(64)
        ],
        "10x10": [tuple(number(10, source) for _ in range(10)) for _ in range(16)],
        "nines+1": [("9" * digits, "1") for digits in range(1, 65, 4)],
    }


def compare(model: Model, tolerances: Sequence[float]) -> list[dict[str, Any]]:
    found = []
    for name, problems in samples().items():
        whole, seconds = _timed(with_tolerance(model, 0.0), problems)
        found.append(_compared(name, 0.0, whole, whole, seconds))
        for tolerance in tolerances:
            some, seconds = _timed(with_tolerance(model, tolerance), problems)
            found.append(_compared(name, tolerance, some, whole, seconds))
    return found


def _timed(model: Model, problems: Sequence[tuple[str, ...]]) -> tuple[list[Answer], float]:
    start = time.process_time()
    answers = list(solve(model, problems))
    return answers, time.process_time() - start


def _compared(name: str, tolerance: float, some: list[Answer], whole: list[Answer], seconds: float) -> dict[str, Any]:
    pairs = list(zip(some, whole, strict=True))
    return {
        "problems": name,
        "count": len(pairs),
        "tolerance": tolerance,
        "right": sum(answer.correct for answer in some),
        "same_answer": sum(one.answer == other.answer for one, other in pairs),
        "same_steps": sum(one.steps == other.steps for one, other in pairs),
        "cpu_seconds": round(seconds, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="that torch computes with")
    parser.add_argument("--solve", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.solve:
        kind, digits, tolerance = options.solve
        print(json.dumps(solve_here(kind, int(digits), float(tolerance))))
        return
    figures: dict[str, list[dict[str, Any]]] = {"long": [], "tolerances": []}
    for long in LONG:
        arguments = ["--threads", str(options.threads), "--solve", *map(str, long)]
        child = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, check=True)
        figures["long"].append(json.loads(child.stdout))
        print(figures["long"][-1], flush=True)
    figures["tolerances"] = compare(load("exact"), TOLERANCES)
    for line in figures["tolerances"]:
        print(line)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
