"""States at a few levels: what becomes of a feature, in which runs, and that all ways to compute a step agree."""

import dataclasses

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from gridsum.config import ConfigError
from gridsum.model.network import Network
from gridsum.model.rollout import Beginning, GridSize
from gridsum.model.step import Discretise
from gridsum.streams import Stream, lane_index
from tests.model.test_recurrence import EXACT, SIZE, network_of, steps_from, symbols_of

LEVELS = (2, 3, 5)


def marked(levels: int, seeds=(0,), discrete=(True,), **changes) -> Network:
    network = network_of(seeds, levels=levels, **changes)
    assert network.step.discrete is not None
    network.step.discrete.copy_(torch.tensor(discrete))
    return network


def level(value: float, levels: int) -> float:
    """From the definition: the kth of L equal parts of [-1, 1] means the kth of L values from -1 to 1."""
    part = sum(value >= -1 + 2 * k / levels for k in range(1, levels))
    return -1 + 2 * part / (levels - 1)


def discretised(grid: torch.Tensor, levels: int) -> torch.Tensor:
    values = [level(value, levels) for value in grid.flatten().tolist()]
    return torch.tensor(values, dtype=grid.dtype).view_as(grid)


def discrete_steps(network: Network, grid: torch.Tensor, origin: torch.Tensor, steps: int) -> list[torch.Tensor]:
    """G_1 … G_steps, each from the definition."""
    grids = []
    for _ in range(steps):
        (after,) = steps_from(network, grid, origin, 1)
        grids.append(grid := discretised(after, network.config.levels))
    return grids


@given(st.sampled_from(LEVELS), st.floats(-4, 4))
def test_every_feature_takes_the_level_of_its_part(levels, value):
    assume(all(abs(value - (-1 + 2 * k / levels)) > 1e-9 for k in range(levels + 1)))
    found = Discretise.apply(torch.tensor(value, dtype=torch.float64), levels)
    assert float(found) == pytest.approx(level(value, levels), abs=1e-12)


@pytest.mark.parametrize("levels", LEVELS)
def test_levels_stay_what_they_are(levels):
    ends = torch.linspace(-1, 1, levels, dtype=torch.float64)
    torch.testing.assert_close(Discretise.apply(ends, levels), ends)


@pytest.mark.parametrize("levels", LEVELS)
def test_the_gradient_is_that_of_tanh(levels):
    x = torch.linspace(-3, 3, 40, dtype=torch.float64, requires_grad=True)
    weight = torch.linspace(1, 2, 40, dtype=torch.float64)
    (found,) = torch.autograd.grad((Discretise.apply(x, levels) * weight).sum(), x)
    torch.testing.assert_close(found, weight * (1 - x.detach().tanh().square()))


@pytest.mark.parametrize("levels", LEVELS)
def test_only_marked_runs_are_discrete(levels):
    seeds = (2, 6)
    network, continuous = marked(levels, seeds, (False, True)), network_of(seeds)
    origin = continuous.place(symbols_of(seeds), SIZE)
    (after,) = steps_from(continuous, origin, origin, 1)
    found = network.step(origin, SIZE, remembered=network.step.remember(origin))
    torch.testing.assert_close(found[0], after[0])
    torch.testing.assert_close(found[1], discretised(after[1], levels))


@pytest.mark.parametrize("levels", [2, 3])
def test_cells_outside_a_run_s_own_grid_stay_zero(levels):
    """Which two levels do not even have."""
    network, seeds = marked(levels, (0, 1), (True, True)), (0, 1)
    size = GridSize(4, 7, torch.tensor([[3, 5], [4, 6]], dtype=torch.int32))
    assert size.inside is not None
    origin = network.place(symbols_of(seeds), size)
    found = network.step(origin, size, remembered=network.step.remember(origin))
    assert not found[~size.inside[:, None].expand(found.shape[:-1])].any()
    for run, (height, width) in enumerate([(3, 5), (4, 6)]):
        own = origin[:, :, :height, 7 - width :]
        expected = discrete_steps(network, own, own, 1)[0][run]
        torch.testing.assert_close(found[run, :, :height, 7 - width :], expected)


@pytest.mark.parametrize("levels", LEVELS)
def test_training_takes_the_steps_of_solving(levels):
    network, symbols = marked(levels), symbols_of([0], 5)
    origin = network.place(symbols, SIZE)
    before = [origin, *discrete_steps(network, origin, origin, 3)]
    taken = [3, 1, 2]
    rollout = network(symbols, SIZE, steps=3, beginning=Beginning(torch.tensor([taken]), 3))
    begun = torch.stack([before[n][:, problem] for problem, n in enumerate([*taken, 0, 0])], 1)
    expected = [network.read(grid[:, :, 0]) for grid in discrete_steps(network, begun, origin, 3)]
    torch.testing.assert_close(rollout.logits, torch.stack(expected))
    remembered = network.step.remember(origin)
    torch.testing.assert_close(network.step.observe(origin, remembered)[0], before[1])


def test_noise_comes_before_the_levels():
    network, symbols, source = marked(3, state_noise=0.3), symbols_of([0]), Stream.of_seeds([0])
    rollout = network(symbols, SIZE, source, 3)
    origin = grid = network.place(symbols, SIZE)
    numbers = torch.arange(symbols.shape[1] * 3 * 5).view(-1, 3, 5)
    for n in range(3):
        (after,) = steps_from(network, grid, origin, 1)
        grid = discretised(after + 0.3 * source.fold(1).fold(n).normal(lane_index(numbers, 16)).double(), 3)
        torch.testing.assert_close(rollout.logits[n], network.read(grid[:, :, 0]))


def test_states_of_any_value_have_no_mark():
    assert network_of().step.discrete is None
    assert not any("discrete" in name for name in network_of().state_dict())


@pytest.mark.parametrize("levels", [-1, 1])
def test_one_level_is_none(levels):
    with pytest.raises(ConfigError, match=r"model\.levels must be 0.*or at least 2"):
        dataclasses.replace(EXACT, levels=levels)
