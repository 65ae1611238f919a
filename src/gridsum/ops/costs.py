"""How much memory work takes, and how long it takes here, estimated before it begins; and the limits on both.

Memory is estimated from what was measured (benchmarks/records), rounded down: work that would fit is not refused.
Time is operations, divided by the rate that was seen to be reached. The rate of a large product is measured here and
now. Training and evaluation reach a share of it, which `benchmarks/step.py` measures; it differs from machine to
machine, so an estimate is right within a factor of two.
"""

from dataclasses import dataclass
from functools import cache, partial

import torch

from gridsum.config.paper import Config, ModelConfig
from gridsum.io.limits import check_bytes, check_seconds, memory_asked, memory_free, time_limit
from gridsum.ops.devices import on_gpu, product_rate

# Bytes of a cell in a recurrent step, for each feature of the cell or of FFN_3: of solving, and kept for a gradient.
_SOLVING, _TRAINING = 20, 12
# Networks that decide themselves when to halt take at least so many steps in training.
_FEW_STEPS = 4
UNCERTAINTY = "expect half of that to twice that"
_LIMIT = 30 * 86400.0
# Operations a second that any machine reaches. A product is timed only for work that would not be short even so.
_SLOWEST = 1e9
_SHARES = {
    "cuda": {"bf16": 0.08, "tf32": 0.06, "fp32": 0.2},
    "cpu": {"bf16": 0.2, "tf32": 0.2, "fp32": 0.2},
}
"""Of the rate of a large product in the same precision: what a training run of ten runs reaches."""
_INFERENCE = {"cuda": 0.4, "cpu": 0.1}
"""The same of evaluation, which is always in fp32."""
_START = {"cuda": 10.0, "cpu": 0.0}
"""The seconds until a training run's first step: 35 where nothing is compiled yet, else 2; the mean of a campaign."""
# The recurrent steps of a training step of those who decide when to halt. On a CPU it is the mean over samples that
# counts (results/*/summary.json): 2 to 5 under Explore-Reinforce, which halts early where a step's loss is divided by
# what still runs, 15 otherwise. On a GPU the slowest matter more; so many full steps take as long as theirs, the
# context and the draw of success (benchmarks/records).
_STEPS_ON_CPU, _STEPS_WHEN_EARLY, _STEPS_ON_GPU = 15, 5, 17
# What networks take that decide themselves when to halt: shipped ones take 7 to 14.
_STEPS_OF_SOLVING = 12


def solving_bytes(model: ModelConfig, cells: int) -> int:
    return _SOLVING * cells * (model.width + model.step_hidden)


def trace_bytes(model: ModelConfig, cells: int, steps: int) -> int:
    """Every step is kept with its attention."""
    return 4 * cells * (steps + 1) * (model.width + model.kernel**2 * model.heads)


def training_bytes(config: Config, runs: int) -> int:
    """Of a training step of a fleet."""
    model, task = config.model, config.task
    steps = model.fixed_steps if model.halting == "fixed" else min(_FEW_STEPS, model.max_steps)
    problems = config.training.batch // len(task.groups)
    cells = sum(problems * rows * columns for rows, columns in map(task.grid, task.groups))
    return runs * cells * steps * (model.width + model.step_hidden) * _TRAINING


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


@dataclass(frozen=True)
class Work:
    """Floating-point operations, about, and how many training runs have to be started up for them."""

    training: float = 0.0
    inference: float = 0.0
    starts: int = 0


class Estimate:
    """Seconds of work on a device. A product is timed there when there is work that it is needed for."""

    def __init__(self, device: torch.device, precision: str) -> None:
        self._kind, self._precision = device.type, precision
        self._rate = cache(partial(product_rate, device))

    def seconds(self, work: Work) -> float:
        training, inference = _SHARES[self._kind][self._precision], _INFERENCE[self._kind]
        parts = ((work.training, self._precision, training), (work.inference, "fp32", inference))
        computing = sum(amount / (self._rate(precision) * share) for amount, precision, share in parts if amount)
        return computing + _START[self._kind] * work.starts


def check_time(what: str, work: Work, device: torch.device, precision: str = "fp32") -> None:
    """Refuse work that takes longer than the limit, or than the variable allows."""
    if (work.training + work.inference) / _SLOWEST > time_limit(_LIMIT):
        check_seconds(what, Estimate(device, precision).seconds(work), _LIMIT)


def steps_of_solving(model: ModelConfig) -> int:
    return model.fixed_steps if model.halting == "fixed" else _STEPS_OF_SOLVING


def solving_work(model: ModelConfig, cells: int) -> Work:
    """Of sums whose grids have so many cells together."""
    return Work(inference=float(steps_of_solving(model)) * operations(model, cells))


def training_work(config: Config, runs: int, epochs: int, device: torch.device) -> Work:
    model = config.model
    early = config.objective.normalise == "running" and config.objective.regulariser == "explore-reinforce"
    steps = _STEPS_ON_GPU if on_gpu(device) else _STEPS_WHEN_EARLY if early else _STEPS_ON_CPU
    steps = model.fixed_steps if model.halting == "fixed" else min(model.max_steps, steps)
    cells = round(cells_of_a_step(config) * runs)
    total = 3.0 * operations(model, cells) * steps * epochs * config.training.steps_per_epoch
    return Work(training=total, starts=1 if epochs else 0)


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
