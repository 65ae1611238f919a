"""How much memory work takes, estimated before any of it is allocated, and the one limit on it.

Estimates are of what was measured (benchmarks/records), rounded down: work that would fit is not refused.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import torch

from gridsum.config.exact import ExactConfig
from gridsum.config.paper import Config, ModelConfig
from gridsum.ops.devices import on_gpu

VARIABLE = "GRIDSUM_MEMORY"
"""Names another limit than the free memory, such as 64GB."""
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# Bytes of a cell in a recurrent step, for each feature of the cell or of FFN_3: of solving, and kept for a gradient.
_SOLVING, _TRAINING, _DISCOVERY = 20, 12, 8
# Networks that decide themselves when to halt take at least so many steps in training.
_FEW_STEPS = 4


class TooLargeError(ValueError):
    """Work that memory or time is not enough for; the message says how much it takes and how to allow it."""


def solving_bytes(model: ModelConfig, cells: int) -> int:
    return _SOLVING * cells * (model.width + model.step_hidden)


def trace_bytes(model: ModelConfig, cells: int, steps: int) -> int:
    """Every step is kept with its attention."""
    return 4 * cells * (steps + 1) * (model.width + model.kernel**2 * model.heads)


def training_bytes(config: Config | ExactConfig, runs: int) -> int:
    """Of a training step of a fleet."""
    if isinstance(config, ExactConfig):
        return max(_discovery_bytes(config, runs, name) for name in vars(config.phases))
    model, task = config.model, config.task
    steps = model.fixed_steps if model.halting == "fixed" else min(_FEW_STEPS, model.max_steps)
    problems = config.training.batch // len(task.groups)
    cells = sum(problems * rows * columns for rows, columns in map(task.grid, task.groups))
    return runs * cells * steps * (model.width + model.step_hidden) * _TRAINING


def _discovery_bytes(config: ExactConfig, runs: int, name: str) -> int:
    phase, shared, rule = getattr(config.phases, name), config.discovery, config.rule
    cells = (phase.terms[1] + shared.spare_rows) * (phase.digits[1] + shared.spare_columns) * shared.batch
    return runs * cells * phase.recurrent[0] * (rule.width + rule.hidden) * _DISCOVERY * bool(phase.steps)


def check_memory(what: str, needed: int, device: torch.device) -> None:
    """Refuse work that takes more memory than there is, or than the variable allows."""
    limit = memory_limit(device)
    if limit is not None and needed > limit:
        raise TooLargeError(
            f"{what} takes about {told(needed)} of memory, and the limit is {told(limit)}; ask for less at once, or "
            f"allow more with {VARIABLE}={told(2 * needed).replace(' ', '')}"
        )


def memory_limit(device: torch.device) -> int | None:
    """Bytes that work may take: what the variable says, else what is free; None where nobody knows."""
    asked = os.environ.get(VARIABLE)
    if asked:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", asked, re.IGNORECASE)
        if match is None:
            raise TooLargeError(f"{VARIABLE} is {asked!r}; write an amount such as 64GB")
        return int(float(match[1]) * _UNITS[match[2].upper()])
    if on_gpu(device):
        return torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
    free = [found for found in (_free(), _left_in_group()) if found is not None]
    return min(free, default=None)


def told(count: int) -> str:
    for unit, size in reversed(_UNITS.items()):
        if count >= size:
            return f"{count / size:.3g} {unit}B"
    return "0 B"


def _free() -> int | None:
    try:
        found = re.search(r"^MemAvailable:\s*(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
        if found is not None:
            return int(found[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # all there is
    except (AttributeError, OSError, ValueError):
        return None


def _left_in_group(places: Sequence[str] = ("memory.max", "memory.current")) -> int | None:
    """What a container may still take, under Linux's control groups."""
    try:
        most, now = (Path("/sys/fs/cgroup", place).read_text().strip() for place in places)
        return None if most == "max" else max(0, int(most) - int(now))
    except (OSError, ValueError):
        return None
