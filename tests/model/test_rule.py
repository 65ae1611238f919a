"""The network of bits: one rule, whether on grids or on contexts, alone or in a fleet."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from gridsum.automaton.rule import LearnedRule, RuleError, agreement
from gridsum.model.rule import RuleNetwork, soft_bits
from gridsum.tasks import FIRST_DIGIT
from tests.oracles.column_addition import ADD, CELL_SYMBOLS
from tests.oracles.sizes import SMALL_RULE

OTHER_ORDER = dataclasses.replace(SMALL_RULE, neighbours="below left right")
MANY = dataclasses.replace(SMALL_RULE, neighbours="below own left above right")
BITS = torch.arange(SMALL_RULE.bits)


def vectors_of(network: RuleNetwork, symbols: torch.Tensor) -> torch.Tensor:
    """The vectors [R,B,H,W,E] of symbols of cells [B,H,W]."""
    table = F.pad(network.vectors()[:, FIRST_DIGIT : ADD.alphabet.sign_symbol + 1], (0, 0, 0, 1))
    return table[:, symbols]


@torch.no_grad()
def grid_step(network: RuleNetwork, symbols: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
    """One step of grids [R,B,H,W] of codes, by the network itself."""
    bits = ((codes[..., None] >> BITS) & 1).to(network.embedding.weight.dtype) * 2 - 1
    z = network.step(*network.meet(vectors_of(network, symbols)), bits)
    return ((z > 0).long() << BITS).sum(-1)


def cell_by_cell(rule: LearnedRule, symbols: torch.Tensor, codes: torch.Tensor) -> list[list[int]]:
    """The same of one grid [H,W], each cell from its context."""
    height, width = symbols.shape

    def at(i: int, j: int) -> int:
        return int(codes[i, j]) if i < height and 0 <= j < width else rule.outside

    contexts = [[at(i, j - 1), at(i, j + 1), at(i + 1, j)] for i in range(height) for j in range(width)]
    return rule(symbols.flatten(), torch.tensor(contexts)).view(height, width).tolist()


def networks(dtype: torch.dtype) -> list[RuleNetwork]:
    """Two runs each, with the neighbours in two orders."""
    return [RuleNetwork(config, [3, 8]).to(dtype) for config in (SMALL_RULE, OTHER_ORDER)]


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5), st.sampled_from([torch.float32, torch.float64]))
def test_on_contexts_the_rule_is_the_networks_step_on_grids(seed, height, width, dtype):
    """Whether it was asked before or not."""
    numbers = torch.Generator().manual_seed(seed)
    symbols = torch.randint(len(CELL_SYMBOLS), (2, height, width), generator=numbers)
    codes = torch.randint(2**SMALL_RULE.bits, (2, 2, height, width), generator=numbers)
    for network in networks(dtype):
        expected = grid_step(network, symbols, codes)
        for run in range(2):
            rule = LearnedRule(network.alone(run))
            for problem in range(2):
                found = cell_by_cell(rule, symbols[problem], codes[run, problem])
                assert found == expected[run, problem].tolist()
            rule.step(symbols, torch.zeros_like(symbols))
            for _ in ("with states that were not met before", "again"):
                assert torch.equal(rule.step(symbols, codes[run]), expected[run])


def test_a_network_that_leaves_its_table_is_told_apart():
    """In every entry, here of an untrained network, which leads out of the codes that it comes to rest in."""
    rule = LearnedRule(RuleNetwork(SMALL_RULE, [1]))
    table = rule.table()
    codes = torch.tensor([*table.states, rule.outside])
    entries = torch.tensor(list(np.ndindex(*table.steps.shape)))
    after = rule(entries[:, 0], codes[entries[:, 1:]])
    different = int((after != codes[torch.tensor(table.steps.reshape(-1).astype(int))]).sum())
    found = agreement(rule, table)
    assert (found.entries, found.different) == (table.steps.size, different)
    assert found.margin >= 0
    whole = rule.table(range(rule.outside))
    assert agreement(rule, whole).different == 0


@torch.no_grad()
def test_nothing_is_seen_of_what_lies_outside():
    """Whatever the bits there are: a part of a larger grid is stepped as the grid of its size."""
    network = RuleNetwork(SMALL_RULE, [2, 5])
    numbers = torch.Generator().manual_seed(1)
    symbols = torch.randint(len(CELL_SYMBOLS), (2, 5, 6), generator=numbers)
    bits = torch.randn(2, 2, 5, 6, SMALL_RULE.bits, generator=numbers).sign()
    inside = torch.zeros(2, 2, 5, 6, 1)
    inside[:, :, :3, 2:] = 1  # rows from the top, columns from the right
    whole = network.step(*network.meet(vectors_of(network, symbols)), bits, inside)[:, :, :3, 2:]
    small = network.step(*network.meet(vectors_of(network, symbols[:, :3, 2:])), bits[:, :, :3, 2:])
    torch.testing.assert_close(whole, small)
    unmasked = network.step(*network.meet(vectors_of(network, symbols)), bits)[:, :, :3, 2:]
    assert not torch.allclose(unmasked, small)
    keys, values = network.show(bits, inside)
    assert not keys[:, :, 3:].any()
    assert not values[:, :, :, :2].any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_soft_bits(dtype):
    z = torch.tensor([-9.0, -1.0, 0.0, 0.5, 9.0], dtype=dtype, requires_grad=True)
    noise = torch.tensor([0.0, 2.0, 0.0, -1.0, 0.0], dtype=dtype)
    soft = soft_bits(z, noise, hard=False)
    between = [min(1.0, max(0.0, 1.2 / (1 + 2.718281828459045**-v) - 0.1)) for v in (-9.0, 1.0, 0.0, -0.5, 9.0)]
    assert soft.dtype == dtype
    assert soft.tolist() == pytest.approx(between, abs=1e-6)
    hard = soft_bits(z, noise, hard=True)
    assert hard.tolist() == pytest.approx([0, 1, 0, 0, 1], abs=1e-6)
    weight = torch.arange(1.0, 6, dtype=dtype)
    gradients = [torch.autograd.grad((bits * weight).sum(), z)[0] for bits in (soft, hard)]
    assert torch.equal(*gradients)
    assert gradients[0][[0, 4]].tolist() == [0, 0], "saturated"
    assert (gradients[0][1:4] > 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_run_of_a_fleet_alone(dtype):
    fleet = RuleNetwork(MANY, [4, 7]).to(dtype)
    fleet.decided[1] = True
    single = fleet.alone(1)
    assert single.runs == 1
    assert single.embedding.weight.dtype == dtype
    assert list(single.state_dict()) == list(fleet.state_dict())
    for name, tensor in single.state_dict().items():
        assert torch.equal(tensor[0], fleet.state_dict()[name][1]), name
    with torch.no_grad():
        single.embedding.weight.zero_()
    assert fleet.embedding.weight.any(), "it is a copy"


def test_what_has_no_rule_says_why():
    with pytest.raises(RuleError, match="this network has 2"):
        LearnedRule(RuleNetwork(SMALL_RULE, [0, 1]))
    with pytest.raises(RuleError, match=r"this run's see left, right$"):
        LearnedRule(RuleNetwork(dataclasses.replace(SMALL_RULE, neighbours="left right"), [0]))
