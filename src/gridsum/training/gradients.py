"""One training step's gradients: the same whenever it is computed, alone or in a fleet, since problems, grid sizes and
dropout are functions of the runs' seeds and of the step's number."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gridsum.config.paper import Config, ModelConfig, TaskConfig
from gridsum.config.registry import GradientSource
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.model.paper import Readout
from gridsum.model.rollout import Network
from gridsum.objective.paper import cost, sampled_success
from gridsum.ops.forms import Form, by_blas_alone
from gridsum.ops.grids import GridSize, side_by_side

# What a step's random numbers are for.
_PROBLEMS, _ROWS, _COLUMNS, _DROPOUT, _SUCCESS = range(5)


@dataclass(frozen=True)
class Gradients:
    """Of a training step, or of one group of its problems."""

    gradient: Tensor
    """Of every run's total cost: [R,P]."""
    costs: dict[str, Tensor]
    """What is logged of it, for each run [R]: the total cost first."""
    truncation: Any = None
    """Of a group: the most steps any sample took, and whether some sample needed more than were computed: int64 [2]."""


def draw_grid(space: Space, task: TaskConfig, stream: Stream, static: bool) -> GridSize:
    """A grid size for each run, inside a common one: the largest there is if `static`, else the largest drawn."""
    (least_rows, least_columns), (height, width) = task.grid(space), (largest := task.largest_grid(space))
    rows = least_rows + stream.fold(_ROWS).integers(0, task.random_rows)
    columns = least_columns + stream.fold(_COLUMNS).integers(0, task.random_columns)
    if not static:
        height, width = int(rows.max()), int(columns.max())
        if int(rows.min()) == height and int(columns.min()) == width:
            return GridSize(height, width, None, largest)
    return GridSize(height, width, torch.stack((rows, columns), 1).int(), largest)


@dataclass(frozen=True)
class Drawn:
    """What a group of problems of a training step is computed on."""

    symbols: Tensor  # [R,B,S]
    targets: Tensor  # [R,B,W]
    size: GridSize
    columns: Tensor | None
    """Which columns belong to each run's own grid [R,W]; None: all of them."""
    dropout: Stream
    """What dropout is drawn from."""
    chance: Tensor
    """What the halting step at which success is measured is drawn by, uniform in [0, 1): [R,B]."""


def draw(config: Config, stream: Stream, group: int = 0, static: bool = False) -> Drawn:
    """The problems and grids of a group, of the training step that `stream` stands for."""
    space, source = config.task.groups[group], stream.fold(group)
    problems, size = config.training.batch // len(config.task.groups), draw_grid(space, config.task, source, static)
    batch = sample(space, problems, source.fold(_PROBLEMS), task=config.task.task)
    columns = None if size.inside is None else size.inside[:, 0]
    chance = source.fold(_SUCCESS).uniform(problems)
    return Drawn(batch.symbols, batch.targets_for(size.width), size, columns, source.fold(_DROPOUT), chance)


@torch.no_grad()
def success_of(
    network: Network, drawn: Drawn, steps: int | None = None, form: Form | None = None
) -> tuple[Tensor, Tensor]:
    """The measure a [R,B] of Explore-Reinforce, at a step drawn in a rollout without dropout, and its truncation."""
    epsilon = (1 - drawn.chance).clamp_min(network.config.epsilon)  # what comes after the step drawn is not asked for
    readout = network(drawn.symbols, drawn.size, None, steps, epsilon, form)
    success = sampled_success(readout, drawn.targets, drawn.chance, drawn.columns)
    return success, _truncation(readout, epsilon, network.config, steps)


@by_blas_alone()
def part_gradient(
    network: Network,
    config: Config,
    stream: Stream,
    group: int,
    steps: int | None,
    static: bool,
    form: Form | None = None,
) -> Gradients:
    """The gradient of one group of problems, of the step that `stream` stands for; `form` as a network takes it."""
    drawn, success = draw(config, stream, group, static), None
    rollout: Readout = network(drawn.symbols, drawn.size, drawn.dropout, steps, form=form)
    truncations = [_truncation(rollout, config.model.epsilon, config.model, steps)]
    if (config.objective.regulariser, config.objective.success) == ("explore-reinforce", "sampled"):
        success, truncation = success_of(network, drawn, steps, form)
        truncations.append(truncation)
    spent = cost(rollout, drawn.targets, config.objective, drawn.columns, success)
    gradients = torch.autograd.grad(spent.total.sum() / len(config.task.groups), list(network.parameters()))
    costs = {name: part.detach() for name, part in vars(spent).items()}
    # A gradient may come as an expanded view; a row a run is what the optimiser takes.
    return Gradients(side_by_side(gradients), costs, torch.stack(truncations).amax(0))


def _truncation(rollout: Readout, epsilon: float | Tensor, config: ModelConfig, steps: int | None) -> Tensor:
    """As `Gradients` has it, of one rollout that is truncated at ε."""
    unfinished = torch.zeros((), dtype=torch.bool, device=rollout.truncation.device)
    if rollout.halting is not None and steps is not None and steps < config.max_steps:
        unfinished = ((1 - rollout.halting[:-1].detach()).prod(0) >= epsilon).any()
    return torch.stack((rollout.truncation.max(), unfinished.long()))


def mean_of(parts: list[Gradients]) -> Gradients:
    """Costs are averaged over the groups; the parts' gradients already are shares of the whole."""
    gradient = parts[0].gradient if len(parts) == 1 else torch.stack([part.gradient for part in parts]).sum(0)
    costs = {name: torch.stack([part.costs[name] for part in parts]).mean(0) for name in parts[0].costs}
    return Gradients(gradient, costs)


class EagerGradients(GradientSource):
    """The paper's objective, operation by operation, at the sizes drawn, for as many steps as the samples need."""

    def __init__(self, network: Network, config: Config, seeds: tuple[int, ...]) -> None:
        self.config, self.network = config, network
        self.stream = Stream.of_seeds(seeds, next(network.parameters()).device)
        self.groups = range(len(config.task.groups))

    def __call__(self, step: int) -> Gradients:
        stream = self.stream.fold(step + self.config.training.first_step)
        return mean_of([part_gradient(self.network, self.config, stream, group, None, False) for group in self.groups])
