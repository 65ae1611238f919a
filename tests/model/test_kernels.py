"""The Triton kernels and CUDA graphs against the plain definitions. They need a GPU: pytest -m gpu."""

import math

import pytest
import torch

from gridsum.config import override
from gridsum.model.attention import attention_weights, gather
from gridsum.model.halting import ContextAttention
from gridsum.model.layers import draw_all
from gridsum.model.network import Network
from gridsum.model.seq2grid import ends_backwards
from gridsum.training.gradients import EagerGradients
from gridsum.training.loop import Fleet
from gridsum.variants import variant

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def exact_products():
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


def random(*shape, seed=0):
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).cuda()
    return values.requires_grad_()


def assert_same(plain, fast, inputs):
    """Equal results, and equal gradients of a random function of them."""
    torch.testing.assert_close(fast, plain, rtol=1e-4, atol=1e-5)
    weight = random(*plain.shape, seed=9).detach()
    expected = torch.autograd.grad(plain, inputs, weight, retain_graph=True)
    found = torch.autograd.grad(fast, inputs, weight, retain_graph=True)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("width", "heads", "kernel"), [(64, 64, 3), (64, 8, 3), (16, 4, 5), (32, 32, 1)])
@pytest.mark.parametrize("size", [(1, 1), (3, 7), (7, 15)])
def test_local_attention(width, heads, kernel, size):
    from gridsum.model.kernels.attention import KernelAttention

    qkv, query = random(2, 3, *size, 3 * width), random(2, width, seed=1)
    relative = random(2, kernel, kernel, width, seed=2)
    q, k, v = qkv.chunk(3, -1)
    plain = gather(attention_weights(q + query[:, None, None, None], k, relative, heads), v)
    assert_same(plain, KernelAttention.apply(qkv, query, relative, heads), (qkv, query, relative))


@pytest.mark.parametrize(("length", "height", "width"), [(1, 1, 1), (9, 3, 5), (44, 7, 15), (30, 2, 4)])
def test_placement(length, height, width):
    from gridsum.model.kernels.placement import KernelEnds

    logits = random(2, 3, length, 3)
    actions = logits.softmax(-1)
    plain = torch.stack(list(ends_backwards(actions, height, width))[::-1], 2)
    assert_same(plain, KernelEnds.apply(actions, height, width), (logits,))


@pytest.mark.parametrize("masked", [False, True])
def test_context_attention(masked):
    from gridsum.model.kernels.context import KernelContext

    attention = ContextAttention(2, 64, 8)
    draw_all(attention, (0, 1))
    attention.cuda()
    context, grid = random(2, 3, 3, 64), random(2, 3, 7, 15, 64, seed=1)
    inside = None
    if masked:
        inside = torch.ones(2, 7, 15, dtype=torch.bool, device="cuda")
        inside[0, 5:], inside[1, :, :3] = False, False
    queries, scale = attention.ask(context), 1 / math.sqrt(8)
    plain = torch.matmul(attention.weights(queries, grid, inside, scale), grid.flatten(2, 3))
    assert_same(plain, KernelContext.apply(queries, grid, inside, 3, scale), (context, grid))


@pytest.mark.parametrize("name", ["base", "SASA", "fixedTime", "ponderReg"])
def test_graphs_give_the_gradients_of_eager_torch(name):
    """Over steps in which the number of recurrent steps changes, so that several graphs share their memory."""
    seeds = (0, 1, 2)
    config = override(variant(name), {"training.batch": 32})
    fleet = Fleet(config, seeds, torch.device("cuda"))
    network = Network(config.model, seeds).cuda()
    eager = EagerGradients(network, config, seeds)
    for number in range(25):
        step = torch.tensor(number, device="cuda")
        found = fleet.gradients(step)
        network.load_state_dict(fleet.network.state_dict())
        expected = eager(step)
        difference = (found.gradient - expected.gradient).norm(dim=1) / expected.gradient.norm(dim=1)
        assert float(difference.max()) < 1e-4
        torch.testing.assert_close(found.cost.total, expected.cost.total, rtol=1e-5, atol=1e-5)
        fleet.optimiser.update(found.gradient, step, fleet.alive)
