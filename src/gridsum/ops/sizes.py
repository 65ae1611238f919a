"""How much memory work takes, estimated before any of it is allocated, and the one limit on it.

Estimates are of what was measured (benchmarks/records), rounded down: work that would fit is not refused.
"""

import torch

from gridsum.config.exact import ExactConfig
from gridsum.config.paper import Config, ModelConfig
from gridsum.io.limits import check_bytes, memory_asked, memory_free
from gridsum.ops.devices import on_gpu

# Bytes of a cell in a recurrent step, for each feature of the cell or of FFN_3: of solving, and kept for a gradient.
_SOLVING, _TRAINING, _DISCOVERY = 20, 12, 8
# Networks that decide themselves when to halt take at least so many steps in training.
_FEW_STEPS = 4


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
    check_bytes(what, needed, memory_limit(device))


def memory_limit(device: torch.device) -> int | None:
    """Bytes that work may take: what the variable says, else what is free; None where nobody knows."""
    asked = memory_asked()
    if asked is not None:
        return asked
    if on_gpu(device):
        return torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
    return memory_free()
