"""Where the time of a training step goes, part by part, and what bounds each part.

A step is computed three times over: by the clock, as training computes it; under torch's profiler, operation by
operation, for the shares of the parts; and once more to count calls, products and bytes by their shapes. Beside them
stand the machine's own limits, measured here: the rate of a large product, that of a copy, and the time of a call.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch._C._autograd import DeviceType
from torch.profiler import ProfilerActivity
from torch.profiler import profile as torch_profile

from gridsum.benchmark.counts import Count, call_seconds, copy_rate, count
from gridsum.benchmark.measures import repeated
from gridsum.benchmark.parts import BETWEEN, MARK, OF_KERNELS, OTHER, PARTS, Parts
from gridsum.config.exact import ExactConfig
from gridsum.config.paper import Config
from gridsum.model.engine import served
from gridsum.model.store import Model
from gridsum.ops.devices import fastest, on_gpu, product_rate, synchronise
from gridsum.training.discovery import Discovery
from gridsum.training.graphs import GraphGradients
from gridsum.training.loop import PaperFleet
from gridsum.training.phases import at_step, recurrent_steps, total_steps
from gridsum.training.process import set_for_training

_BACKWARD = "autograd::engine::evaluate_function"
_TIMES = 3
"""How often a step is computed; what is fastest counts."""
Timed = tuple[str, float]
"""A part, and the seconds of one operation of it."""


@dataclass(frozen=True)
class Subject:
    """Training steps that can be computed as training does, or operation by operation."""

    train_step: Callable[[int], float]
    """Takes the number of a step; returns how many recurrent steps it took."""
    numbers: Sequence[int]
    without_graphs: Callable[[], Any]
    """A context in which a step is launched operation by operation."""


def profile(
    config: Config | ExactConfig, runs: int, device: torch.device, steps: int = 3, trained: Model | None = None
) -> dict[str, Any]:
    """A record of `steps` training steps of a fleet; of `exact`, spread over the whole of its training."""
    precision = config.training.precision if isinstance(config, Config) else "tf32"
    with set_for_training(device, precision):
        if isinstance(config, Config):
            subject = _paper(config, runs, device, steps, trained)
        else:
            subject, precision = _exact(config, runs, device, steps), "bf16"
        seconds, taken = _timed(subject, device)
        parts = Parts()
        times, kernels = _shares(subject, parts, device)
        counts = _counted(subject)
    precision = served(precision, device) if isinstance(config, Config) or on_gpu(device) else "fp32"
    return {
        "measure": "profile",
        "variant": config.variant,
        "precision": precision,
        "runs": runs,
        "steps": len(subject.numbers),
        "recurrent_steps_computed": taken,
        "ms_per_step": 1e3 * seconds,
        "kernel_ms_per_step": 1e3 * sum(times.values()) / steps if on_gpu(device) else None,
        "product_rate": product_rate(device, precision),
        "copy_rate": copy_rate(device),
        "call_seconds": call_seconds(device),
        "parts": list(_parts(times, kernels, counts, len(subject.numbers))),
    }


def _parts(
    times: dict[str, float], kernels: dict[str, int], counts: dict[str, Count], steps: int
) -> Iterator[dict[str, Any]]:
    """The parts that take any time, the longest first; all of one step."""
    whole = sum(times.values())
    for part in sorted(PARTS, key=lambda name: -times.get(name, 0.0)):
        if not times.get(part):
            continue
        counted = counts.get(part, Count())
        yield {
            "part": part,
            "share": times[part] / whole,
            "seconds": times[part] / steps,
            "calls": kernels[part] / steps if part in kernels else counted.calls / steps,
            "flops": counted.flops / steps,
            "bytes": counted.bytes / steps,
        }


def _timed(subject: Subject, device: torch.device) -> tuple[float, float]:
    """The mean seconds of a step, and of how many recurrent steps; what is compiled or captured once comes before."""
    seconds, taken = 0.0, 0.0
    for number in subject.numbers:
        seconds += fastest(lambda number=number: subject.train_step(number), device, _TIMES)
        taken += subject.train_step(number)
    return seconds / len(subject.numbers), taken / len(subject.numbers)


def _shares(subject: Subject, parts: Parts, device: torch.device) -> tuple[dict[str, float], dict[str, int]]:
    """Seconds of each part, of all steps together; on a GPU those of its kernels, and how many these are."""
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu(device) else [])]
    times: dict[str, float] = defaultdict(float)
    kernels: dict[str, int] = defaultdict(int)

    def profiled(number: int) -> list[Timed]:
        with torch_profile(activities=activities) as profiler:
            torch.zeros(1)  # a profiler's first event takes long
            with parts.part(OTHER):
                subject.train_step(number)
            synchronise(device)
        return attributed(profiler.events(), parts, on_gpu(device))

    with subject.without_graphs(), parts.watching():
        subject.train_step(subject.numbers[0])
        for number in subject.numbers:
            for part, seconds in undisturbed([profiled(number) for _ in range(_TIMES)]):
                times[part] += seconds
                kernels[part] += 1
    return dict(times), dict(kernels) if on_gpu(device) else {}


def undisturbed(repeated: Sequence[list[Timed]]) -> list[Timed]:
    """Of the same step computed several times, the least time of each operation: other work on a machine adds to some.

    If the operations were not the same, those of the fastest time.
    """
    if len({tuple(part for part, _ in timed) for timed in repeated}) > 1:
        return min(repeated, key=lambda timed: sum(seconds for _, seconds in timed))
    return [(same[0][0], min(seconds for _, seconds in same)) for same in zip(*repeated, strict=True)]


def attributed(events: Any, parts: Parts, by_kernels: bool) -> list[Timed]:
    """A profiler's events, or the kernels that they launched, each with its part; in their order."""
    timed: list[Timed] = []
    known: dict[int, str | None] = {}
    for event in events:
        if event.device_type != DeviceType.CPU:
            if by_kernels and event.name in OF_KERNELS:
                timed.append((OF_KERNELS[event.name], 1e-6 * event.time_range.elapsed_us()))
            continue
        part = _part_of(event, parts, known)
        if by_kernels:
            timed += [
                (part or OTHER, 1e-6 * kernel.duration)
                for kernel in event.kernels
                # marks come back from a GPU as well
                if not kernel.name.startswith(MARK) and kernel.name not in OF_KERNELS
            ]
        elif part is not None:
            own = BETWEEN if event.name.startswith(MARK) else part
            timed.append((own, 1e-6 * event.self_cpu_time_total))
    return timed


def _part_of(event: Any, parts: Parts, known: dict[int, str | None]) -> str | None:
    """That of the innermost mark around an event, or that of its node of the gradient; None outside of all."""
    chain = []
    found = None
    while event is not None:
        if id(event) in known:
            found = known[id(event)]
            break
        chain.append(event)
        if event.name.startswith(MARK):
            found = event.name.removeprefix(MARK)
            break
        if event.name.startswith(_BACKWARD):
            found = parts.of_node(event.sequence_nr)
            break
        event = event.cpu_parent
    known.update((id(link), found) for link in chain)
    return found


def _counted(subject: Subject) -> dict[str, Count]:
    parts = Parts()
    with subject.without_graphs(), parts.watching():
        return count(lambda: [subject.train_step(number) for number in subject.numbers], parts)


def _paper(config: Config, runs: int, device: torch.device, steps: int, trained: Model | None) -> Subject:
    seeds = tuple(range(runs))
    fleet = PaperFleet(config, seeds, device)
    if trained is not None:
        fleet.begin_from(repeated(trained, seeds))
    gradients = fleet.gradients

    @contextmanager
    def without_graphs() -> Iterator[None]:
        if not isinstance(gradients, GraphGradients):
            yield
            return
        with (
            mock.patch.object(fleet, "gradients", gradients.without_graphs),
            mock.patch.object(fleet, "update", fleet._update),
        ):
            yield

    return Subject(lambda number: fleet.train_step(number).recurrent_steps, range(1, steps + 1), without_graphs)


def _exact(config: ExactConfig, runs: int, device: torch.device, steps: int) -> Subject:
    fleet, total = Discovery(config, tuple(range(runs)), device), total_steps(config)

    def train_step(number: int) -> float:
        fleet.train_step(number)
        return recurrent_steps(at_step(config, number)[1], number)

    @contextmanager
    def without_graphs() -> Iterator[None]:
        with mock.patch.object(fleet, "_replayed", lambda _, *arguments: fleet._compute(*arguments)):
            yield

    numbers = [(2 * index + 1) * total // (2 * steps) for index in range(steps)]
    return Subject(train_step, numbers, without_graphs)
