"""The solver against the network itself: whole grids of bits, cell by cell and step by step."""

import pytest
import torch

from gridsum.automaton.run import Run, frames
from gridsum.model.rule import RuleNetwork
from gridsum.model.store import load
from gridsum.tasks import FIRST_DIGIT, Addition
from tests.oracles.column_addition import EMPTY_CELL, shipped

ADD = Addition()


@torch.no_grad()
def network_states(network: RuleNetwork, symbols: torch.Tensor, steps: int) -> list[list[list[int]]]:
    """Codes as integers of bits, before any step and after each one; `symbols` [H,W] are those of cells."""
    written = network.embedding.weight[:, (symbols + FIRST_DIGIT).clamp(max=len(network.embedding.weight[0]) - 1)]
    vectors = torch.where((symbols == EMPTY_CELL)[None, ..., None], 0.0, written)[:, None]
    cell, query = network.meet(vectors)
    bits = torch.full((1, 1, *symbols.shape, network.config.bits), -1.0)
    powers = 2 ** torch.arange(network.config.bits)
    found = []
    for _ in range(steps + 1):
        found.append(((bits[0, 0] > 0).long() * powers).sum(-1).tolist())
        bits = torch.where(network.step(cell, query, bits) > 0, 1.0, -1.0)
    return found


@pytest.mark.parametrize("expression", ["7", "0+9999", "99999+1", "523+102+9416", "5+0+31+0+2", "00+0009"])
def test_the_shipped_network_takes_the_steps_of_its_table(expression: str):
    """On the way as at rest: consolidation keeps it within its codes."""
    network = load("exact").network
    table, terms = shipped(), ADD.parse(expression)
    found = [[[table.states[code] for code in row] for row in state.tolist()] for state in frames(table, terms, 10_000)]
    symbols = torch.tensor(Run.of(table, terms).symbols.astype(int))
    assert len(found) > 1
    assert network_states(network, symbols, len(found)) == [*found, found[-1]]
