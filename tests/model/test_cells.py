"""The network of bits in training: cells in a line compute what whole grids do."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gridsum.config.fields import override
from gridsum.model.cells import Packed, Whole
from gridsum.model.rule import RuleNetwork
from gridsum.training import discovery
from tests.model.test_rule import MANY
from tests.oracles.sizes import SMALL_RULE
from tests.training.test_discovery import OWN, TINY, trained

SIZES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 5)), min_size=2, max_size=2)


def inside_of(sizes: list[list[tuple[int, int]]], dtype: torch.dtype) -> Tensor:
    """[R,B,4,5,1] of the rows and columns of each run's problems: from the top, from the right."""
    inside = torch.zeros(len(sizes), len(sizes[0]), 4, 5, 1, dtype=dtype)
    for run, problems in enumerate(sizes):
        for problem, (rows, columns) in enumerate(problems):
            inside[run, problem, :rows, 5 - columns :] = 1
    return inside


@settings(max_examples=25)
@given(st.lists(SIZES, min_size=1, max_size=3), st.booleans(), st.integers(0, 10**6))
def test_cells_in_a_line_step_as_whole_grids_do(sizes, many, seed):
    """Logits, and every gradient; with soft bits, and each grid of a size of its own."""
    config = MANY if many else SMALL_RULE
    network = RuleNetwork(config, range(len(sizes))).double()
    inside = inside_of(sizes, torch.float64)
    numbers = torch.Generator().manual_seed(seed)
    bits, grid, weight = (
        torch.randn(*inside.shape[:4], size, generator=numbers, dtype=torch.float64)
        for size in (config.bits, config.width, config.bits)
    )
    bits, grid = (bits * inside).requires_grad_(), (grid * inside).requires_grad_()
    whole, packed, found = Whole(network, inside), Packed(network, inside), []
    assert packed.order.shape[1] == inside.sum((1, 2, 3, 4)).max(), "as many as the run with the most"
    assert torch.equal(packed.top_rows(packed.take(grid)), grid[:, :, 0])
    for cells in (whole, packed):
        cell, query = network.meet(cells.take(grid))
        z = cells.step(cell, query, cells.take(bits)) * cells.inside
        unused = ("embedding", "placement", "reading")
        inputs = [bits, grid, *(part for name, part in network.named_parameters() if not name.startswith(unused))]
        found.append([z, *torch.autograd.grad((z * cells.take(weight)).sum(), inputs)])
    found[0][0] = packed.take(found[0][0]) * packed.inside
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("config", [TINY, OWN], ids=["three", "own"])
def test_training_is_the_same_by_either(config, monkeypatch):
    """Through all phases, for a fleet: what is logged, weights and moments."""
    config, states = override(config, {"discovery.batch": 12}), []
    for kind in (Packed, Whole):
        monkeypatch.setattr(discovery, "cells_of", kind)
        states.append(trained(config, (3, 8)))
    torch.testing.assert_close(*states, rtol=1e-4, atol=1e-5)
