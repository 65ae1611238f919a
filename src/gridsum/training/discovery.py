"""What `exact` is trained on: a step's phase, problems on grids of drawn sizes, a rollout of bits.

All of it is a function of the runs' seeds and of the training step, so a run learns the same alone or in a fleet.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.config.exact import DiscoveryConfig, ExactConfig, Phase
from gridsum.data.problems import Batch, sample
from gridsum.data.streams import Stream, lane_index
from gridsum.model.cells import cells_of
from gridsum.model.rule import RuleNetwork, soft_bits
from gridsum.ops import placement
from gridsum.ops.forms import fastest_form, full_precision
from gridsum.ops.grids import GridSize
from gridsum.ops.placement.plain import most_probable
from gridsum.tasks import PAD, Task, find

# What the random numbers of a step are for; those of a recurrent step n come n after the last.
_PROBLEMS, _ROWS, _COLUMNS, _NOISE = 0, 1, 2, 100
_DEFAULT = find()
# A rate grows to its own size over so many steps, at the beginning of a phase and where runs begin anew.
_WARM_UP = 50


def rate(phase: Phase, index: int) -> float:
    own = phase.rate_start + (phase.rate_end - phase.rate_start) * index / phase.steps
    return own * min(1.0, (index % (phase.patience or phase.steps) + 1) / _WARM_UP)


def at_step(config: ExactConfig, number: int) -> tuple[str, Phase, int]:
    """The phase that training step `number` belongs to, and its index there."""
    for name, phase in vars(config.phases).items():
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


@dataclass(frozen=True)
class Problems:
    """The problems of a step, with the cells that belong to each one's grid: inside [R,B,H,W,1]."""

    symbols: Tensor
    targets: Tensor
    inside: Tensor


def draw(phase: Phase, config: DiscoveryConfig, stream: Stream, task: Task = _DEFAULT) -> Problems:
    """Half of the batch of either group, with a grid size that each run draws for each."""
    height, width = grid_of(phase, config)
    half, longest = config.batch // 2, phase.groups[1].symbols
    batches: list[Batch] = []
    inside = []
    for index, space in enumerate(phase.groups):
        source = stream.fold(index)
        batches.append(sample(space, half, source.fold(_PROBLEMS), config.few_digits, task))
        rows = space.terms[1] + config.spare_rows + source.fold(_ROWS).integers(0, config.random_rows)
        columns = space.digits[1] + config.spare_columns + source.fold(_COLUMNS).integers(0, config.random_columns)
        size = GridSize(height, width, torch.stack((rows, columns), 1).int())
        assert size.inside is not None
        inside.append(size.inside[:, None, :, :, None].expand(-1, half, -1, -1, -1))
    symbols = [F.pad(batch.symbols, (0, longest - batch.symbols.shape[-1]), value=PAD) for batch in batches]
    targets = [batch.targets_for(width) for batch in batches]
    return Problems(torch.cat(symbols, 1), torch.cat(targets, 1), torch.cat(inside, 1).float())


def place(network: RuleNetwork, problems: Problems, certain: int) -> Tensor:
    """The symbols' vectors on the grids [R,B,H,W,E]; the last `certain` problems by the most probable actions."""
    table = network.actions()
    chosen = F.one_hot(problems.symbols, len(network.task.alphabet)).to(table.dtype)
    actions = torch.matmul(chosen, table[:, None])
    if certain:
        sure = torch.matmul(chosen[:, -certain:], most_probable(table)[:, None])
        actions = torch.cat((actions[:, :-certain], sure), 1)
    height, width = problems.inside.shape[2:4]
    spread = placement.place(chosen, actions, height, width, fastest_form(actions))
    return torch.matmul(spread, network.vectors()[:, None, None]) * problems.inside


def roll_out(
    network: RuleNetwork, phase: Phase, stream: Stream, steps: int, problems: Problems, certain: int
) -> Tensor:
    """What is read in the top row after each recurrent step: logits [R,K,B,W,symbols]."""
    inside = problems.inside
    runs, count, height, width = inside.shape[:4]
    cells, bits = cells_of(network, inside), network.config.bits
    with full_precision(inside):
        grid = cells.take(place(network, problems, certain))
    cell, query = network.meet(grid)
    # of every recurrent step at once: [steps,R,B,H,W,m]
    numbered = torch.arange(1, steps + 1, device=inside.device)
    numbers = torch.arange(count * height * width, device=inside.device).view(count, height, width)
    noise = Stream(stream.fold(_NOISE + numbered[:, None]).key.flatten()).normal(lane_index(numbers, bits + -bits % 4))
    noise = noise[..., :bits].unflatten(0, (steps, runs))
    state, rows = -cells.inside.expand(*grid.shape[:-1], bits), []
    for each in noise:
        z = cells.step(cell, query, state).float()
        state = (2 * soft_bits(z, phase.noise * cells.take(each), phase.bits) - 1) * cells.inside
        rows.append(cells.top_rows(state))
    return network.read(torch.stack(rows, 1)).float()
