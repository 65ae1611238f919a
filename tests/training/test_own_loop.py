"""A network is read out with gradients, and can be trained by a loop of one's own."""

import torch

from gridsum.config.registry import find
from gridsum.data.streams import Stream
from gridsum.model.rollout import read_out
from gridsum.model.runs import flatten
from gridsum.objective.paper import loss
from gridsum.tasks import find as task
from gridsum.training.gradients import draw
from gridsum.training.loop import train
from gridsum.training.optimiser import AdamW, learning_rate
from tests.training.test_loop import short, weights_of


def test_a_readout_gives_every_step_with_gradients():
    config = short()
    network = find("base").build(config, [0, 1])
    symbols = torch.tensor([task("add").encode(("12", "34"))])
    readout = read_out(network, symbols, (3, 5))
    assert readout.halting is not None
    assert readout.logits.shape[1:3] == readout.halting.shape[1:] == (2, 1)
    assert len(readout.logits) == len(readout.halting) == len(readout.steps)
    readout.logits[-1].sum().backward()
    assert network.embedding.weight.grad.abs().sum() > 0
    assert readout.logits.shape[3] == 5


def test_a_loop_of_ones_own_ends_with_the_weights_of_gridsum_train(tmp_path):
    """To the bit, where success is not drawn from a second rollout."""
    config = short(**{"objective.success": "expected", "training.epochs": 2})
    train(config, [3], tmp_path / "run", torch.device("cpu"))

    network = find("base").build(config, [3])
    optimiser, seeds, alive = AdamW(network, config.training), Stream.of_seeds([3]), torch.tensor([True])
    for step in range(config.steps):
        drawn = draw(config, seeds.fold(step))
        readout = read_out(network, drawn.batch.symbols, drawn.size, drawn.dropout, drawn.largest)
        total = loss(readout, drawn.targets, config.objective, drawn.columns).sum()
        gradient = flatten(torch.autograd.grad(total, list(network.parameters())))
        optimiser.update(gradient, learning_rate(torch.tensor(step), config.training), alive)

    for name, trained in weights_of(tmp_path / "run", 3).items():
        assert torch.equal(network.state_dict()[name][0], trained), name
