"""The networks as torch modules: they are called as such, hooks fire once a step, internals are kept.

docs/research.md has a loop around such a call that matches `gridsum train`.
"""

import pytest
import torch

import gridsum
from gridsum.api.models import ModelError
from gridsum.config.paper import ObjectiveConfig
from gridsum.config.variants import variant
from gridsum.data.problems import batch_of
from gridsum.model.inside import recorded
from gridsum.model.rollout import Network
from gridsum.objective.paper import cost


def test_a_network_says_its_shapes():
    shown = repr(Network(variant("base").model))
    assert "projection [1, 3, 8, 8, 8], relative [1, 3, 3, 64], query [1, 64]" in shown


@pytest.mark.parametrize("name", ["base", "fixedTime"])
def test_hooks_fire_once_a_step_in_solving_and_tracing(name: str):
    model = gridsum.load(name)
    plain, parts = model.trace("58+67"), ("step", "step.attention", "step.transition.feed_forward")
    for asked in (model.solve, model.trace):
        with recorded(model.network, parts) as found:
            asked("58+67")
        assert [len(found[part]) for part in parts] == [plain.answer.steps] * 3
    steps = [part for part in found["step"] if isinstance(part, torch.Tensor)]
    torch.testing.assert_close(torch.cat(steps)[:, 0], plain.grids[1:], atol=1e-3, rtol=1e-3)


def test_hooks_fire_once_a_step_in_exact():
    model = gridsum.load("exact")
    with recorded(model.network, ["transition", "looking"]) as found:
        answer = model.solve("95+8", network=True)
    # One step more than changed anything: that nothing changes has to be seen.
    assert len(found["transition"]) == len(found["looking"]) == answer.steps + 1
    _, cache = model.run_with_cache("95+8", ["transition"])
    assert cache["transition"].shape == (answer.steps + 1, 3, 4, 64)
    assert model.run_with_cache("95+8")[1]["placement"].shape == (1, 13, 3)
    with pytest.raises(ModelError, match="layers was not called"):
        model.run_with_cache("95+8", ["transition.feed_forward.layers"])


def test_the_cache_holds_what_the_trace_shows():
    model = gridsum.load("base")
    answer, cache = model.run_with_cache("58+67")
    trace = model.trace("58+67")
    assert answer.answer == "125"
    torch.testing.assert_close(cache["step"], trace.grids[1:], atol=1e-3, rtol=1e-3)
    assert cache["context.decision"].shape == (answer.steps + 1, 1)
    assert {"embedding", "placement", "step.attention", "context.decision", "output"} <= cache.keys()
    torch.testing.assert_close(cache["placement"][0], trace.inside.actions)
    torch.testing.assert_close(model.network.read(trace.grids[None])[0].softmax(-1), trace.inside.decoded)
    context, halting = cache["context"]
    assert trace.inside.halting is not None
    torch.testing.assert_close(halting, trace.inside.halting)
    assert context.shape == (answer.steps + 1, 3, 64)


def test_calling_a_network_reads_every_step_with_gradients():
    network = Network(variant("base").model, [0, 1])
    batch = batch_of([("12", "34"), ("7",)])
    readout = network(batch.symbols[0])
    assert readout.logits.shape == (len(readout.steps), 2, 2, 5, 13), "on the grid that solving takes: 2 digits and 3"
    assert readout.halting.shape == readout.probability.shape == (len(readout.steps), 2, 2)
    expected = ObjectiveConfig(success="expected")
    cost(readout, batch.targets_for(5).expand(2, -1, -1), expected).total.sum().backward()
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
