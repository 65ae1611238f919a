"""What this checkout costs on a CPU beside another: both do the same work in turns, on one thread.

    git worktree add ../before COMMIT
    python benchmarks/compare.py ../before [--rounds N] [--only TEXT] [--json FILE]

Each time is of the processor, not of a clock, and both checkouts take turns within seconds, so that other work on the
machine slows them down alike. A ratio is the median over the rounds. Each has the weights and configurations that it
ships: nothing reads the files of another version.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
TRAINED = ("base", "SASA", "fixedTime", "ponderReg")

# What both checkouts have: a process that does one piece of work for every line it reads, and tells its seconds.
_WORKER = """
import dataclasses, importlib, json, os, sys, time

def found(name, *modules):
    # in the first of these modules that a checkout has
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            pass
    raise ImportError(name)

os.environ.setdefault("MIMALLOC_PURGE_DELAY", "1000")  # as the command does, before torch is loaded
import torch
torch.set_num_threads(1)
evaluate = found("evaluate", "gridsum.evaluation.evaluate", "gridsum.evaluation.runner")
try:
    subject_of = found("paper_subject", "gridsum.evaluation.evaluate")
except ImportError:
    try:
        subject_of = found("PaperSubject", "gridsum.evaluation.evaluate")
    except ImportError:  # a checkout from before there was one way to measure
        subject_of = lambda model: model
from gridsum.evaluation.suites import find
solve = found("solve", "gridsum.evaluation.solving", "gridsum.solving")
load = found("load", "gridsum.model.store", "gridsum.store")
try:
    halting = lambda seed, how=found("SolveOptions", "gridsum.data.answers"): [how("median", seed=seed)]
except ImportError:  # an older checkout
    halting = lambda seed: ["median", seed]
from gridsum.training.gradients import EagerGradients
from gridsum.training.process import keep_freed_memory
keep_freed_memory()  # as training does

def training(name, **changes):
    model = load(name)
    network = model.network.requires_grad_(True)
    config = dataclasses.replace(model.config, objective=dataclasses.replace(model.config.objective, **changes))
    gradients = EagerGradients(network, config, model.seeds)
    return lambda number: gradients(number)

def discovering(phase):
    at_step = found("at_step", "gridsum.training.discovery", "gridsum.training.phases")
    try:
        from gridsum.config.registry import find as entry
        from gridsum.training.loop import Fleet
        config = entry("exact").configure("small")
    except ImportError:  # a checkout from before there was a registry
        from gridsum.training.discovery import Discovery as Fleet
        config = found("exact_for", "gridsum.config.variants", "gridsum.deltas", "gridsum.recipe")("add", True)
    fleet, total = Fleet(config, (0,), torch.device("cpu")), sum(p.steps for p in vars(config.phases).values())
    (first,) = [n for n in range(total) if at_step(config, n)[0] == phase and not at_step(config, n)[2]]
    return lambda number: fleet.train_step(first + 200 + number)

def solving(count, digits):
    model = load("base")
    return lambda number: list(solve(model, [("3" * digits, "8" * digits)] * count, *halting(number)))

def measuring(name):
    model, (suite,) = load(name), find("[1,4]x[1,10]")
    return lambda number: evaluate(subject_of(model), suite, 256, number)

work = {f"training step of {name}": training(name) for name in sys.argv[1:]}
work["training step of base, success in expectation"] = training("base", success="expected")
try:
    work |= {f"training step of exact, small, in phase {name}": discovering(name) for name in ("place", "soft")}
except ImportError:
    pass  # a checkout from before there was such a recipe
for count, digits in ((1, 10), (64, 10), (1, 1000)):
    work[f"solving {count} × (2 × {digits} digits)"] = solving(count, digits)
work |= {f"measuring {name} on 256 problems as in training": measuring(name) for name in sys.argv[1:]}
print(json.dumps(list(work)), flush=True)
for line in sys.stdin:
    name, number = json.loads(line)
    start = time.process_time()
    work[name](number)
    print(time.process_time() - start, flush=True)
"""


def start(checkout: Path) -> tuple[subprocess.Popen[str], list[str]]:
    """A checkout's process, and what it can do."""
    environment = os.environ | {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _WORKER, *TRAINED]
    running = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return running, json.loads(_line(running))


def measure(running: subprocess.Popen[str], name: str, number: int) -> float:
    assert running.stdin is not None
    running.stdin.write(json.dumps([name, number]) + "\n")
    running.stdin.flush()
    return float(_line(running))


def _line(running: subprocess.Popen[str]) -> str:
    assert running.stdout is not None
    line = running.stdout.readline()
    if not line:
        sys.exit("one of the checkouts cannot do this work; its error stands above")
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("before", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=10, help="how often each is measured (default: 10)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only the work whose name has this in it")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    found: list[dict[str, Any]] = []
    (before, names), (now, _) = (start(path.resolve()) for path in (options.before, HERE))
    for name in (name for name in names if options.only in name):
        for each in (before, now):
            measure(each, name, 0)  # to warm up
        pairs = [(measure(before, name, number), measure(now, name, number)) for number in range(options.rounds)]
        seconds = [min(side) for side in zip(*pairs, strict=True)]
        ratio = statistics.median(ours / theirs for theirs, ours in pairs)
        found.append({"work": name, "before": seconds[0], "now": seconds[1], "ratio": ratio, "rounds": pairs})
        print(f"{name:<48}{seconds[0]:8.3f} s {seconds[1]:8.3f} s   {ratio:.2f}", flush=True)
    for each in (before, now):
        each.terminate()
    if options.json:
        options.json.write_text(json.dumps({"rounds": options.rounds, "measures": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
