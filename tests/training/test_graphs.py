"""An update as a CUDA graph against the same update operation by operation."""

import pytest
import torch

from gridsum.config.variants import variant
from gridsum.model.rollout import Network
from gridsum.ops.devices import Replayed
from gridsum.training.optimiser import AdamW

pytestmark = pytest.mark.gpu


def test_an_update_that_is_replayed_is_the_eager_update():
    config = variant("fixedTime")
    networks = [Network(config.model, (0, 1)).cuda() for _ in range(2)]
    optimisers = [AdamW(network, config.training) for network in networks]
    alive = torch.tensor([True, True], device="cuda")
    replayed = Replayed(lambda gradient, step: optimisers[0].update(gradient, step, alive))
    for number in range(6):
        generator = torch.Generator("cuda").manual_seed(number)
        gradient = torch.randn(optimisers[0].weights.shape, device="cuda", generator=generator)
        alive[1] = number < 4
        step = torch.tensor(number * 40, device="cuda")
        norm, expected = replayed(gradient, step), optimisers[1].update(gradient, step, alive)
        torch.testing.assert_close(norm, expected, rtol=0, atol=0)
        for one, other in zip(networks[0].parameters(), networks[1].parameters(), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=0)
    assert replayed.graph is not None
