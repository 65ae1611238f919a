"""Has anything become slower? Ratios of processor time, each measured in one run, against bounds that are committed.

    python benchmarks/check.py [--rounds N] [--json FILE]        or: make bench-check

Either side of a ratio takes its turn within seconds of the other, so that other work on the machine slows both down
alike; the median over the rounds counts. The bounds stand in bounds.json: about a third above what was measured, as
processors differ, and below 1 where a fast path stands beside a plain one. It takes a minute or two, prints a table,
and ends with 1 if a ratio lies above its bound.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

BOUNDS = Path(__file__).with_name("bounds.json")
Side = Callable[[], Any]


def judge(ratios: Mapping[str, float], bounds: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """The lines of a table, and the names of what is above its bound, was not measured or has no bound."""
    fallen = [name for name in bounds if not ratios.get(name, float("inf")) <= bounds[name]]
    fallen += [name for name in ratios if name not in bounds]
    lines = [f"{'processor time of … / of …':<58}{'now':>8}{'bound':>8}"]
    for name in (*bounds, *(name for name in ratios if name not in bounds)):
        now, bound = (f"{values[name]:.2f}" if name in values else "–" for values in (ratios, bounds))
        lines.append(f"{name:<58}{now:>8}{bound:>8}{'   SLOWER' if name in fallen else ''}")
    return lines, fallen


def ratio(one: Side, other: Side, rounds: int) -> float:
    """The median of the rounds, after one to warm up."""
    one()
    other()
    return statistics.median(_seconds(one) / _seconds(other) for _ in range(rounds))


def _seconds(work: Side) -> float:
    """Of the processor, in this process and in those it starts and waits for."""
    before = _spent()
    work()
    return max(_spent() - before, 1e-6)


def _spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def base() -> tuple[Side, Side]:
    """A training step's gradient of one group, five recurrent steps, as a CPU computes it and by the definition."""
    from gridsum.config.variants import variant
    from gridsum.data.streams import Stream
    from gridsum.model.rollout import Network
    from gridsum.training.gradients import part_gradient

    config, stream = variant("base"), Stream.of_seeds((0,))
    network = Network(config.model, (0,))

    def step(form: Any) -> None:
        part_gradient(network, config, stream, 0, 5, static=False, form=form)

    return lambda: step("cpu"), lambda: step("plain")


def exact() -> tuple[Side, Side]:
    """A training step of the small recipe in its second phase."""
    import torch

    from gridsum.config.registry import find
    from gridsum.model.cells import Packed, Whole
    from gridsum.training import discovery
    from gridsum.training.loop import Fleet

    config = find("exact").configure("small")
    fleet = Fleet(config, (0,), torch.device("cpu"))

    def step(kind: Any) -> None:
        discovery.cells_of = kind
        fleet.train_step(config.phases.place.steps + 1)

    return lambda: step(Packed), lambda: step(Whole)


def long_sum() -> tuple[Side, Side]:
    from gridsum.automaton.files import shipped_rule
    from gridsum.automaton.solve import solve

    table, terms = shipped_rule("exact"), tuple(_digits(10**5, seed) for seed in range(2))
    assert table is not None
    sys.set_int_max_str_digits(0)
    return lambda: solve(table, terms), lambda: str(int(terms[0]) + int(terms[1]))


def start_up() -> tuple[Side, Side]:
    def process(*arguments: str) -> Side:
        return lambda: subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)

    return process("-m", "gridsum", "solve", "12+34"), process("-c", "import torch")


def short_sums() -> tuple[Side, Side]:
    from gridsum.automaton.files import shipped_rule
    from gridsum.automaton.solve import TOGETHER, answer_lines

    table = shipped_rule("exact")
    assert table is not None
    lines = [b"+".join(_digits(8, 3 * n + k).encode() for k in range(3)) for n in range(TOGETHER)]
    return lambda: answer_lines(table, lines), lambda: [str(sum(map(int, line.split(b"+")))) for line in lines]


def _digits(length: int, seed: int) -> str:
    return "".join(random.Random(seed).choices("0123456789", k=length))


MEASURES: dict[str, Callable[[], tuple[Side, Side]]] = {
    "training step of base: fast path / plain path": base,
    "training step of exact: cells in a line / whole grids": exact,
    "10^5 digits by the rule / str(int + int)": long_sum,
    "gridsum solve, cold / import torch": start_up,
    "short sums by the rule / by Python's own parser": short_sums,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured (default: 5)")
    parser.add_argument("--json", type=Path, help="also write the ratios to this file")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"

    import torch

    torch.set_num_threads(1)
    ratios = {}
    for name, sides in MEASURES.items():
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        ratios[name] = ratio(*sides(), options.rounds)
    lines, fallen = judge(ratios, json.loads(BOUNDS.read_text()))
    print("\n".join(lines))
    if options.json:
        options.json.write_text(json.dumps(ratios, indent=1) + "\n")
    for name in fallen:
        print(f"slower than its bound: {name}", file=sys.stderr)
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(main())
