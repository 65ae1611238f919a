"""What `exact` is trained on: where a step stands in its phase, problems on grids of drawn sizes, a rollout of bits.

All of it is drawn as functions of the runs' seeds and of the training step, so a run learns the same alone or in a
fleet.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from gridsum.config.exact import DiscoveryConfig, ExactConfig, Phase
from gridsum.data.problems import Batch, sample
from gridsum.data.streams import Stream, lane_index
from gridsum.model.cells import cells_of
from gridsum.model.rule import RuleNetwork, soft_bits
from gridsum.objective.exact import BitRollout
from gridsum.ops import placement
from gridsum.ops.forms import fastest_form, full_precision
from gridsum.ops.grids import GridSize
from gridsum.ops.placement.plain import most_probable
from gridsum.tasks import PAD, Task, find

# What the random numbers of a step are for; those of a recurrent step n come n after the last.
_PROBLEMS, _ROWS, _COLUMNS, _HARD, _START, _RANDOM, _SHARE, _WHERE, _CORRUPTED = range(9)
_NOISE, _CORRUPTION, _CORRUPT_BITS = 100, 200, 300
_DEFAULT = find()
# A rate grows to its own size over so many steps, at the beginning of a phase and where runs begin anew.
_WARM_UP = 50


class Setting(NamedTuple):
    """What changes within a phase, at one of its steps: numbers, or tensors of one where a graph reads them."""

    noise: Any
    hard: Any
    rate: Any


def setting(phase: Phase, index: int) -> Setting:
    """At step `index` of the phase."""
    along = index / max(1, phase.steps)

    def between(name: str) -> float:
        start, end = getattr(phase, f"{name}_start"), getattr(phase, f"{name}_end")
        return start + (end - start) * along

    rate = between("rate") * min(1.0, (index % (phase.patience or phase.steps) + 1) / _WARM_UP)
    return Setting(between("noise"), between("hard"), rate)


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
    network: RuleNetwork,
    config: DiscoveryConfig,
    phase: Phase,
    stream: Stream,
    now: Setting,
    steps: int,
    before: Tensor,
    problems: Problems,
) -> tuple[BitRollout, Tensor]:
    """A training step's rollout, and the states [R,B,H,W,m] that it ends with, as bits.

    `before` are the states that the training step before ended with: some problems start from them.
    """
    inside = problems.inside
    runs, count, height, width = inside.shape[:4]
    cells, bits = cells_of(network, inside), network.config.bits
    with full_precision(inside):
        grid = place(network, problems, int(config.hard_share * count))
    cell, query = network.meet(cells.take(grid))
    numbers = torch.arange(count * height * width, device=inside.device).view(count, height, width)
    lanes = lane_index(numbers, bits + -bits % 4)

    def random_bits(source: Stream) -> Tensor:
        return cells.take(source.normal(lanes)[..., :bits].sign())

    def each(source: Stream) -> Tensor:
        return source.uniform(count).view(runs, count, 1, 1, 1)

    def of_cells(each: Tensor) -> Tensor:
        """What each problem has, for each of its cells."""
        return cells.take(each.expand(-1, -1, height, width, -1))

    def each_cell(source: Stream) -> Tensor:
        return cells.take(source.uniform(count, height, width)[..., None])

    hard = of_cells(each(stream.fold(_HARD)) < now.hard)
    scattered = random_bits(stream.fold(_RANDOM))
    others = torch.where(
        each_cell(stream.fold(_WHERE)) < of_cells(each(stream.fold(_SHARE))), scattered, cells.take(before)
    )
    chance, starts = of_cells(each(stream.fold(_START))), phase.random_starts
    state = torch.where(chance < starts / 2, scattered, torch.where(chance < starts, others, -1.0)) * cells.inside
    corrupted = each(stream.fold(_CORRUPTED)) < (0.5 if phase.corruption else 0.0)
    corrupted_cells = of_cells(corrupted)
    # of every recurrent step at once: [steps,R,B,H,W,m]
    numbered = torch.arange(1, steps + 1, device=inside.device)
    drawn = Stream(stream.fold(_NOISE + numbered[:, None]).key.flatten()).normal(lanes)[..., :bits]
    drawn = now.noise * drawn.unflatten(0, (steps, runs))
    rows, bits_on = [], torch.zeros(runs, device=inside.device)
    for n in range(1, steps + 1):
        z = cells.step(cell, query, state).float()
        between = soft_bits(z, cells.take(drawn[n - 1]), hard)
        state = (2 * between - 1) * cells.inside
        if 2 * n <= steps and phase.corruption:
            hit = corrupted_cells & (each_cell(stream.fold(_CORRUPTION + n)) < phase.corruption)
            state = torch.where(hit, random_bits(stream.fold(_CORRUPT_BITS + n)) * cells.inside, state)
        rows.append(cells.top_rows(state))
        bits_on = bits_on + (between * cells.inside).flatten(1).sum(1)
    bits_on = bits_on / (inside.flatten(1).sum(1) * bits) / steps
    logits = network.read(torch.stack(rows, 1)).float()
    states = torch.where(cells.grids(state) > 0, 1.0, -1.0)
    return BitRollout(logits, bits_on, corrupted[..., 0, 0, 0]), states
