"""What a step costs, counted: torch's own counter is the oracle."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from gridsum.config.variants import variant
from gridsum.model.engine.attention import block_matrix
from gridsum.model.engine.eager import Eager
from gridsum.model.paper import GridSize, Network
from gridsum.ops.costs import cells_of_a_step, operations


@pytest.mark.parametrize("name", ["base", "noGroups", "fixedTime"])
def test_operations_are_those_torch_counts(name):
    """Products only: torch's counter does not see the local attention, which is elementwise to it."""
    config = variant(name).model
    engine = Eager(Network(config).requires_grad_(False))
    grid, matrix = torch.randn(1, 4, 5, 6, config.width), block_matrix(engine.network.step.attention)
    with FlopCounterMode(display=False) as counter:
        engine.transition(grid, engine.attend(grid, matrix), GridSize(5, 6), None)
    cells = 4 * 5 * 6
    attention = 4 * config.kernel**2 * config.width * cells
    context = 4 * config.context_heads * config.context_length * config.width * cells
    unseen = attention + (context if config.halting == "ponder" else 0)
    assert operations(config, cells) == counter.get_total_flops() + unseen


def test_cells_are_those_of_the_average_grid():
    """(3 + 1.5) × (13 + 1.5) and (5 + 1.5) × (13 + 1.5), 64 times each."""
    assert cells_of_a_step(variant("base")) == 64 * 14.5 * (4.5 + 6.5)
