"""A network is called as a torch module is. docs/research.md has a loop that matches `gridsum train`."""

import pytest

import gridsum
from gridsum.config.registry import find
from gridsum.data.problems import batch_of
from gridsum.objective import loss
from tests.training.test_loop import short


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
    shown = [frame[0] for frame in model.trace("1+999").text]
    assert [model.task.decode(codes).rjust(5, "·") for codes in reads.tolist()] == shown
