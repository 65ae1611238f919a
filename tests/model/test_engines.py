"""The shortcuts of rollouts on a CPU against the plain definition."""

import dataclasses

import pytest
import torch

from gridsum.config.paper import ModelConfig, ObjectiveConfig
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.model.paper import Linear, Network
from gridsum.model.rollout import Start, roll_out, unroll
from gridsum.objective.paper import cost
from gridsum.ops.grids import GridSize

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
    for form in ("plain", "cpu"):
        network, grids = network_of(config), SIZES[size]
        source = Stream.of_seeds(SEEDS) if dropout else None
        rollout = roll_out(network, BATCH.symbols, grids, source, largest=(5, 7), form=form)
        columns = None if grids.inside is None else grids.inside[:, 0]
        spent = cost(rollout, BATCH.targets_for(6), ObjectiveConfig(success="expected"), columns)
        outcomes.append((rollout, spent, torch.autograd.grad(spent.total.sum(), list(network.parameters()))))
    (plain, expected, by_plain), (fast, found, by_fast) = outcomes
    assert plain.steps == fast.steps
    assert torch.equal(plain.truncation, fast.truncation)
    assert config is FIXED or len(plain.truncation.unique()) > 2, "some leave early"
    torch.testing.assert_close(fast.probability, plain.probability, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found.total, expected.total, rtol=1e-10, atol=1e-12)
    for ours, theirs in zip(by_fast, by_plain, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-10)


@torch.no_grad()
@pytest.mark.parametrize("hard", [False, True])
def test_the_grids_of_solving_are_the_plain_ones(hard):
    network = network_of(PONDER).requires_grad_(False)
    start = Start(network, BATCH.symbols, SIZES["whole"], 5, hard)
    computed = (list(unroll(dataclasses.replace(start, form=form))) for form in ("plain", "cpu"))
    for plain, fast in zip(*computed, strict=True):
        torch.testing.assert_close(fast.grid, plain.grid, rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(fast.halting, plain.halting, rtol=1e-9, atol=1e-12)
