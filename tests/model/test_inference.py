"""Halting at evaluation, and traces, against the definitions."""

from typing import Any

import pytest
import torch

from gridsum.config.fields import override
from gridsum.config.variants import variant
from gridsum.data.problems import batch_of
from gridsum.model import paper
from gridsum.model.inference import infer
from gridsum.model.rollout import Network
from gridsum.ops.grids import GridSize
from tests.oracles.column_addition import ADD
from tests.oracles.sizes import SMALLEST
from tests.oracles.traces import traced

SIZE = GridSize(3, 6)


def network(name="base", seeds=(0,), **changes: Any):
    return Network(override(variant(name), {**SMALLEST, **changes}).model, seeds).requires_grad_(False)


def symbols(*expressions):
    return batch_of([ADD.parse(expression) for expression in expressions]).symbols


def states(net, batch, steps):
    """λ_n [R,B] and the symbols read [R,B,W] at n = 0 … steps, step by step from the definition."""
    grid, context = net.place(batch, SIZE), net.context.start(batch.shape[1])
    for n in range(steps + 1):
        grid = net.step(grid) if n else grid
        context, halting = net.context(context, grid, None)
        yield halting, net.read(grid[:, :, 0]).argmax(-1)


@pytest.mark.parametrize("rule", ["sampled", "median"])
def test_halting_is_the_definition(rule):
    """At the first draw below λ, or as soon as having halted is likelier than not."""
    net = network(seeds=(0, 1))
    with torch.no_grad():  # λ near 0.1, so that either takes some steps
        net.context.decision.layers[-1].weight.mul_(0.1)
        net.context.decision.layers[-1].bias.fill_(-2.2)
    batch = symbols("12+34", "5+6+7", "999").expand(2, -1, -1)
    draws = torch.rand(2, 3, 50, generator=torch.Generator().manual_seed(1))
    outcome = infer(net, batch, SIZE, rule, draws)
    steps, read, survival = torch.full((2, 3), -1), torch.zeros(2, 3, SIZE.width, dtype=torch.int64), 1.0
    for n, (halting, seen) in enumerate(states(net, batch, 49)):
        survival = survival * (1 - halting)
        now = (steps < 0) & (draws[..., n] < halting if rule == "sampled" else survival <= 0.5)
        steps[now], read[now] = n, seen[now]
    assert (steps >= 0).all()
    assert len(steps.unique()) > 1 or (rule == "median" and steps.min() > 3)
    assert torch.equal(outcome.steps, steps)
    assert torch.equal(outcome.predicted, read)
    assert not outcome.capped.any()


def test_problems_that_have_halted_in_every_run_leave_unless_someone_looks_on(monkeypatch):
    """Problem n halts after n steps in the first run, and not after the second step in the other."""
    net, problems = network(seeds=(0, 1)), 8
    batch = symbols(*(f"{n}+{n}" for n in range(problems))).expand(2, -1, -1)
    last = torch.stack((torch.arange(problems), torch.arange(problems).clamp_max(2)))
    draws = torch.where(torch.arange(50) == last[..., None], 0.0, 1.0)
    computed, attend = [], paper.attend
    monkeypatch.setattr(paper, "attend", lambda *given: computed.append(given[0].shape[1]) or attend(*given))
    alone = infer(net, batch, SIZE, "sampled", draws)
    assert computed == [7, 6, 5, 4, 3, 2, 1]
    computed.clear()
    seen = infer(net, batch, SIZE, "sampled", draws, watch=lambda moment: computed.append(moment.grid.shape[1]))
    assert set(computed) == {problems}
    assert torch.equal(alone.steps, last)
    assert torch.equal(seen.steps, last)
    assert torch.equal(alone.predicted, seen.predicted)


def test_a_network_that_never_halts_is_stopped_and_says_so():
    net = network("base", **{"model.max_evaluation_steps": 4})
    with torch.no_grad():
        net.context.decision.layers[-1].weight.zero_()
        net.context.decision.layers[-1].bias.fill_(-30)
    outcome = infer(net, symbols("1+2"), SIZE, "median")
    assert outcome.steps.tolist() == [[4]]
    assert outcome.capped.all()
    *_, (_, read) = states(net, symbols("1+2"), 4)
    assert torch.equal(outcome.predicted, read)


def test_fixed_halting_takes_the_steps_it_was_trained_with():
    net = network("fixedTime", **{"model.fixed_steps": 3})
    batch = symbols("12+34")
    outcome = infer(net, batch, SIZE, "fixed")
    grid = net.place(batch, SIZE)
    for _ in range(3):
        grid = net.step(grid)
    assert torch.equal(outcome.predicted, net.read(grid[:, :, 0]).argmax(-1))
    assert outcome.steps.tolist() == [[3]]


@pytest.mark.parametrize("hard", [False, True])
def test_a_trace_shows_the_computation_itself(hard):
    net = network("SASA", **{"model.heads": 4})
    batch = symbols("12+34+5")
    seen = traced(net, batch[0, 0], SIZE, 3, hard)
    grid = net.place(batch, SIZE, hard)
    assert seen.grids.shape == (4, 3, 6, 16)
    survival = 1.0
    context = net.context.start(1)
    for n in range(4):
        torch.testing.assert_close(seen.grids[n], grid[0, 0])
        torch.testing.assert_close(seen.decoded[n], net.read(grid)[0, 0].softmax(-1))
        context, halting = net.context(context, grid, None)
        assert float(seen.halting[n]) == pytest.approx(float(halting))
        assert float(seen.probability[n]) == pytest.approx(survival * float(halting), rel=1e-5)
        survival *= 1 - float(halting)
        grid = net.step(grid)
    torch.testing.assert_close(seen.actions.sum(-1), torch.ones(batch.shape[-1]))
