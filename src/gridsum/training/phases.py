"""The phases of `exact`'s training: where a training step stands in them, and what it is told there."""

from dataclasses import fields
from typing import Any, NamedTuple

from gridsum.config.exact import DiscoveryConfig, ExactConfig, Phase
from gridsum.data.streams import Stream

# A rate grows to its own size over so many steps of a phase.
_WARM_UP = 50


class Setting(NamedTuple):
    """Where a phase stands at one of its steps: numbers, or tensors of one where a graph reads them."""

    noise: Any
    hard: Any
    random_starts: Any
    corruption: Any
    bit_cost: Any
    rate: Any


def setting(phase: Phase, index: int) -> Setting:
    """At step `index` of the phase."""
    along = index / max(1, phase.steps)

    def between(name: str) -> float:
        start, end = getattr(phase, f"{name}_start"), getattr(phase, f"{name}_end")
        return start + (end - start) * along

    rate = between("rate") * min(1.0, (index + 1) / _WARM_UP)
    return Setting(
        between("noise"),
        between("hard"),
        phase.random_starts,
        phase.corruption,
        phase.bit_cost,
        rate,
    )


def phases(config: ExactConfig) -> list[tuple[str, Phase]]:
    return [(item.name, getattr(config.phases, item.name)) for item in fields(config.phases)]


def at_step(config: ExactConfig, number: int) -> tuple[str, Phase, int]:
    """The phase that training step `number` belongs to, and its index there."""
    for name, phase in phases(config):
        if number < phase.steps:
            return name, phase, number
        number -= phase.steps
    raise ValueError(f"the phases end before step {number}")


def grid_of(phase: Phase, config: DiscoveryConfig) -> tuple[int, int]:
    """The largest grid of a phase, which all its grids are masked in."""
    rows = phase.terms[1] + config.spare_rows + config.random_rows
    return rows, phase.digits[1] + config.spare_columns + config.random_columns


def recurrent_steps(phase: Phase, number: int) -> int:
    """Of training step `number`: of no run's seed, so a whole fleet takes as many."""
    return int(Stream.of_seeds([0]).fold(number).integers(*phase.recurrent))
