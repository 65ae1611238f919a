import pytest
import torch

from gridsum.model.paper import LocalAttention
from gridsum.model.runs import generators
from gridsum.ops.attention import cpu as attention
from gridsum.ops.attention import plain as definition
from gridsum.ops.attention.cpu import FusedAttention
from gridsum.ops.forms import computed_in
from tests.oracles import attention as oracle

# width, groups, heads, kernel, query encoding
SHAPES = [
    (8, 1, 8, 3, True),
    (8, 1, 1, 3, True),
    (8, 2, 8, 3, True),
    (8, 2, 2, 3, False),
    (8, 8, 4, 3, True),
    (8, 4, 2, 5, True),
    (8, 2, 4, 1, True),
    (8, 8, 8, 1, False),
    (64, 8, 64, 3, True),
]


def layer_of(width: int, groups: int, heads: int, kernel: int, query_encoding: bool, runs: int = 1) -> LocalAttention:
    layer = LocalAttention(generators(range(runs)), width, groups, heads, kernel, query_encoding).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_(0, 0.7, generator=generator)
    return layer


def fast(layer: LocalAttention):
    """The same layer as a rollout on a CPU computes it."""
    return computed_in("cpu")(layer)


def random_grid(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_definition(layer: LocalAttention, grid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(Y [R,B,H,W,E], A [k²,R,B,H,W,h])."""
    results, weights = [], []
    for run, problems in enumerate(grid):
        query = None if layer.query is None else layer.query[run]
        for problem in problems:
            result, paid = oracle.attend(problem, layer.projection[run], layer.relative[run], query, layer.heads)
            results.append(result)
            weights.append(paid)
    leading = grid.shape[:2]
    return torch.stack(results).unflatten(0, leading), torch.stack(weights).unflatten(0, leading).movedim(-1, 0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_attention_is_the_paper_s(shape):
    layer = layer_of(*shape)
    size = (1, 2) if shape[0] == 64 else (3, 4)
    grid = random_grid(1, 1, *size, shape[0])
    expected, weights = by_definition(layer, grid)
    torch.testing.assert_close(layer(grid), expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(fast(layer)(grid), expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(layer.weights(grid), weights, rtol=1e-10, atol=1e-12)


@pytest.fixture(params=[1, 40, 100_000])
def part(request, monkeypatch):
    """How much is computed at a time: a problem, some (the last part smaller than the others), all."""
    monkeypatch.setattr(attention, "_PART", request.param)


@pytest.fixture(params=[False, True], ids=["e", "2"])
def powers(request, monkeypatch):
    """What weights are powers of: one or the other, as torch is built."""
    monkeypatch.setattr(attention, "_BINARY", request.param)


def fused_inputs(runs: int, problems: int, kernel: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Q, K and V side by side, s and r."""
    shapes = [(runs, problems, 2, 3, 12), (runs, 4), (runs, kernel, kernel, 4)]
    product, query, relative = (random_grid(*shape, seed=seed).requires_grad_() for seed, shape in enumerate(shapes))
    return product, query, relative


@pytest.mark.usefixtures("part", "powers")
@pytest.mark.parametrize(("heads", "kernel", "with_query"), [(4, 3, True), (2, 3, False), (1, 5, True), (4, 1, False)])
def test_fused_attention_is_the_plain_one(heads, kernel, with_query):
    product, query, relative = fused_inputs(2, 5, kernel)
    inputs = (product, query, relative) if with_query else (product, relative)
    plain = definition.attend(product, query if with_query else None, relative, heads)
    fused = FusedAttention.apply(product, query if with_query else None, relative, heads)
    torch.testing.assert_close(fused, plain, rtol=1e-12, atol=1e-12)
    seed = random_grid(*plain.shape, seed=5)
    ours, theirs = (torch.autograd.grad(result, inputs, seed) for result in (fused, plain))
    torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.usefixtures("powers")
@pytest.mark.parametrize("offset", [-150.0, 150.0])
def test_scores_that_are_all_far_from_zero_have_a_softmax(offset):
    """exp of every score of a cell is 0 in float32, or infinite, and their softmax is neither."""
    product, _, relative = fused_inputs(1, 2, 3)
    product, relative = product.detach().float(), relative.detach().float()
    product[..., :4] = 1.0  # q, so that a score is the sum of k + r over the features of its head
    relative = relative.mul(0.1).add(offset).requires_grad_()
    product.requires_grad_()
    plain = definition.attend(product, None, relative, 4)
    fused = FusedAttention.apply(product, None, relative, 4)
    torch.testing.assert_close(fused, plain, rtol=1e-4, atol=1e-4)
    ours, theirs = (torch.autograd.grad(result.square().sum(), (product, relative)) for result in (fused, plain))
    for one, other in zip(ours, theirs, strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3 * float(other.abs().max()))


def test_only_a_cpu_is_asked_for_the_range_of_scores():
    """A CUDA graph cannot answer, and neither can a tensor without values."""
    sizes = (2, 3, 4, 5, 18), (2, 6), (2, 3, 3, 6)
    given = [torch.empty(size, device="meta", requires_grad=True) for size in sizes]
    result = FusedAttention.apply(*given, 6)
    gradients = torch.autograd.grad(result.sum(), given)
    assert [gradient.shape for gradient in gradients] == [torch.Size(size) for size in sizes]


def test_a_grid_without_its_run_is_refused_with_the_mend():
    attention = LocalAttention(generators([0]), 16, 4, 4, 3, True)
    with pytest.raises(ValueError, match=r"grid\[None\]"):
        attention(torch.zeros(2, 3, 4, 16))
