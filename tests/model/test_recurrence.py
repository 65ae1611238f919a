"""What training adds to a rollout beyond the paper: recall, noise, restarts, certain placement."""

import dataclasses

import pytest
import torch

from gridsum.config import ModelConfig
from gridsum.model.layers import Cells, StateNoise
from gridsum.model.network import Network
from gridsum.model.rollout import Beginning, GridSize
from gridsum.problems import Space, sample
from gridsum.streams import Stream, lane_index

EXACT = ModelConfig(
    width=16,
    groups=4,
    heads=8,
    placement_hidden=8,
    step_hidden=12,
    context_heads=4,
    dropout=0.0,
    recall=True,
    harden=True,
    halting="converge",
    train_steps=(2, 4),
)
SIZE = GridSize(3, 5)


def network_of(seeds=(0,), **changes) -> Network:
    return Network(dataclasses.replace(EXACT, **changes), seeds).double().requires_grad_(False)


def symbols_of(seeds, problems: int = 4) -> torch.Tensor:
    return sample(Space((1, 3), (1, 3)), problems, Stream.of_seeds(seeds)).symbols


def steps_from(network: Network, grid: torch.Tensor, origin: torch.Tensor, steps: int) -> list[torch.Tensor]:
    """G_1 … G_steps, each from the definition."""
    grids = []
    for _ in range(steps):
        recalled = network.step.recall(torch.cat((grid, origin), -1))
        grid = network.step.transition(recalled, network.step.attention(recalled))
        grids.append(grid)
    return grids


def test_recall_in_two_parts_is_one_linear_layer_of_both_grids():
    network = network_of((0, 1))
    generator = torch.Generator().manual_seed(0)
    grid, origin = torch.randn(2, 2, 3, 3, 4, 16, generator=generator, dtype=torch.float64)
    (expected,) = steps_from(network, grid, origin, 1)
    remembered = network.step.remember(origin)
    torch.testing.assert_close(network.step(grid, remembered=remembered), expected)
    torch.testing.assert_close(network.step.observe(grid, remembered)[0], expected)


def test_a_step_that_recalls_asks_for_what_it_recalls():
    network = network_of()
    with pytest.raises(ValueError, match=r"step\.remember"):
        network.step(network.place(symbols_of([0]), SIZE))


def test_a_network_without_recall_remembers_nothing():
    network = network_of(recall=False)
    assert network.step.remember(network.place(symbols_of([0]), SIZE)) is None


def test_a_rollout_is_read_after_every_step():
    network, symbols = network_of(), symbols_of([0])
    origin = network.place(symbols, SIZE)
    rollout = network(symbols, SIZE, steps=3)
    expected = [network.read(grid[:, :, 0]) for grid in steps_from(network, origin, origin, 3)]
    assert list(rollout.steps) == [1, 2, 3]
    torch.testing.assert_close(rollout.logits, torch.stack(expected))
    assert rollout.halting is None
    assert rollout.probability[:, 0, 0].tolist() == [0, 0, 1]
    assert (rollout.truncation == 3).all()
    assert len(network(symbols, SIZE).steps) == 4, "the most of train_steps, if none are given"


def test_noise_follows_every_step_and_is_a_function_of_seed_step_and_cell():
    network, symbols = network_of((2, 6), state_noise=0.3), symbols_of((2, 6))
    source = Stream.of_seeds((2, 6))
    rollout = network(symbols, SIZE, source, 3, largest=(4, 7))
    origin = grid = network.place(symbols, SIZE)
    # Cells are numbered on the largest grid, from whose upper right the grid is taken.
    numbers = torch.arange(4 * 4 * 7).view(4, 4, 7)[:, :3, 2:]
    for n in range(3):
        (grid,) = steps_from(network, grid, origin, 1)
        grid = grid + 0.3 * source.fold(1).fold(n).normal(lane_index(numbers, 16)).double()
        torch.testing.assert_close(rollout.logits[n], network.read(grid[:, :, 0]))
    silent = network(symbols, SIZE, steps=3)
    assert not torch.allclose(silent.logits, rollout.logits)
    assert torch.equal(silent.logits, network_of((2, 6))(symbols, SIZE, source, 3).logits)


def test_mixing_moves_every_cell_towards_the_same_cell_of_another_problem():
    network, symbols = network_of((2, 6), state_mixing=0.4), symbols_of((2, 6))
    source = Stream.of_seeds((2, 6))
    rollout = network(symbols, SIZE, source, 3, largest=(4, 7))
    origin = grid = network.place(symbols, SIZE)
    numbers = torch.arange(4 * 4 * 7).view(4, 4, 7)[:, :3, 2:]
    partners = [[3, 0, 1, 2], [2, 3, 0, 1], [1, 2, 3, 0]]  # another problem at every step, and never itself
    for n in range(3):
        (grid,) = steps_from(network, grid, origin, 1)
        lanes = source.fold(1).fold(n).fold(1).lanes(lane_index(numbers, 4))[..., :1]
        share = (lanes.double() + 2**15) / 2**16
        assert share.min() >= 0
        assert share.max() < 1
        assert share.unique().numel() > share.numel() / 2, "every cell has a share of its own"
        grid = grid + 0.4 * share * (grid[:, partners[n]] - grid)
        torch.testing.assert_close(rollout.logits[n], network.read(grid[:, :, 0]))


def test_no_gradient_flows_to_the_problem_that_another_is_mixed_with():
    cells = Cells(torch.arange(2 * 3).view(2, 3, 1))
    grid = torch.randn(1, 2, 3, 1, 4, dtype=torch.float64, requires_grad=True)
    StateNoise(Stream.of_seeds([0]), cells, 0.0, 0.4)(grid, 0)[:, 0].sum().backward()
    assert grid.grad is not None
    assert (grid.grad[:, 1] == 0).all()
    assert (grid.grad[:, 0] > 0.6).all(), "what is left of the problem's own"
    assert (grid.grad[:, 0] <= 1).all()


def test_a_problem_alone_is_mixed_with_none():
    grid = torch.randn(1, 1, 3, 1, 4, dtype=torch.float64)
    mixed = StateNoise(Stream.of_seeds([0]), Cells(torch.arange(3).view(1, 3, 1)), 0.0, 0.4)(grid, 5)
    torch.testing.assert_close(mixed, grid)


def test_restarted_problems_begin_where_their_steps_have_led_them():
    network, symbols = network_of(), symbols_of([0], 5)
    origin = network.place(symbols, SIZE)
    before = [origin, *steps_from(network, origin, origin, 3)]
    taken = [3, 1, 2]
    rollout = network(symbols, SIZE, steps=2, beginning=Beginning(torch.tensor([taken]), 3))
    begun = torch.stack([before[n][:, problem] for problem, n in enumerate([*taken, 0, 0])], 1)
    expected = [network.read(grid[:, :, 0]) for grid in steps_from(network, begun, origin, 2)]
    torch.testing.assert_close(rollout.logits, torch.stack(expected))


def test_strangers_begin_from_the_next_restarted_problem_and_recall_their_own():
    network, symbols = network_of(), symbols_of([0], 4)
    origin = network.place(symbols, SIZE)
    before = [origin, *steps_from(network, origin, origin, 2)]
    rollout = network(symbols, SIZE, steps=2, beginning=Beginning(torch.tensor([[2, 1, 2]]), 2, strangers=2))
    begun = torch.stack([before[1][:, 1], before[2][:, 2], before[2][:, 2], origin[:, 3]], 1)
    expected = [network.read(grid[:, :, 0]) for grid in steps_from(network, begun, origin, 2)]
    torch.testing.assert_close(rollout.logits, torch.stack(expected))


def test_terms_that_are_moved_apart_are_recalled_where_they_are():
    network, symbols = network_of((2, 6)), symbols_of((2, 6), 3)
    rows = torch.tensor([[[0, 2], [0, 1]], [[0, 1], [0, 2]]])
    rollout = network(symbols, SIZE, steps=2, beginning=Beginning(rows=rows))
    placed = network.place(symbols, SIZE)
    origin = placed.clone()
    for run, problems in enumerate(rows.tolist()):
        for problem, (first, second) in enumerate(problems):
            origin[run, problem] = 0
            origin[run, problem, first] = placed[run, problem, 0]
            origin[run, problem, second] = placed[run, problem, 1]
    expected = [network.read(grid[:, :, 0]) for grid in steps_from(network, origin, origin, 2)]
    torch.testing.assert_close(rollout.logits, torch.stack(expected))
    assert not torch.equal(rollout.logits[:, :, :2], network(symbols, SIZE, steps=2).logits[:, :, :2])


def test_no_gradient_flows_through_the_steps_before_a_restart():
    """With the state of restarted problems taken as given, the gradient is the same."""
    symbols = symbols_of([0], 4)
    gradients = []
    for given in (False, True):
        network = network_of().requires_grad_(True)
        if given:
            origin = network.place(symbols, SIZE)
            begun = torch.cat((steps_from(network, origin, origin, 2)[-1][:, :2].detach(), origin[:, 2:]), 1)
            logits = torch.stack([network.read(grid[:, :, 0]) for grid in steps_from(network, begun, origin, 2)])
        else:
            logits = network(symbols, SIZE, steps=2, beginning=Beginning(torch.full((1, 2), 2), 2)).logits
        gradients.append(torch.autograd.grad(logits.square().sum(), list(network.parameters())))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_certain_problems_are_placed_by_their_most_probable_actions():
    network, symbols = network_of(), symbols_of([0], 5)
    soft, hard = (network.place(symbols, SIZE, hard) for hard in (False, True))
    mixed = network.place(symbols, SIZE, certain=2)
    torch.testing.assert_close(mixed, torch.cat((soft[:, :3], hard[:, 3:]), 1), rtol=0, atol=0)
    assert not torch.allclose(soft[:, 3:], hard[:, 3:])
    torch.testing.assert_close(network.place(symbols, SIZE, certain=5), hard, rtol=0, atol=0)


def test_a_hardened_run_places_as_it_did_whatever_becomes_of_its_vectors():
    network, symbols = network_of((0, 1)), symbols_of((0, 1))
    assert network.placement.decided is not None
    soft, chosen = network.actions(symbols), network.actions(symbols).argmax(-1)
    network.placement.harden(network.embedding.weight, torch.tensor([False, True]))
    assert (network.placement.decided[0] == -1).all()
    actions = network.actions(symbols)
    torch.testing.assert_close(actions[0], soft[0], rtol=0, atol=0)
    assert torch.equal(actions[1], torch.nn.functional.one_hot(chosen[1], 3).double())
    expected, hard = (network.place(symbols, SIZE, hard)[1] for hard in (False, True))
    torch.testing.assert_close(expected, hard, rtol=0, atol=0)
    with torch.no_grad():
        network.embedding.weight.mul_(-1)
    assert torch.equal(network.actions(symbols)[1].argmax(-1), chosen[1])
    decided = network.placement.decided[1].clone()
    network.placement.harden(network.embedding.weight, torch.tensor([True, True]))
    assert torch.equal(network.placement.decided[1], decided), "what is decided stays so"
    assert (network.placement.decided[0] >= 0).all()


def test_a_hardened_placement_learns_no_more():
    network, symbols = network_of(), symbols_of([0])
    network.placement.harden(network.embedding.weight, torch.tensor([True]))
    network.requires_grad_(True)
    network(symbols, SIZE).logits.square().sum().backward()
    assert all((parameter.grad == 0).all() for parameter in network.placement.parameters())
    assert (network.embedding.weight.grad != 0).any()
