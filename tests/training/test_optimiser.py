"""AdamW for a fleet against torch's own, run by run."""

import pytest
import torch

from gridsum.config.paper import TrainingConfig
from gridsum.model.rollout import Network
from gridsum.ops.grids import side_by_side
from gridsum.training.optimiser import AdamW, decayed_parameters
from tests.training.test_gradients import tiny

CONFIG = TrainingConfig(steps_per_epoch=2, restart_epochs=3)


def small_network():
    return Network(tiny("base").model, (0, 1))


def test_the_rate_is_torch_s_cosine_with_warm_restarts_stepped_per_epoch():
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.AdamW([parameter], lr=CONFIG.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(
        optimiser, CONFIG.restart_epochs, eta_min=CONFIG.final_learning_rate
    )
    for epoch in range(8):
        for index in range(CONFIG.steps_per_epoch):
            ours = CONFIG.rate(epoch * CONFIG.steps_per_epoch + index)
            assert ours == pytest.approx(optimiser.param_groups[0]["lr"], rel=1e-12)
        optimiser.step()
        schedule.step()


def test_weights_decay_and_biases_embeddings_norms_and_encodings_do_not():
    decayed = decayed_parameters(small_network())
    names = {name for name, _ in small_network().named_parameters()}
    assert decayed <= names
    for name in names:
        part = name.rsplit(".", 1)[-1]
        exempt = part.endswith("bias") or part in ("relative", "query") or "norm" in name or "embedding" in name
        assert (name in decayed) != exempt, name


@pytest.mark.parametrize("size", [0.1, 100.0], ids=["below the clip", "clipped"])
def test_updates_are_torch_s_run_by_run(size):
    network = small_network()
    ours = AdamW(network, CONFIG)
    generator = torch.Generator().manual_seed(0)
    gradients = [torch.randn(ours.weights.shape, generator=generator) * size for _ in range(5)]
    names = [name for name, _ in network.named_parameters()]
    decayed = decayed_parameters(network)

    for run in range(2):
        alone = small_network()
        copies = [torch.nn.Parameter(p[run].detach().clone()) for p in alone.parameters()]
        groups = [
            {"params": [p], "weight_decay": CONFIG.weight_decay if name in decayed else 0.0}
            for p, name in zip(copies, names, strict=True)
        ]
        torchs = torch.optim.AdamW(groups, lr=1.0, betas=(CONFIG.beta1, CONFIG.beta2), eps=CONFIG.adam_epsilon)
        for step, gradient in enumerate(gradients):
            for group in torchs.param_groups:
                group["lr"] = CONFIG.rate(step)
            pieces = gradient[run].split([p.numel() for p in copies])
            for parameter, piece in zip(copies, pieces, strict=True):
                parameter.grad = piece.view_as(parameter).clone()
            torch.nn.utils.clip_grad_norm_(copies, CONFIG.clip)
            torchs.step()
        if run == 0:
            for step, gradient in enumerate(gradients):
                rate = torch.tensor(CONFIG.rate(step), dtype=torch.float64)
                norm = ours.update(gradient, rate, torch.ones(2, dtype=torch.bool))
                torch.testing.assert_close(norm, gradient.norm(dim=1))
        expected = torch.cat([p.detach().flatten() for p in copies])
        torch.testing.assert_close(ours.weights[run], expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(side_by_side(p.detach() for p in network.parameters()), ours.weights)
