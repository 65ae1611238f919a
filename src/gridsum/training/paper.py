"""The paper's variants as entries of the registry."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from gridsum.config.fields import Changes
from gridsum.config.paper import Config
from gridsum.config.registry import Trainable
from gridsum.config.variants import INTERPRETATIONS, variant
from gridsum.data.problems import Batch
from gridsum.data.streams import Stream
from gridsum.model.inference import UnsoundError, default_rule, infer
from gridsum.model.rollout import Network
from gridsum.model.store import Model
from gridsum.ops.costs import cells_of_a_step, operations
from gridsum.ops.devices import on_gpu
from gridsum.ops.grids import GridSize
from gridsum.training.gradients import EagerGradients
from gridsum.training.graphs import GraphGradients

# Bytes of a cell that a recurrent step keeps for a gradient, for each feature of the cell or of FFN_3.
_BYTES = 12
# Networks that decide themselves when to halt take at least so many steps in training.
_FEW_STEPS = 4
# The recurrent steps of a training step of those who decide when to halt. On a CPU it is the mean over samples that
# counts (results/*/summary.json): 2 to 5 under Explore-Reinforce, which halts early where a step's loss is divided by
# what still runs, 15 otherwise. On a GPU the slowest matter more; so many full steps take as long as theirs, the
# context and the draw of success (benchmarks/records).
_STEPS_ON_CPU, _STEPS_WHEN_EARLY, _STEPS_ON_GPU = 15, 5, 17


class Paper(Trainable):
    config = Config
    settings = INTERPRETATIONS

    def __init__(self, name: str) -> None:
        self.name = name

    def configure(self, setting: str | None = None, task: str | None = None, changes: Changes = None) -> Config:
        self.chosen_setting(setting)
        return variant(self.name, setting, task, changes)

    def build(self, config: Config, seeds: Sequence[int]) -> Network:
        return Network(config.model, seeds, config.task)

    def gradients(self, network: Network, config: Config, seeds: tuple[int, ...]) -> EagerGradients:
        kind = GraphGradients if on_gpu(next(network.parameters()).device) else EagerGradients
        return kind(network, config, seeds)

    def held_out(self, network: Network, config: Config, batch: Batch, draws: Stream) -> dict[str, Tensor]:
        """Nothing where a run has diverged so far that it cannot be asked."""
        try:
            return super().held_out(network, config, batch, draws)
        except UnsoundError:
            return {}

    def answer(self, network: Network, config: Config, batch: Batch, draws: Stream) -> Tensor:
        size, rule = GridSize(*config.task.grid(config.space)), default_rule(network)
        drawn = draws.uniform(batch.symbols.shape[1], config.model.max_evaluation_steps)
        symbols, drawn = (part.expand(network.runs, -1, -1) for part in (batch.symbols, drawn))
        return infer(network, symbols, size, rule, drawn).predicted

    def subjects(self, model: Model, **how: Any) -> Iterator[Any]:
        from gridsum.evaluation.evaluate import paper_subject

        yield paper_subject(model, **how)

    def memory(self, config: Config, runs: int) -> int:
        model, task = config.model, config.task
        steps = model.fixed_steps if model.halting == "fixed" else min(_FEW_STEPS, model.max_steps)
        problems = config.training.batch // len(task.groups)
        cells = sum(problems * rows * columns for rows, columns in map(task.grid, task.groups))
        return runs * cells * steps * (model.width + model.step_hidden) * _BYTES

    def work(self, config: Config, runs: int, epochs: int, device: torch.device) -> float:
        model = config.model
        early = config.objective.normalise == "running" and config.objective.regulariser == "explore-reinforce"
        steps = _STEPS_ON_GPU if on_gpu(device) else _STEPS_WHEN_EARLY if early else _STEPS_ON_CPU
        steps = model.fixed_steps if model.halting == "fixed" else min(model.max_steps, steps)
        cells = round(cells_of_a_step(config) * runs)
        return 3.0 * operations(model, cells) * steps * epochs * config.training.steps_per_epoch
