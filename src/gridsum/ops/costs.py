"""How much memory and time work takes, estimated of what was measured (benchmarks/records); and the limit on memory.

Memory is rounded down: work that would fit is not refused. Time is operations, divided by the rate that an H200 or a
core of a server's CPU was seen to reach: other machines differ.
"""

import torch

from gridsum.config.paper import Config, ModelConfig
from gridsum.io.limits import check_bytes, memory_limit
from gridsum.ops.devices import on_gpu

# Operations a second: of training on a GPU by its precision, of solving there, of both on each core of a CPU.
_TRAINING_RATES, _SOLVING_RATE = {"bf16": 6.3e13, "tf32": 3e13, "fp32": 1e13}, 2e13
_CPU_RATES = {"training": 1e10, "solving": 5e9}
# Seconds until the first step on a GPU: 35 where nothing is compiled yet, else 2; the mean of a campaign.
_START = 10.0
# What networks take that decide themselves when to halt: shipped ones take 7 to 14.
_STEPS_OF_SOLVING = 12


def check_memory(what: str, needed: int, device: torch.device) -> None:
    """Refuse work that takes more memory than there is, or than the variable allows."""
    free = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device) if on_gpu(device) else None
    check_bytes(what, needed, memory_limit(free))


def training_seconds(operations: float, device: torch.device, precision: str) -> float:
    """Of a training run that takes so many floating-point operations."""
    if on_gpu(device):
        return operations / _TRAINING_RATES[precision] + _START if operations else 0.0
    return operations / (_CPU_RATES["training"] * torch.get_num_threads())


def solving_seconds(model: ModelConfig, cells: int, symbols: int, device: torch.device) -> float:
    """Of problems whose grids have so many cells together; so many symbols of each are placed."""
    steps = model.fixed_steps if model.halting == "fixed" else _STEPS_OF_SOLVING
    work = steps * operations(model, cells) + 2.0 * model.width * symbols * cells
    return work / (_SOLVING_RATE if on_gpu(device) else _CPU_RATES["solving"] * torch.get_num_threads())


def operations(model: ModelConfig, cells: int) -> int:
    """Floating-point operations of one recurrent step on `cells` cells, forward: products and local attention."""
    width, hidden, around = model.width, model.step_hidden, model.kernel**2
    projections = width * 3 * width
    feed_forward = width * hidden + hidden * hidden + hidden * width
    attention = 2 * around * width  # scores and sums
    context = 2 * model.context_heads * model.context_length * width if model.halting == "ponder" else 0
    return 2 * cells * (projections + feed_forward + attention + context)


def cells_of_a_step(config: Config) -> float:
    """Cells of one run's training step, at the sizes its grids have on average."""
    task = config.task
    problems = config.training.batch // len(task.groups)
    shapes = [(*task.grid(space), *task.largest_grid(space)) for space in task.groups]
    return sum(problems * (least + most) / 2 * (narrow + wide) / 2 for least, narrow, most, wide in shapes)
