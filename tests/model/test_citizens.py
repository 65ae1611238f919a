"""The networks as torch modules: hooks fire once a step, internals can be kept and patched."""

import pytest
import torch

import gridsum
from gridsum.api.options import ModelError
from gridsum.config.variants import variant
from gridsum.model.inside import recorded
from gridsum.model.rollout import Network


def test_a_network_says_its_shapes():
    shown = repr(Network(variant("base").model))
    assert "projection [1, 3, 8, 8, 8], relative [1, 3, 3, 64], query [1, 64]" in shown


@pytest.mark.parametrize("name", ["base", "fixedTime"])
def test_hooks_fire_once_a_step_in_solving_and_tracing(name: str):
    model = gridsum.load(name)
    plain = model.trace("58+67")
    calls: list[str] = []
    parts = ("step", "step.attention", "step.transition.feed_forward")
    hooks = [
        model.network.get_submodule(part).register_forward_hook(lambda *_, part=part: calls.append(part))
        for part in parts
    ]
    answer = model.solve("58+67")
    assert answer.answer == "125"
    for part in parts:
        assert calls.count(part) == answer.steps
    calls.clear()
    trace = model.trace("58+67")
    for part in parts:
        assert calls.count(part) == answer.steps
    for hook in hooks:
        hook.remove()
    torch.testing.assert_close(trace.grids, plain.grids, atol=1e-3, rtol=1e-3)


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
    context, halting = cache["context"]
    assert trace.halting is not None
    torch.testing.assert_close(halting, trace.halting)
    assert context.shape == (answer.steps + 1, 3, 64)


@pytest.mark.parametrize("part", ["step.attention", "step.transition.feed_forward.layers.0", "context", "placement"])
def test_what_the_cache_holds_can_be_patched_into_another_sum(part: str):
    model = gridsum.load("base")
    _, other = model.run_with_cache("51+67")
    state = tuple(each[0] for each in other[part]) if part == "context" else other[part][0]
    _, cache = model.run_with_cache("58+67", patch={(part, 0): state})
    found = tuple(each[0] for each in cache[part]) if part == "context" else cache[part][0]
    torch.testing.assert_close(found, state)
    plain = model.run_with_cache("58+67", ["step"])[1]["step"]
    assert torch.equal(cache["step"][0], plain[0]) == (part == "context"), "the rest follows"
    same = model.run_with_cache("58+67", patch={("step", 0): plain[0]})
    assert (same[0], len(same[1]["step"])) == (model.solve("58+67"), len(plain))


def test_the_network_of_exact_is_patched_by_its_parts():
    model = gridsum.load("exact")
    answer, cache = model.run_with_cache("95+8", ["logits"])
    zeros = {("logits", call): -torch.ones_like(logits) for call, logits in enumerate(cache["logits"])}
    patched, _ = model.run_with_cache("95+8", ["logits"], {("logits", 0): zeros["logits", 0]})
    assert (answer, patched.steps) == ("103", 0), "no bit is set, so it rests at once"
