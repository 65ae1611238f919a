"""A fleet's gradients are those of its runs alone; grids are drawn as the paper says."""

import pytest
import torch

from gridsum.config.fields import override
from gridsum.config.variants import VARIANTS, variant
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.model.rollout import Network
from gridsum.objective.paper import cost, sampled_success
from gridsum.ops.forms import by_blas_alone
from gridsum.ops.grids import GridSize, side_by_side
from gridsum.training.gradients import EagerGradients, draw_grid, part_gradient
from gridsum.training.optimiser import AdamW
from tests.oracles.sizes import SMALLEST

TINY = SMALLEST | {
    "model.max_steps": 6,
    "model.fixed_steps": 3,
    "training.batch": 8,
    "task.digits": (1, 3),
}


def tiny(name, **changes):
    return override(variant(name), {**TINY, **changes})


@pytest.mark.parametrize(("name", "dropout"), [("base", 0.1), ("fixedTime", 0.1), ("ponderReg", 0.0)])
def test_a_fleet_trains_each_run_as_if_alone(name, dropout):
    """Four steps, with each run's own problems, grid sizes, dropout and clipping.

    In double precision: Adam turns the rounding of a gradient near zero into a step of full size.
    """
    config = tiny(name, **{"model.dropout": dropout})
    seeds = (3, 8)

    def trained(seeds):
        network = Network(config.model, seeds).double()
        gradients = EagerGradients(network, config, seeds)
        optimiser = AdamW(network, config.training)
        costs = []
        for number in range(4):
            result = gradients(number)
            optimiser.update(result.gradient, torch.tensor(number), torch.ones(len(seeds), dtype=torch.bool))
            costs.append(result.costs["total"])
        return torch.stack(costs), optimiser.weights

    costs, weights = trained(seeds)
    for run, seed in enumerate(seeds):
        alone_costs, alone_weights = trained((seed,))
        torch.testing.assert_close(costs[:, run], alone_costs[:, 0], rtol=0, atol=1e-6)
        torch.testing.assert_close(weights[run], alone_weights[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["base", "SASA", "fixedTime"])
def test_static_shapes_and_a_number_of_steps_change_nothing(name):
    """What a GPU computes (the largest grid, masked, for a given number of steps) is what the CPU does."""
    config = tiny(name)
    network = Network(config.model, (0, 1))
    stream = Stream.of_seeds((0, 1)).fold(4)
    for group in range(2):
        own = part_gradient(network, config, stream, group, None, static=False)
        steps = None if name == "fixedTime" else config.model.max_steps
        static = part_gradient(network, config, stream, group, steps, static=True)
        torch.testing.assert_close(static.costs["total"], own.costs["total"])
        torch.testing.assert_close(static.gradient, own.gradient, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("onednn", [True, False], ids=["oneDNN", "no oneDNN"])
def test_without_mkl_onednn_takes_no_part_in_a_step_and_its_gradient(onednn, monkeypatch):
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", onednn)
    config, seen = tiny("base"), []
    network = Network(config.model)
    for weight in (network.embedding.weight, network.output.weight):  # the last gradient, and the first
        weight.register_hook(lambda _: seen.append(torch.backends.mkldnn.enabled))
    part_gradient(network, config, Stream.of_seeds((0,)), 0, None, static=False)
    assert seen == [False, False]
    with pytest.raises(ZeroDivisionError), by_blas_alone():
        raise ZeroDivisionError
    assert torch.backends.mkldnn.enabled == onednn, "as it was, after an error too"
    monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
    with by_blas_alone():
        assert torch.backends.mkldnn.enabled == onednn


@pytest.mark.parametrize("form", ["plain", "cpu"])
def test_a_draw_needs_no_rollout_beyond_it(form):
    """Samples leave at the step they are drawn to halt at, and what they are worth there is what it was."""
    config = tiny("base", **{"model.max_steps": 20})
    network = Network(config.model, (3, 5)).double()
    with torch.no_grad():  # λ near 0.1: many steps, and some samples reach the last
        network.context.decision.layers[-1].bias.fill_(-2)
    batch = sample(Space((1, 2), (1, 3)), 60, Stream.of_seeds((3, 5)).fold(0))
    size = GridSize(3, 6)
    targets, draws = batch.targets_for(size.width), Stream.of_seeds((3, 5)).fold(1).uniform(60)
    draws[0, 0], draws[1, 0] = 0.0, 1 - 2.0**-24
    whole = network(batch.symbols, size, form=form)
    short = network(batch.symbols, size, epsilon=(1 - draws).clamp_min(0.05), form=form)
    assert torch.equal(sampled_success(short, targets, draws), sampled_success(whole, targets, draws))
    drawn = (whole.probability.cumsum(0) <= draws).sum(0)
    assert (short.truncation - drawn).unique().tolist() == [0, 1]
    assert short.truncation.double().mean() < 0.6 * whole.truncation.double().mean()


def test_too_few_steps_are_noticed():
    config = tiny("base")
    network = Network(config.model, (0,))
    with torch.no_grad():  # λ near 0: nothing halts
        network.context.decision.layers[-1].bias.fill_(-10)
    stream = Stream.of_seeds((0,))
    assert part_gradient(network, config, stream, 0, 2, static=True).truncation.tolist()[1] == 1
    assert part_gradient(network, config, stream, 0, 6, static=True).truncation.tolist() == [6, 0]
    with torch.no_grad():  # λ near 1: everything halts at once
        network.context.decision.layers[-1].bias.fill_(10)
    assert part_gradient(network, config, stream, 0, 2, static=True).truncation.tolist() == [1, 0]


def test_grids_are_as_large_as_the_paper_says():
    """H = N + F_H + R_H and W = D + F_W + R_W, with R uniform in {0..3}, for each run its own."""
    config, space = variant("base"), Space((3, 4), (1, 10))
    assert config.task.largest_grid(space) == (8, 16)
    runs = 4000
    size = draw_grid(space, config.task, Stream.of_seeds(range(runs)), static=True)
    rows, columns = size.inside.any(2).sum(1), size.inside.any(1).sum(1)
    for drawn, low in ((rows, 5), (columns, 13)):
        counts = torch.bincount(drawn - low, minlength=4)
        assert counts.shape == (4,)
        assert (counts - runs / 4).abs().max() < 5 * (runs * 3 / 16) ** 0.5
    # rows from the top, columns from the right
    run = int(((rows == 5) & (columns == 13)).nonzero()[0])
    assert size.inside[run, :5, 3:].all()
    assert int(size.inside[run].sum()) == 65
    alone = draw_grid(space, config.task, Stream.of_seeds([2]), static=False)
    assert alone.inside is None, "a lone run's grid fills the whole"


@pytest.mark.parametrize("name", VARIANTS)
def test_the_first_problems_of_the_trainings_in_the_repository(name):
    """Which no change of the streams may touch: of seeds 0 and 2, the first and last of each group."""
    task = variant(name).task
    drawn = []
    for group, space in enumerate(task.groups):
        batch = sample(space, 64, Stream.of_seeds([0, 2]).fold(0).fold(group).fold(0))
        drawn += [batch.expression(run, problem) for run in range(2) for problem in (0, 63)]
    assert drawn == [
        *("53045030+024=", "088084=", "90+712861727=", "83376+056141="),
        *("73+603212224+927251606+23537=", "7075517281+68234+906="),
        *("502219475+11855435+642=", "71183365+51460706+45435432+983846609="),
    ]


@pytest.mark.parametrize("bounds", [(2,), (1, 2)], ids=["two groups", "three groups"])
def test_the_gradient_is_that_of_the_mean_cost_of_the_groups(bounds):
    """From each group's rollout and cost by hand; the draw of success is of a pass without dropout."""
    config = tiny("base", **{"task.bucket_bounds": bounds, "training.batch": 12})
    seeds = (3, 5)
    network = Network(config.model, seeds).double()
    found = EagerGradients(network, config, seeds)(7)
    totals = []
    for group, space in enumerate(config.task.groups):
        source = Stream.of_seeds(seeds).fold(7).fold(group)
        size = draw_grid(space, config.task, source, static=False)
        batch = sample(space, 12 // len(config.task.groups), source.fold(0))
        targets, columns = batch.targets_for(size.width), None if size.inside is None else size.inside[:, 0]
        rollout = network(batch.symbols, size, source.fold(3), form="plain")
        draws = source.fold(4).uniform(12 // len(config.task.groups))
        success = sampled_success(network(batch.symbols, size, form="plain"), targets, draws, columns)
        totals.append(cost(rollout, targets, config.objective, columns, success).total)
    total = torch.stack(totals).mean(0)
    expected = side_by_side(torch.autograd.grad(total.sum(), list(network.parameters())))
    torch.testing.assert_close(found.costs["total"], total.detach())
    torch.testing.assert_close(found.gradient, expected, rtol=1e-7, atol=1e-10)
