"""What a step costs, counted: torch's own counter is the oracle."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from gridsum.config.variants import variant
from gridsum.model.rollout import Network
from gridsum.ops.costs import cells_of_a_step, operations
from gridsum.ops.forms import computed_in


@pytest.mark.parametrize("name", ["base", "noGroups", "fixedTime"])
def test_operations_are_those_torch_counts(name):
    """Products only: torch's counter does not see the local attention, which is elementwise to it."""
    config = variant(name).model
    network = Network(config).requires_grad_(False)
    with FlopCounterMode(display=False) as counter, computed_in("cpu"):
        network.step(torch.randn(1, 4, 5, 6, config.width))
    cells = 4 * 5 * 6
    attention = 4 * config.kernel**2 * config.width * cells
    context = 4 * config.context_heads * config.context_length * config.width * cells
    unseen = attention + (context if config.halting == "ponder" else 0)
    assert operations(config, cells) == counter.get_total_flops() + unseen


def test_cells_are_those_of_the_average_grid():
    """(3 + 1.5) × (13 + 1.5) and (5 + 1.5) × (13 + 1.5), 64 times each."""
    assert cells_of_a_step(variant("base")) == 64 * 14.5 * (4.5 + 6.5)
