"""What solving by a rule costs: time, memory and steps, on one core.

    python benchmarks/rule.py [--model NAME] [--json FILE]
    python benchmarks/rule.py --command [--json FILE]

Without a table, column addition written by hand (tests/oracles) stands for a learned rule. Each sum is solved in a
process of its own, for its memory, which Linux tells. The seconds of the processor stand beside those of the clock,
which mean little on a machine that does other work too. Python's own `str(int(a) + int(b))` of the same strings as in
the first line stands last. `--command` measures `gridsum solve` instead: a million short sums from a file, all checked,
and a single sum in a process that starts for it.
"""

import argparse
import json
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

MILLION = 10**6
Terms = tuple[str, ...]


def _random(count: int, digits: int) -> Terms:
    chance = random.Random(0)
    return tuple("".join(chance.choices("0123456789", k=digits)) for _ in range(count))


def _chain() -> Terms:
    """Every column adds up to 9, and the last one to 10."""
    (first,) = _random(1, MILLION)
    return first, "".join(str(9 - int(digit)) for digit in first[:-1]) + str(
        10 - int(first[-1] if first[-1] != "0" else 1)
    )


SUMS: dict[str, tuple[Callable[[], Terms], float | None]] = {
    "two random numbers of 10^6 digits": (lambda: _random(2, MILLION), 2.0),
    "9…9+1, 10^6 nines": (lambda: ("9" * MILLION, "1"), 20.0),
    "1+9…9": (lambda: ("1", "9" * MILLION), 20.0),
    "0+9…9": (lambda: ("0", "9" * MILLION), 20.0),
    "9…9+0": (lambda: ("9" * MILLION, "0"), 20.0),
    "a carry through 10^6 random digits": (_chain, None),
    "0…0+0…0, 10^6 zeros": (lambda: ("0" * MILLION, "0" * MILLION), None),
    "9…9+1+0, 10^5 nines": (lambda: ("9" * 10**5, "1", "0"), None),
    "10,000 terms of 10 digits": (lambda: _random(10_000, 10), 20.0),
    "1,000 terms of 100 digits": (lambda: _random(1000, 100), None),
    "100 terms of 10,000 digits": (lambda: _random(100, 10_000), None),
}
"""What is solved, and how many seconds it may take."""
BYTES_A_CELL = 100


def measure(name: str, source: argparse.Namespace) -> dict[str, Any]:
    """In a process of its own."""
    command = [sys.executable, __file__, "--sum", name]
    command += ["--model", source.model] if source.model else []
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def measure_here(name: str, source: argparse.Namespace) -> dict[str, Any]:
    from gridsum.automaton.run import Run, grid_size
    from gridsum.automaton.solve import solve
    from gridsum.tasks import find

    table = _table(source)
    terms = SUMS[name][0]()
    solve(table, ("12", "34"))
    before = _memory_afresh()
    clock, processor = time.perf_counter(), time.process_time()
    found = Run.of(table, terms)
    found.advance()
    seconds, busy = time.perf_counter() - clock, time.process_time() - processor
    size = grid_size(len(terms), max(map(len, terms)))
    memory = _memory("VmHWM") - before
    return {
        "sum": name,
        "seconds": seconds,
        "processor_seconds": busy,
        "bytes_a_cell": memory / (size.height * size.width),
        "cells": size.height * size.width,
        "steps": int(found.steps[0]),
        "cells_computed": found.cells_computed,
        "right": found.read() == [find().answer(terms).encode()],
    }


def _memory_afresh() -> int:
    """What the process holds now; Linux counts its peak from here on."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(what: str) -> int:
    """Bytes."""
    found = re.search(rf"{what}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def python_itself() -> dict[str, float]:
    first, second = _random(2, MILLION)
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    clock, processor = time.perf_counter(), time.process_time()
    str(int(first) + int(second))
    taken = {"seconds": time.perf_counter() - clock, "processor_seconds": time.process_time() - processor}
    sys.set_int_max_str_digits(limit)
    return taken


def command() -> dict[str, Any]:
    """`gridsum solve` in processes of its own: seconds by the clock, and of the processor."""
    chance = random.Random(0)
    sums = [
        [chance.randrange(10 ** chance.randint(1, 10)) for _ in range(chance.randint(1, 4))] for _ in range(MILLION)
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines("+".join(map(str, terms)) + "\n" for terms in sums)
        file.flush()
        many, answers = _process("--file", file.name)
    found = answers.split("\n")
    wrong = sum(answer != str(sum(terms)) for answer, terms in zip(found, sums, strict=False)) + abs(
        len(found) - len(sums)
    )
    cold = [_process("12+88")[0]["seconds"] for _ in range(9)]
    return {
        "short sums": {"count": MILLION, "terms": [1, 4], "digits": [1, 10], **many, "wrong": wrong},
        "cold start": {"median": statistics.median(cold), "least": min(cold), "most": max(cold)},
    }


def _process(*arguments: str) -> tuple[dict[str, float], str]:
    clock, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run = [sys.executable, "-m", "gridsum", "solve", *arguments]
    said = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": time.perf_counter() - clock, "processor_seconds": busy}, said.removesuffix("\n")


def _table(source: argparse.Namespace) -> Any:
    if source.model:
        from gridsum.api.loading import rule_model

        return rule_model(source.model).table
    from tests.oracles.column_addition import column_addition

    return column_addition()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--json")
    parser.add_argument("--command", action="store_true", help="measure gridsum solve instead")
    parser.add_argument("--sum", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.sum:
        print(json.dumps(measure_here(options.sum, options)))
        return
    if options.command:
        figures = json.dumps(command(), indent=1)
        print(figures)
        if options.json:
            Path(options.json).write_text(figures + "\n")
        return
    print(f"{'sum':36}{'seconds':>9}{'of CPU':>9}{'target':>8}{'B/cell':>8}{'steps':>10}{'right':>7}")
    results = []
    for name, (_, target) in SUMS.items():
        found = measure(name, options)
        results.append(found)
        wanted = "" if target is None else f"{target:.0f}"
        print(
            f"{name:36}{found['seconds']:9.2f}{found['processor_seconds']:9.2f}{wanted:>8}{found['bytes_a_cell']:8.1f}"
            f"{found['steps']:10}{'yes' if found['right'] else 'NO':>7}",
            flush=True,
        )
    python = python_itself()
    version = ".".join(map(str, sys.version_info[:2]))
    print(f"{f'str(int(a)+int(b)), Python {version}':36}{python['seconds']:9.2f}{python['processor_seconds']:9.2f}")
    print(f"Memory is beyond what the process had before; at most {BYTES_A_CELL} bytes a cell are wanted.")
    if options.json:
        Path(options.json).write_text(json.dumps({"sums": results, "python": python}, indent=1) + "\n")


if __name__ == "__main__":
    main()
