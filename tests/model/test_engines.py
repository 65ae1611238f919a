"""The eager engine's shortcuts against the plain path, which is the paper's file itself."""

import dataclasses

import pytest
import torch

from gridsum.config.paper import ModelConfig, ObjectiveConfig
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.model.engine import engine_of
from gridsum.model.engine.eager import Eager
from gridsum.model.engine.plain import Plain
from gridsum.model.paper import GridSize, Linear, Network
from gridsum.model.unroll import roll_out, unroll
from gridsum.objective.paper import cost

SEEDS = (3, 5, 8)
PONDER = ModelConfig(
    width=16,
    groups=4,
    heads=8,
    placement_hidden=8,
    step_hidden=12,
    max_steps=9,
    context_heads=4,
    context_hidden=8,
    halting_hidden=8,
)
FIXED = dataclasses.replace(PONDER, halting="fixed", fixed_steps=3)
BATCH = sample(Space((1, 3), (1, 3)), 7, Stream.of_seeds(SEEDS))
SIZES = {
    "whole": GridSize(4, 6),
    "masked": GridSize(4, 6, torch.tensor([[2, 3], [4, 4], [3, 6]], dtype=torch.int32)),
}


def network_of(config: ModelConfig) -> Network:
    network = Network(config, SEEDS).double()
    if network.context is not None:
        with torch.no_grad():  # halting that hangs on the sample, and on the run
            decision = network.context.decision.layers[-1]
            assert isinstance(decision, Linear)
            decision.weight.mul_(6)
            decision.bias.add_(torch.tensor([[1.0], [-0.5], [0.0]]))
    return network


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dropout", [False, True])
@pytest.mark.parametrize("config", [PONDER, FIXED], ids=["ponder", "fixed"])
def test_a_rollout_and_its_gradient_are_the_plain_ones(config, dropout, size):
    """Samples leave the batch, some with the top row of their last step alone, and nothing that counts changes."""
    outcomes = []
    for make in (Plain, Eager):
        network, grids = network_of(config), SIZES[size]
        source = Stream.of_seeds(SEEDS) if dropout else None
        rollout = roll_out(make(network), BATCH.symbols, grids, source, largest=(5, 7))
        columns = None if grids.inside is None else grids.inside[:, 0]
        spent = cost(rollout, BATCH.targets_for(6), ObjectiveConfig(success="expected"), columns)
        outcomes.append((rollout, spent, torch.autograd.grad(spent.total.sum(), list(network.parameters()))))
    (plain, expected, by_plain), (eager, found, by_eager) = outcomes
    assert plain.steps == eager.steps
    assert torch.equal(plain.truncation, eager.truncation)
    assert config is FIXED or len(plain.truncation.unique()) > 2, "some leave early"
    torch.testing.assert_close(eager.probability, plain.probability, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found.total, expected.total, rtol=1e-10, atol=1e-12)
    for ours, theirs in zip(by_eager, by_plain, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-10)


@torch.no_grad()
@pytest.mark.parametrize("hard", [False, True])
def test_the_grids_of_solving_are_the_plain_ones(hard):
    network = network_of(PONDER).requires_grad_(False)
    computed = (list(unroll(make(network), BATCH.symbols, SIZES["whole"], 5, hard)) for make in (Plain, Eager))
    for plain, eager in zip(*computed, strict=True):
        torch.testing.assert_close(eager.grid, plain.grid, rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(eager.halting, plain.halting, rtol=1e-9, atol=1e-12)


def test_a_cpu_is_served_by_the_eager_engine():
    assert isinstance(engine_of(Network(PONDER)), Eager)
