"""A network is called as a torch module is, and can be trained by a loop of one's own."""

import pytest
import torch

import gridsum
from gridsum.config.registry import find
from gridsum.data.problems import batch_of
from gridsum.data.streams import Stream
from gridsum.objective import loss, sampled_success
from gridsum.training.gradients import draw, without_dropout
from gridsum.training.loop import train
from gridsum.training.optimiser import AdamW
from tests.training.test_loop import short, weights_of


def test_calling_a_network_reads_every_step_with_gradients():
    network = find("base").build(short(), [0, 1])
    batch = batch_of([("12", "34"), ("7",)])
    readout = network(batch.symbols[0])
    assert readout.halting is not None
    assert readout.logits.shape == (len(readout.steps), 2, 2, 5, 13), "on the grid that solving takes: 2 digits and 3"
    assert readout.halting.shape == readout.probability.shape == (len(readout.steps), 2, 2)
    loss(readout, batch.targets_for(5).expand(2, -1, -1)).sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("name", ["base", "fixedTime", "exact"])
def test_what_is_called_is_what_answers(name: str):
    model = gridsum.load(name)
    readout = model.network(batch_of([("58", "67")]).symbols[0])
    assert model.task.decode(readout.logits[-1, 0, 0].argmax(-1).tolist()) == "125"
    assert readout.logits.shape[3] == model.size(("58", "67"))[1]
    readout.logits[-1].amax(-1).sum().backward()
    assert model.network.embedding.weight.grad.abs().sum() > 1e-3


def test_the_network_of_exact_reads_what_its_trace_shows():
    model = gridsum.load("exact")
    (reads,) = model.network(batch_of([("1", "999")]).symbols[0]).logits[:, 0].argmax(-1).unbind(1)
    shown = [reading[0] for reading in model.trace("1+999").readings]
    assert [model.task.decode(codes).rjust(5, "·") for codes in reads.tolist()] == shown


def test_a_loop_of_ones_own_ends_with_the_weights_of_gridsum_train(tmp_path):
    config = short(**{"training.epochs": 2})
    train(config, [3], tmp_path / "run", torch.device("cpu"))

    network, seeds = find("base").build(config, [3]), Stream.of_seeds([3])
    optimiser, groups = AdamW(network, config.training), range(len(config.task.groups))
    for step in range(config.steps):
        for group in groups:
            drawn = draw(config, seeds.fold(step), group)
            readout = network(drawn.symbols, drawn.size, drawn.dropout)
            trial, _ = without_dropout(network, drawn)
            success = sampled_success(trial, drawn.targets, drawn.chance, drawn.columns)
            total = loss(readout, drawn.targets, config.objective, drawn.columns, success)
            (total.sum() / len(groups)).backward()
        optimiser.step(step)

    for name, trained in weights_of(tmp_path / "run", 3).items():
        assert torch.equal(network.state_dict()[name][0], trained), name
