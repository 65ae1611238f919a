"""Dropout, and what weights are drawn from. What layers compute is held against the equations in test_network."""

import math

import pytest
import torch

from gridsum.config.paper import ModelConfig
from gridsum.data.streams import Stream
from gridsum.model.rollout import Network
from gridsum.ops.dropout.plain import Dropout, NumberedCells


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


def drawn_from(name: str, inputs: int, width: int) -> tuple[str, float]:
    """What a parameter begins with: as torch.nn.Linear, LayerNorm and MultiheadAttention do, else normal."""
    owner, _, part = name.rpartition(".")
    if "norm" in owner or part in ("projection_bias", "output_bias"):
        return "constant", float("norm" in owner and part == "weight")
    if owner == "context.attention":
        return "uniform", math.sqrt(6 / (4 * width)) if part == "projection" else 1 / math.sqrt(width)
    if name == "step.attention.projection":
        return "normal", math.sqrt(2 / width)
    if part in ("relative", "query", "initial") or owner == "embedding":
        return "normal", 1.0
    return "uniform", 1 / math.sqrt(inputs)


@pytest.mark.parametrize("groups", [1, 8])
def test_what_parameters_begin_with(groups):
    config = ModelConfig(groups=groups)
    network = Network(config, seeds=range(20))
    for name, parameter in network.named_parameters():
        values, weight = parameter.detach(), name.removesuffix("bias") + "weight" if name.endswith(".bias") else name
        kind, scale = drawn_from(name, network.get_parameter(weight).shape[1], config.width)
        deviation = {"constant": 0.0, "uniform": scale / math.sqrt(3), "normal": scale}[kind]
        middle, close = (scale if kind == "constant" else 0.0), 5 * deviation / math.sqrt(values.numel())
        assert abs(float(values.mean()) - middle) <= close, name
        assert abs(float(values.std()) - deviation) <= close, name
        if kind == "uniform":
            assert values.abs().max() <= scale, name
        elif kind == "normal":
            assert values.abs().max() > 2.5 * scale, name
    assert (network.embedding.weight[:, 0].std(-1) > 0.5).all(), "PAD is a symbol like any other"
