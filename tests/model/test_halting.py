import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from gridsum.config.paper import ModelConfig
from gridsum.model.paper import ContextAttention, halting_distribution
from gridsum.model.runs import generators
from gridsum.ops.forms import computed_in
from gridsum.ops.grids import GridSize
from tests.oracles import halting as oracle

SMALL = ModelConfig(width=8, groups=2, heads=8, context_heads=2, context_hidden=4, halting_hidden=4)
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=12)
thresholds = st.sampled_from([0.05, 0.01, 0.3])


def randomise(module: torch.nn.Module) -> None:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 0.5, generator=generator)


def random_tensor(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(("width", "heads"), [(64, 8), (8, 1)])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("columns", [5, 300])
def test_context_attention_is_torch_s_with_alibi(width, heads, masked, columns):
    runs, problems, length, height = 2, 3, 3, 4
    attention = ContextAttention(generators(range(runs)), width, heads).double()
    randomise(attention)
    context = random_tensor(runs, problems, length, width)
    grid = random_tensor(runs, problems, height, columns, width, seed=2)
    size = GridSize(height, columns, torch.tensor([[2, 3], [4, 4]]) if masked else None)
    inside = size.inside
    result = attention(context, grid, size)
    unprojected = computed_in("cpu")(attention)(context, grid, size)
    for run in range(runs):
        reference = oracle.multihead(
            attention.projection[run],
            attention.projection_bias[run],
            attention.output[run],
            attention.output_bias[run],
            heads,
        )
        mask = oracle.alibi_mask(heads, length, height, columns)
        if inside is not None:
            mask = mask.masked_fill(~inside[run].flatten(), -math.inf)
        cells = grid[run].flatten(1, 2)
        expected, _ = reference(
            context[run], cells, cells, attn_mask=mask.repeat(problems, 1, 1), average_attn_weights=False
        )
        torch.testing.assert_close(result[run], expected, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(unprojected[run], expected, rtol=1e-10, atol=1e-10)


def test_context_attention_starts_as_torch_s():
    """One Xavier-uniform [3E,E] matrix for the projections, ±1/√E for the output, zero biases."""
    runs, width = 20, 64
    attention = ContextAttention(generators(range(runs)), width, 8)
    torch.manual_seed(0)
    torchs = [torch.nn.MultiheadAttention(width, 8) for _ in range(runs)]
    for ours, theirs in (
        (attention.projection, torch.stack([module.in_proj_weight for module in torchs])),
        (attention.output, torch.stack([module.out_proj.weight for module in torchs])),
    ):
        assert ours.abs().max().item() == pytest.approx(theirs.abs().max().item(), rel=1e-3)
        assert ours.std().item() == pytest.approx(theirs.std().item(), rel=1e-2)
        assert abs(ours.mean().item()) < 1e-2 * ours.std().item()
    assert attention.projection.abs().max() <= math.sqrt(6 / (4 * width))
    assert (attention.projection_bias == 0).all()
    assert (attention.output_bias == 0).all()
    assert all((module.in_proj_bias == 0).all() and (module.out_proj.bias == 0).all() for module in torchs)


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


@pytest.mark.parametrize(
    ("halting", "epsilon", "p", "truncation"),
    [
        ([0.5] * 7, 0.05, [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 32, 0], 5),
        ([0.0] * 4, 0.05, [0, 0, 0, 1], 3),
        ([1.0, 0.5, 0.5], 0.05, [1, 0, 0], 1),
        ([0.75, 0.5, 0.5, 0.5], 0.125, [3 / 4, 1 / 8, 1 / 16, 1 / 16], 3),  # 1 − ε reached, not exceeded
        ([0.9, 0.6, 0.5, 0.5], 0.05, [0.9, 0.06, 0.04, 0], 2),
        ([0.3], 0.05, [1], 0),
    ],
)
def test_worked_distributions(halting, epsilon, p, truncation):
    ours, last = halting_distribution(torch.tensor(halting, dtype=torch.float64), epsilon)
    assert ours.tolist() == pytest.approx(p)
    assert last.item() == truncation
