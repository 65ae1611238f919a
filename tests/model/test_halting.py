import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from gridsum.model.paper import ContextAttention, halting_distribution
from gridsum.model.runs import generators
from gridsum.ops.forms import computed_in
from gridsum.ops.grids import GridSize
from tests.oracles import halting as oracle

probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=12)
thresholds = st.sampled_from([0.05, 0.01, 0.3])


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("columns", [5, 300])
def test_without_projecting_the_grid_its_attention_is_the_same(masked, columns):
    """Rows that are long are summed one by one."""
    attention = ContextAttention(generators(range(2)), 8, 2).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.normal_(0, 0.5, generator=generator)
    context, grid = (
        torch.randn(2, 3, *shape, 8, generator=generator, dtype=torch.float64) for shape in ((3,), (4, columns))
    )
    size = GridSize(4, columns, torch.tensor([[2, 3], [4, 4]]) if masked else None)
    torch.testing.assert_close(computed_in("cpu")(attention)(context, grid, size), attention(context, grid, size))


@given(probabilities, thresholds)
def test_distribution_is_the_definition(halting, epsilon):
    survivals = [math.prod(1 - x for x in halting[:n]) for n in range(len(halting))]
    assume(all(abs(survival - epsilon) > 1e-9 for survival in survivals))
    p, truncation = halting_distribution(torch.tensor(halting, dtype=torch.float64), epsilon)
    expected, last = oracle.distribution(halting, epsilon)
    assert truncation.item() == last
    assert p.tolist() == pytest.approx(expected, abs=1e-12)
    assert p.sum().item() == pytest.approx(1)
    assert (p >= 0).all()


def test_a_threshold_that_is_reached_is_not_exceeded():
    p, truncation = halting_distribution(torch.tensor([0.75, 0.5, 0.5, 0.5], dtype=torch.float64), 0.125)
    assert p.tolist() == [3 / 4, 1 / 8, 1 / 16, 1 / 16]
    assert truncation.item() == 3
