"""Computing only what changes gives what computing everything gives."""

import dataclasses
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gridsum.model.inference import infer
from gridsum.model.network import Network
from gridsum.model.rollout import GridSize
from gridsum.model.settling import Settling
from gridsum.problems import Space, sample
from gridsum.streams import Stream
from tests.model.test_recurrence import EXACT

ALMOST_NOTHING = 1e-300  # and yet no zero, which would compute every cell


def settler(tolerance: float, keep: float = 0.3, seed: int = 0, **changes: Any) -> Network:
    """A network that keeps little of its state, so that it settles."""
    config = dataclasses.replace(EXACT, tolerance=tolerance, **changes)
    network = Network(config, (seed,)).double().requires_grad_(False)
    if network.step.recall is not None:
        network.step.recall.weight[:, : config.width].mul_(keep)
    if network.step.discrete is not None:
        network.step.discrete.fill_(True)
    return network


def symbols_of(problems: int, seed: int = 0) -> torch.Tensor:
    return sample(Space((1, 3), (1, 6)), problems, Stream.of_seeds([seed])).symbols


def state_of(settling: Settling, grid: torch.Tensor) -> torch.Tensor:
    return settling.state[settling.inside].view_as(grid)


@pytest.mark.parametrize(
    "changes", [{}, {"recall": False}, {"query_encoding": False, "heads": 4}, {"kernel": 5}, {"levels": 3}]
)
def test_every_step_is_the_step_of_the_whole_grid(changes):
    network, size = settler(0.0, 1.0, **changes), GridSize(3, 7)
    grid = network.place(symbols_of(4), size)
    settling, remembered = Settling(network, grid, size, 0.0), network.step.remember(grid)
    for _ in range(6):
        grid = network.step(grid, size, remembered=remembered)
        settling.step()
        torch.testing.assert_close(state_of(settling, grid), grid, rtol=1e-10, atol=1e-12)


def test_a_change_is_felt_by_its_neighbours_and_nobody_else():
    """From a fixed point with one cell disturbed, the wave is as wide as the steps it has taken."""
    network, size = settler(1e-9, 0.2), GridSize(3, 25)
    origin = network.place(symbols_of(1), size)
    settling = Settling(network, origin, size, 1e-9)
    while len(settling.active):
        settling.step()
    rest = state_of(settling, origin).clone()
    centre = settling.inside.nonzero().squeeze(1).view(3, 25)[1, 12]
    settling.state[centre] += 0.5
    settling.changed, settling.active = centre[None], centre + settling.offsets
    before = settling.computed
    settling.step()
    assert settling.computed - before == 9
    full = rest.clone()
    full[0, 0, 1, 12] += 0.5
    full = network.step(full, size, remembered=network.step.remember(origin))
    torch.testing.assert_close(state_of(settling, full), full, rtol=0, atol=1e-8)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 50),
    st.integers(1, 6),
    st.sampled_from([0.1, 0.3, 0.6, 1.0]),
    st.integers(1, 5),
    st.sampled_from([0, 2, 3]),
)
def test_answers_steps_and_caps_are_those_of_computing_everything(seed, problems, keep, patience, levels):
    symbols, size = symbols_of(problems, seed), GridSize(3, 8)
    changes = {"patience": patience, "cap_factor": 1, "levels": levels}
    whole, some = (
        infer(settler(tolerance, keep, seed, **changes), symbols, size, "converged")
        for tolerance in (0.0, ALMOST_NOTHING)
    )
    assert torch.equal(some.steps, whole.steps)
    assert torch.equal(some.capped, whole.capped)
    assert torch.equal(some.predicted, whole.predicted)


def test_at_rest_one_more_step_moves_nothing_by_more_than_the_tolerance():
    network, size, tolerance = settler(0.0, 0.2), GridSize(3, 9), 1e-3
    origin = network.place(symbols_of(3), size)
    settling = Settling(network, origin, size, tolerance)
    for _ in range(100):
        settling.step()
    assert len(settling.active) == 0
    rest = state_of(settling, origin)
    further = network.step(rest, size, remembered=network.step.remember(origin))
    assert float((further - rest).abs().max()) <= tolerance + 1e-12


def test_cells_at_rest_cost_nothing():
    network, size = settler(1e-3, 0.2), GridSize(3, 12)
    settling = Settling(network, network.place(symbols_of(4), size), size, 1e-3)
    settling.step()
    assert settling.computed == 4 * 36
    steps = 1
    while len(settling.active):
        settling.step()
        steps += 1
    assert settling.computed < steps * 4 * 36
    before = settling.computed
    settling.step()
    assert settling.computed == before
