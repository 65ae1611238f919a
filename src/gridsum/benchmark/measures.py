"""Training steps of fleets, and solving against size, measured on the machine at hand.

Every figure is a record (a plain dictionary) that says what was measured; `gridsum bench` prints and keeps them.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from gridsum.benchmark.memory import PeakMemory
from gridsum.config.paper import Config
from gridsum.data.streams import Stream
from gridsum.evaluation.solving import solve
from gridsum.model.engine import served
from gridsum.model.paper import Network
from gridsum.model.store import Model
from gridsum.ops.costs import cells_of_a_step, operations
from gridsum.ops.devices import fastest, product_rate, synchronise
from gridsum.training.loop import PaperFleet
from gridsum.training.process import set_for_training

SHORT = 10
"""The digits of the terms that there are more and more of."""


def training(
    config: Config, runs: int, device: torch.device, steps: int = 20, warm_up: int = 5, trained: Model | None = None
) -> dict[str, Any]:
    """The cost of a training step of a fleet of `runs`, that of the median step: a few have to make a graph first.

    How many recurrent steps networks take that decide themselves is learned: all runs begin from the weights of
    `trained`, a single run, or from random ones, with which they halt soon.
    """
    with set_for_training(device, config.training.precision):
        return _training(config, runs, device, steps, warm_up, trained)


def _training(
    config: Config, runs: int, device: torch.device, steps: int, warm_up: int, trained: Model | None
) -> dict[str, Any]:
    memory = PeakMemory(device)
    start = time.perf_counter()
    seeds = tuple(range(runs))
    fleet = PaperFleet(config, seeds, device)
    if trained is not None:
        fleet.begin_from(repeated(trained, seeds))
    fleet.train_step(0)
    synchronise(device)
    start_up = time.perf_counter() - start
    for step in range(1, warm_up):
        fleet.train_step(step)
    synchronise(device)
    timed = []
    for step in range(steps):
        start = time.perf_counter()
        taken = fleet.train_step(warm_up + step).recurrent_steps
        synchronise(device)
        timed.append((time.perf_counter() - start, taken))
    seconds, computed = sorted(timed)[steps // 2]
    peak = memory.gigabytes()  # before the large product below, which is no part of the fleet
    precision = served(config.training.precision, device)
    flops = 3 * operations(config.model, round(cells_of_a_step(config) * runs)) * computed
    return {
        "measure": "training",
        "variant": config.variant,
        "precision": precision,
        "runs": runs,
        "weights": "random" if trained is None else "trained",
        "ms_per_step": 1e3 * seconds,
        "ms_per_step_and_run": 1e3 * seconds / runs,
        "recurrent_steps_computed": computed,
        "start_up_seconds": start_up,
        "peak_gigabytes": peak,
        "operations_per_step": flops,
        "share_of_product_rate": flops / seconds / product_rate(device, precision),
    }


def repeated(model: Model, seeds: tuple[int, ...]) -> Model:
    """A single run, as the runs of a fleet."""
    network = Network(model.config.model, seeds)
    state = model.network.state_dict()
    network.load_state_dict({name: part.expand(len(seeds), *part.shape[1:]) for name, part in state.items()})
    return replace(model, seeds=seeds, network=network)


def solving(model: Model, terms: int, digits: int) -> dict[str, Any]:
    """The time of one sum of `terms` terms of `digits` digits, start-up apart."""
    device = next(model.network.parameters()).device
    expression = tuple(_digits(digits, seed) for seed in range(terms))
    answers = []
    seconds = fastest(lambda: answers.append(next(solve(model, [expression], halting=None))), device, times=2)
    answer = answers[-1]
    return {
        "measure": "solving",
        "model": model.name,
        "terms": terms,
        "digits": digits,
        "seconds": seconds,
        "steps": answer.steps,
        "right": answer.correct,
        "placement": answer.placement,
        "seconds_per_step": seconds / max(1, answer.steps),
    }


def throughput(model: Model, problems: int = 1024, terms: int = 3, digits: int = 8) -> dict[str, Any]:
    """Short sums a second, many at a time."""
    device = next(model.network.parameters()).device
    expressions = [tuple(_digits(digits, terms * index + term) for term in range(terms)) for index in range(problems)]
    seconds = fastest(lambda: list(solve(model, expressions)), device, times=1)
    return {
        "measure": "throughput",
        "model": model.name,
        "terms": terms,
        "digits": digits,
        "problems": problems,
        "problems_per_second": problems / seconds,
    }


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The b of seconds ≈ a · size^b, by least squares on logarithms."""
    slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope)


def series(records: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """What was solved with more and more digits, and with more and more terms, the other staying as it is."""
    solved = [record for record in records if record["measure"] == "solving"]
    return {
        "digits": [record for record in solved if record["terms"] == 2],
        "terms": [record for record in solved if record["digits"] == SHORT],
    }


def exponents(records: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """How the time of a recurrent step grows with digits, and with terms, as far as the records tell."""
    for varied, chosen in series(records).items():
        sizes = [record[varied] for record in chosen]
        if len(set(sizes)) > 1:
            power = exponent(sizes, [record["seconds_per_step"] for record in chosen])
            yield {"measure": "exponent", "of": f"seconds per step against {varied}", "value": power}


def all_measures(
    configs: Sequence[tuple[Config, Model | None]],
    runs: Sequence[int],
    model: Model,
    device: torch.device,
    digits: Sequence[int],
    terms: Sequence[int],
    steps: int,
) -> Iterator[dict[str, Any]]:
    """Everything, one record after the other: trainings with the weights they begin from, then solving."""
    for config, trained in configs:
        for count in runs:
            yield training(config, count, device, steps, trained=trained)
    solved = []
    for count, length in (*((2, length) for length in digits), *((count, SHORT) for count in terms)):
        solved.append(solving(model, count, length))
        yield solved[-1]
    yield throughput(model)
    yield from exponents(solved)


def _digits(length: int, seed: int) -> str:
    return "".join(map(str, Stream.of_seeds([seed]).integers(0, 9, length)[0].tolist()))
