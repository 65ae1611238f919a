import math
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gridsum.config.paper import ModelConfig
from gridsum.data.streams import Stream
from gridsum.model.paper import FeedForward, LayerNorm, Linear
from gridsum.model.rollout import Network
from gridsum.model.runs import generators
from gridsum.ops.dropout.plain import Dropout, NumberedCells
from gridsum.ops.grids import linear


def random_tensor(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def randomised(module: Any) -> Any:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(generator=generator)
    return module.double()


@pytest.mark.parametrize("runs", [1, 3])
def test_linear_and_norm_are_torch_s(runs):
    layer, norm = (
        randomised(make(generators(range(runs))))
        for make in (partial(Linear, inputs=8, outputs=5), partial(LayerNorm, features=8))
    )
    x = random_tensor(runs, 2, 3, 4, 8)
    for run in range(runs):
        expected = nn.functional.linear(x[run], layer.weight[run].T, layer.bias[run])
        torch.testing.assert_close(layer(x)[run], expected)
        torch.testing.assert_close(linear(x, layer.weight)[run], x[run] @ layer.weight[run])
        torch.testing.assert_close(
            norm(x)[run], nn.functional.layer_norm(x[run], (8,), norm.weight[run], norm.bias[run])
        )


def test_feed_forward_is_eq_1():
    """W_3 SiLU(W_2 SiLU(W_1 x + b_1) + b_2) + b_3: nothing after the last layer."""
    network = randomised(FeedForward(generators([0]), (4, 8, 12, 4)))
    x = random_tensor(1, 5, 4)
    (w1, b1), (w2, b2), (w3, b3) = ((layer.weight[0], layer.bias[0]) for layer in network.layers)

    def silu(y):
        return y / (1 + torch.exp(-y))

    torch.testing.assert_close(network(x)[0], silu(silu(x[0] @ w1 + b1) @ w2 + b2) @ w3 + b3)


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.02])
def test_dropout_drops_its_share_and_scales_the_rest(probability):
    dropout = Dropout(Stream.of_seeds([1, 2]), NumberedCells(torch.arange(2000)), probability)
    dropped = dropout(torch.ones(2, 2000, 64, dtype=torch.float64))
    assert dropped.unique().tolist() == pytest.approx([0, 1 / (1 - probability)])
    share = (dropped == 0).double().mean((1, 2))
    tolerance = 5 * math.sqrt(probability * (1 - probability) / (2000 * 64))
    assert (share - probability).abs().max() < tolerance
    by_feature = (dropped == 0).double().mean((0, 1))
    assert (by_feature - probability).abs().max() < 5 * math.sqrt(probability * (1 - probability) / 4000)


def test_dropout_depends_on_stream_and_cell_alone():
    x = torch.ones(2, 6, 8)
    full = Dropout(Stream.of_seeds([1, 2]), NumberedCells(torch.arange(6)), 0.5)(x)
    some = Dropout(Stream.of_seeds([2]), NumberedCells(torch.tensor([4, 1])), 0.5)(x[1:, :2])
    assert torch.equal(some[0], full[1, [4, 1]])
    assert not torch.equal(full[0], full[1])
    assert not torch.equal(full[0, 0], full[0, 1])


@given(st.permutations(range(4)))
def test_a_seed_gives_the_same_weights_in_any_fleet(seeds):
    config = ModelConfig(
        width=8, groups=2, heads=4, placement_hidden=4, step_hidden=8, context_hidden=4, halting_hidden=4
    )
    fleet = Network(config, seeds)
    for run, seed in enumerate(seeds):
        single = Network(config, (seed,))
        for ours, theirs in zip(fleet.parameters(), single.parameters(), strict=True):
            assert torch.equal(ours[run], theirs[0])


def uniform_within(values: torch.Tensor, bound: float) -> None:
    """Uniform on ±bound: the largest value near it, the deviation bound/√3."""
    assert values.abs().max() <= bound
    assert values.abs().max() > 0.97 * bound
    deviation = bound / math.sqrt(3)
    assert values.std().item() == pytest.approx(deviation, rel=0.05)
    assert abs(values.mean().item()) < 5 * deviation / math.sqrt(values.numel())


@pytest.fixture(scope="module")
def network() -> Network:
    return Network(ModelConfig(), seeds=range(8))


@pytest.mark.parametrize(
    ("name", "shape", "tolerance"), [("embedding.weight", (8, 13, 64), 0.04), ("context.initial", (8, 3, 64), 0.1)]
)
def test_embedding_and_initial_context_start_normal(network, name, shape, tolerance):
    values = network.get_parameter(name).detach()
    assert values.shape == shape
    assert values.std().item() == pytest.approx(1, abs=tolerance)
    assert abs(values.mean().item()) < 5 / math.sqrt(values.numel())
    assert values.abs().max() > 3
    assert (values[:, 0].std(-1) > 0.5).all(), "PAD is a symbol like any other"


def test_linear_layers_start_as_torch_s(network):
    layers = [module for module in network.modules() if isinstance(module, Linear)]
    assert len(layers) == 2 + 3 + 1 + 2 + 2
    for layer in layers:
        bound = 1 / math.sqrt(layer.weight.shape[1])
        uniform_within(layer.weight.detach(), bound)
        assert layer.bias.detach().abs().max() <= bound
        assert layer.bias.detach().std() > 0.2 * bound


def test_norms_start_as_the_identity(network):
    norms = [module for module in network.modules() if isinstance(module, LayerNorm)]
    assert len(norms) == 4
    for norm in norms:
        assert (norm.weight == 1).all()
        assert (norm.bias == 0).all()
