"""One training step's gradients: eagerly, or as CUDA graphs of a compiled step.

A step's problems, grid sizes and dropout are functions of the runs' seeds and of the step's number alone, so the
same step can be computed again, and gives the same gradients in either way, alone or in a fleet.
"""

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from gridsum.config import Config, TaskConfig
from gridsum.model.layers import flatten
from gridsum.model.network import Network
from gridsum.model.rollout import GridSize
from gridsum.objective import Cost, cost
from gridsum.problems import Batch, Space, sample
from gridsum.streams import Stream
from gridsum.training.precision import served

# What a step's random numbers are for.
_PROBLEMS, _ROWS, _COLUMNS, _DROPOUT, _SUCCESS = range(5)


@dataclass(frozen=True)
class Gradients:
    """Of one step: the gradient [R,P] of every run's total cost, and the costs, averaged over the groups."""

    gradient: Tensor
    cost: Cost
    recurrent_steps: float
    """How many were computed, as the mean over the groups."""


@dataclass(frozen=True)
class _Part:
    """One group's share of a step."""

    gradient: Tensor
    cost: Cost
    recurrent_steps: int
    truncation: Tensor
    """The most steps any sample took, and whether some sample needed more than were computed: int64 [2]."""


def largest_grid(space: Space, config: Config) -> tuple[int, int]:
    """The largest height and width that problems of `space` can be given."""
    task = config.task
    return (
        space.terms[1] + task.spare_rows + task.random_rows,
        space.digits[1] + task.spare_columns + task.random_columns,
    )


def draw_grid(space: Space, config: Config, stream: Stream, static: bool) -> GridSize:
    """A grid size for each run, inside a common one: the largest there is if `static`, else the largest drawn."""
    task = config.task
    height, width = largest_grid(space, config)
    rows = height - task.random_rows + stream.fold(_ROWS).integers(0, task.random_rows)
    columns = width - task.random_columns + stream.fold(_COLUMNS).integers(0, task.random_columns)
    if not static:
        height, width = int(rows.max()), int(columns.max())
        if int(rows.min()) == height and int(columns.min()) == width:
            return GridSize(height, width)
    return GridSize(height, width, torch.stack((rows, columns), 1).int())


def draw_problems(space: Space, task: TaskConfig, problems: int, stream: Stream) -> Batch:
    """The problems of a group, with as many repeats as the task has."""
    return sample(space, problems, stream.fold(_PROBLEMS), task.repeats, task.repeat_probability)


def part_gradient(
    network: Network, config: Config, stream: Stream, group: int, steps: int | None, static: bool
) -> _Part:
    """The gradient of one group of problems, of the step that `stream` stands for."""
    space = config.task.groups[group]
    source = stream.fold(group)
    size = draw_grid(space, config, source, static)
    problems = config.training.batch // len(config.task.groups)
    batch = draw_problems(space, config.task, problems, source)
    rollout = network(batch.symbols, size, source.fold(_DROPOUT), steps, largest_grid(space, config))
    columns = None if size.inside is None else size.inside[:, 0]
    spent = cost(rollout, batch.targets_for(size.width), config.objective, columns, source.fold(_SUCCESS))
    gradients = torch.autograd.grad(spent.total.sum() / len(config.task.groups), list(network.parameters()))
    unfinished = torch.zeros((), dtype=torch.bool, device=batch.symbols.device)
    if rollout.halting is not None and steps is not None and steps < config.model.max_steps:
        unfinished = ((1 - rollout.halting[:-1].detach()).prod(0) >= config.model.epsilon).any()
    truncation = torch.stack((rollout.truncation.max(), unfinished.long()))
    # A gradient may come as an expanded view; a row a run is what the optimiser takes.
    return _Part(flatten(gradients), _detached(spent), rollout.steps.stop - 1, truncation)


def _detached(spent: Cost) -> Cost:
    return Cost(*(getattr(spent, part.name).detach() for part in fields(Cost)))


def _mean(parts: list[_Part]) -> Gradients:
    """Costs are averaged over the groups; the parts' gradients already are shares of the whole."""
    gradient = parts[0].gradient if len(parts) == 1 else torch.stack([part.gradient for part in parts]).sum(0)
    costs = [torch.stack([getattr(part.cost, item.name) for part in parts]).mean(0) for item in fields(Cost)]
    return Gradients(gradient, Cost(*costs), sum(part.recurrent_steps for part in parts) / len(parts))


class EagerGradients:
    """Operation by operation, at the sizes drawn, for as many steps as the samples need."""

    def __init__(self, network: Network, config: Config, seeds: tuple[int, ...]) -> None:
        self.network, self.config = network, config
        self.stream = Stream.of_seeds(seeds, next(network.parameters()).device)
        if served(config.training.precision, self.stream.key.device) == "bf16":
            network.step.reduce(torch.bfloat16)

    def __call__(self, step: int) -> Gradients:
        stream, groups = self.stream.fold(step), range(len(self.config.task.groups))
        return _mean([part_gradient(self.network, self.config, stream, group, None, False) for group in groups])


class GraphGradients:
    """Compiled steps inside CUDA graphs, one for each group and number of recurrent steps.

    Shapes are static: every run's grid is masked inside the largest. How many recurrent steps a batch needs under
    ponder halting is known only afterwards, so the number is guessed from the steps before; if it was too small, the
    part is computed again with more, which gives what it would have given at once.
    """

    # Few: a graph takes seconds to make, and steps that no sample needs any more cost little.
    _LENGTHS = (4, 8, 14, 24, 32, 40)
    _MEMORY = 10

    def __init__(self, network: Network, config: Config, seeds: tuple[int, ...]) -> None:
        self.network, self.config = network, config
        self.stream = Stream.of_seeds(seeds, next(network.parameters()).device)
        self.step = torch.zeros((), dtype=torch.int64, device=self.stream.key.device)
        # The groups are computed side by side: each in a stream and in memory of its own.
        self.lanes = [(torch.cuda.Stream(), torch.cuda.graph_pool_handle()) for _ in config.task.groups]
        self.captured: dict[tuple[int, int | None], tuple[torch.cuda.CUDAGraph, _Part]] = {}
        self.recent: list[list[int]] = [[] for _ in config.task.groups]
        network.fuse()

    def __call__(self, step: int) -> Gradients:
        self.step.fill_(step)
        groups = range(len(self.config.task.groups))
        lengths = [self._guess(group) for group in groups]
        for group in groups:  # captures wait for all else to finish, so they come first
            self._graph(group, lengths[group])
        parts = [self._replay(group, lengths[group]) for group in groups]
        for lane, _ in self.lanes:
            torch.cuda.current_stream().wait_stream(lane)
        for group in groups:
            while self.config.model.halting == "ponder":
                taken, unfinished = parts[group].truncation.tolist()
                if not unfinished:
                    self.recent[group] = [*self.recent[group], taken][-self._MEMORY :]
                    break
                lengths[group] = self._longer(lengths[group])
                parts[group] = self._replay(group, lengths[group])
                torch.cuda.current_stream().wait_stream(self.lanes[group][0])
        return _mean(parts)

    def _lengths(self) -> list[int]:
        most = self.config.model.max_steps
        return [length for length in self._LENGTHS if length < most] + [most]

    def _guess(self, group: int) -> int | None:
        if self.config.model.halting != "ponder":
            return None
        needed = max(self.recent[group], default=self._LENGTHS[2])
        lengths = self._lengths()
        return next((length for length in lengths if length >= needed), lengths[-1])

    def _longer(self, length: int | None) -> int:
        """At least half as many again: a graph for every length in between would cost more to make than it saves."""
        assert length is not None
        lengths = self._lengths()
        return next((other for other in lengths if other >= 1.5 * length), lengths[-1])

    def _graph(self, group: int, length: int | None) -> tuple[torch.cuda.CUDAGraph, _Part]:
        if (group, length) not in self.captured:
            self.captured[group, length] = self._capture(group, length)
        return self.captured[group, length]

    def _replay(self, group: int, length: int | None) -> _Part:
        """What the graph computes; the current stream has to wait for the group's own."""
        graph, part = self._graph(group, length)
        lane, _ = self.lanes[group]
        lane.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(lane):
            graph.replay()
            # A group's graphs share their memory: what one leaves behind the next may overwrite.
            costs = Cost(*(getattr(part.cost, item.name).clone() for item in fields(Cost)))
            return _Part(part.gradient.clone(), costs, part.recurrent_steps, part.truncation.clone())

    def _capture(self, group: int, length: int | None) -> tuple[torch.cuda.CUDAGraph, _Part]:
        def compute() -> _Part:
            stream = self.stream.fold(self.step)
            with torch.autocast("cuda", torch.bfloat16, enabled=self.config.training.precision == "bf16"):
                return part_gradient(self.network, self.config, stream, group, length, True)

        torch.cuda.synchronize()
        lane, pool = self.lanes[group]
        if not any(other == group for other, _ in self.captured):
            with torch.cuda.stream(lane):  # what is compiled or allocated once must be so before the capture
                compute()
            torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, stream=lane):
            part = compute()
        return graph, part
