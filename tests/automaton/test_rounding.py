"""What rounding can do to a network: enclosures hold whatever float32 makes of it, in other orders of summation too."""

from typing import cast

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from gridsum.api.loading import rule_model
from gridsum.automaton.rounding import Ball, Box, Enclosed, attend, certainty, layer_norm, score
from gridsum.automaton.rule import LearnedRule
from gridsum.config.exact import RuleConfig
from gridsum.model.paper import Linear
from gridsum.model.rule import RuleNetwork
from tests.oracles.column_addition import shipped

CONFIG = RuleConfig(bits=3, width=16, hidden=24, placement_hidden=8, groups=4)


def drawn(seed: int, *shape: int, scale: float = 1.0) -> torch.Tensor:
    """Float32 numbers."""
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def moved(x: torch.Tensor, off: torch.Tensor, seed: int) -> torch.Tensor:
    """Some float32 numbers that are off by at most so much."""
    chance = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)) * 2 - 1
    return (x.double() + chance * off).float()


@pytest.mark.parametrize("wrong", [0.0, 1e-5])
@pytest.mark.parametrize("seed", range(3))
def test_each_part_holds_what_float32_makes_of_it(seed: int, wrong: float):
    x, y, matrix = drawn(seed, 50, 16), drawn(seed + 9, 50, 16), drawn(seed + 18, 16, 12)
    off = torch.full(x.shape, wrong, dtype=torch.float64)
    one, two = Box(x.double(), off), Box(y.double(), off)
    a, b = moved(x, off / 2, seed + 1), moved(y, off / 2, seed + 2)
    looked = (torch.stack((a, b, a + b)).softmax(0) * torch.stack((b, a, a + b))).sum(0)
    order, bias = torch.randperm(16, generator=torch.Generator().manual_seed(seed)), drawn(seed + 5, 12)
    layered = (a[:, order] @ matrix[order] + bias).double()
    for box, made in (
        (one + two, a + b),
        (score(one, two, y[0].double()), a * (b + y[0])),
        (one.silu(), F.silu(a)),
        (one.layer(matrix.double(), bias.double()), layered),
        (attend([one, two, one + two], [two, one, one + two]), looked),
    ):
        assert ((box.middle - made).abs() <= box.off).all()
    ball = Ball(x.double(), torch.full((50,), 4 * wrong, dtype=torch.float64))
    norm = nn.ParameterDict({"weight": drawn(seed + 3, 1, 16).double(), "bias": drawn(seed + 4, 1, 16).double()})
    # of nearly equal numbers the variance is uncertain
    alike = Ball((x / 100 + 9).double(), ball.off)
    near = moved(x / 100 + 9, off / 2, seed)
    parameters = norm["weight"][0].float(), norm["bias"][0].float()
    for enclosed, made in (
        (ball.silu(), F.silu(a)),
        (ball.layer(matrix.double(), bias.double()), layered),
        (layer_norm(ball, norm), F.layer_norm(a, (16,), *parameters)),
        (layer_norm(alike, norm), F.layer_norm(near, (16,), *parameters)),
    ):
        assert ((enclosed.middle - made).norm(dim=-1) <= enclosed.off).all()


@pytest.mark.parametrize("seed", range(4))
def test_logits_in_other_orders_lie_where_they_can(seed: int):
    """Hidden features in another order are the same network, summed in another order."""
    network = RuleNetwork(CONFIG, [seed])
    first, second, third = (cast("Linear", layer) for layer in network.transition.feed_forward.layers)
    for layer, numbers in zip((first, second, third), drawn(seed, 3), strict=True):
        layer.bias.data += 0.1 * numbers
    x = torch.randint(12, (400,), generator=torch.Generator().manual_seed(seed))
    contexts = torch.randint(9, (400, 3), generator=torch.Generator().manual_seed(seed + 1))
    made = []
    for chance in range(4):
        order = torch.randperm(CONFIG.hidden, generator=torch.Generator().manual_seed(chance))
        with torch.no_grad():
            first.weight.data, first.bias.data = first.weight[:, :, order], first.bias[:, order]
            second.weight.data = second.weight[:, order]
            made.append(LearnedRule(network).logits(x, contexts).double())
    with torch.no_grad():
        rule = LearnedRule(network.double())
        z = Enclosed(rule).logits(x, contexts)
        assert torch.allclose(z.middle, rule.logits(x, contexts), atol=1e-10)
    assert all(((z.middle - one).abs() <= z.off).all() for one in made)
    assert not all(torch.equal(made[0], one) for one in made[1:])


def test_what_is_not_certain_is_found():
    """A network that nobody trained has logits near 0. With a large bias every bit is decided, and with a wrong table
    none."""
    network = RuleNetwork(CONFIG, [0]).double()
    rule = LearnedRule(network)
    assert 0 < certainty(rule, rule.table(range(8))).different < 8748
    network.logits.bias.data[:] = 50.0
    table = rule.table(range(8))
    assert certainty(rule, table).different == 0
    network.logits.bias.data[:] = -50.0
    assert certainty(rule, table).different == table.steps.size


@pytest.mark.slow
def test_every_entry_of_the_shipped_rule_is_certain():
    found = certainty(LearnedRule(rule_model("exact").network.double()), shipped())
    assert (found.entries, found.different) == (shipped().steps.size, 0)
    assert 0 < found.surplus < found.error
