"""What is written is what runs: a module that someone has changed is computed as it was changed.

Every module of a network is changed in turn, in every way there is, and what is computed is what the changed modules
say when they are called one by one.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

import gridsum
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.model.cells import Packed, Whole, cells_of
from gridsum.model.paper import LocalAttention
from gridsum.model.rollout import Network, Start, form_of, unroll
from gridsum.model.rule import RuleNetwork
from gridsum.model.runs import as_written
from gridsum.ops.grids import GridSize
from gridsum.training.gradients import EagerGradients, part_gradient
from tests.model.test_rule import vectors_of
from tests.oracles.sizes import SMALL_RULE
from tests.training.test_gradients import tiny

SEEDS, SIZE, STEPS = (3, 5), GridSize(3, 5), 3
BATCH = sample(Space((1, 2), (1, 3)), 4, Stream.of_seeds(SEEDS))
Change = Callable[[Any], Any]


def altered(output: Any) -> Any:
    """Of the same shape, and still a probability where it was one."""
    return tuple(map(altered, output)) if isinstance(output, tuple) else 0.7 * output.flip(-1)


def subclass_of(part: nn.Module, change: Change) -> type[nn.Module]:
    kind = type(part)

    def forward(self: Any, *given: Any) -> Any:
        return change(kind.forward(self, *given))

    return type("Changed", (kind,), {"forward": forward})


@contextmanager
def replaced(network: nn.Module, name: str, change: Change) -> Iterator[None]:
    part, (owner, _, last) = network.get_submodule(name), name.rpartition(".")
    other = copy.copy(part)
    other.__class__ = subclass_of(part, change)
    setattr(network.get_submodule(owner), last, other)
    yield
    setattr(network.get_submodule(owner), last, part)


@contextmanager
def class_set(network: nn.Module, name: str, change: Change) -> Iterator[None]:
    part = network.get_submodule(name)
    kind = type(part)
    part.__class__ = subclass_of(part, change)
    yield
    part.__class__ = kind


def forward_set(network: nn.Module, name: str, change: Change) -> AbstractContextManager:
    part = network.get_submodule(name)
    forward = part.forward
    return mock.patch.object(part, "forward", lambda *given: change(forward(*given)))


def class_patched(network: nn.Module, name: str, change: Change) -> AbstractContextManager:
    part = network.get_submodule(name)
    forward = type(part).forward

    def patched(self: nn.Module, *given: Any) -> Any:
        output = forward(self, *given)
        return change(output) if self is part else output

    return mock.patch.object(type(part), "forward", patched)


def hooked(network: nn.Module, name: str, change: Change) -> AbstractContextManager:
    return network.get_submodule(name).register_forward_hook(lambda _module, _given, output: change(output))


def hooked_globally(network: nn.Module, name: str, change: Change) -> AbstractContextManager:
    part = network.get_submodule(name)

    def hook(module: nn.Module, _given: Any, output: Any) -> Any:
        return change(output) if module is part else None

    return nn.modules.module.register_module_forward_hook(hook)


WAYS = [replaced, class_set, forward_set, class_patched, hooked, hooked_globally]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


def network_of() -> Network:
    return Network(tiny("base").model, SEEDS).double()


def parts_of(network: nn.Module) -> list[str]:
    """Every module that computes something."""
    return [name for name, part in network.named_modules() if name and not isinstance(part, nn.ModuleList)]


def by_definition(network: Network) -> list[tuple[Tensor, Tensor | None]]:
    """The logits and λ at each step, module by module."""
    grid, context = network.place(BATCH.symbols, SIZE), network.context and network.context.start(4)
    found = []
    for n in range(STEPS + 1):
        grid, halting = network.step(grid, SIZE) if n else grid, None
        if network.context is not None:
            context, halting = network.context(context, grid, SIZE)
        found.append((network.read(grid[:, :, 0]), halting))
    return found


def rolled(network: Network) -> list[tuple[Tensor, Tensor | None]]:
    return [(network.read(top), halting) for _, _, top, halting in unroll(Start(network, BATCH.symbols, SIZE, STEPS))]


def differ(one: list[tuple[Tensor, Tensor | None]], other: list[tuple[Tensor, Tensor | None]]) -> bool:
    pairs = zip((part for moment in one for part in moment), (part for moment in other for part in moment), strict=True)
    return any(a is not None and b is not None and not torch.allclose(a, b, atol=1e-9) for a, b in pairs)


@torch.no_grad()
@every_way
def test_every_module_computes_as_it_was_changed(way):
    network = network_of()
    before = rolled(network)
    assert not differ(before, by_definition(network))
    for part in parts_of(network):
        with way(network, part, altered):
            assert form_of(network) == "plain", part
            found = rolled(network)
            assert differ(found, before), part
            assert not differ(found, by_definition(network)), part
        assert form_of(network) == "cpu", part


@every_way
def test_every_module_is_trained_as_it_was_changed(way):
    shorter = {"task.terms": (1, 2), "task.bucket_bounds": (), "task.digits": (1, 1), "model.max_steps": 2}
    config = tiny("base", **shorter, **{"training.batch": 2})
    network = Network(config.model, SEEDS).double()
    before, stream = EagerGradients(network, config, SEEDS)(1).gradient, Stream.of_seeds(SEEDS).fold(1)
    for part in parts_of(network) if way is class_set else ("step", "context.decision"):
        with way(network, part, altered):
            found = EagerGradients(network, config, SEEDS)(1).gradient
            plain = part_gradient(network, config, stream, 0, None, False, "plain").gradient
        assert not torch.allclose(found, before, atol=1e-9), part
        torch.testing.assert_close(found, plain, msg=part)


class Scaled(nn.Module):
    def forward(self, weight: Tensor) -> Tensor:
        return 0.5 * weight


@torch.no_grad()
def test_other_methods_and_parameters_count_as_well():
    """A method that a fast form passes by, on a module or its class; a parametrisation; a method of the network."""
    network = network_of()
    before, attention, written = rolled(network), network.step.attention, LocalAttention.project

    def project(self: LocalAttention, grid: Tensor) -> Tensor:
        return written(self, 2 * grid)

    with mock.patch.object(LocalAttention, "project", project):
        assert differ(rolled(network), before)
    with mock.patch.object(attention, "project", partial(project, attention)):
        assert differ(rolled(network), before)
    with mock.patch.object(network, "place", return_value=torch.zeros(2, 4, 3, 5, 16, dtype=torch.float64)):
        assert differ(rolled(network), before)
    parametrize.register_parametrization(network.output, "weight", Scaled(), unsafe=True)
    assert form_of(network) == "plain"
    assert differ(rolled(network), before)


def test_a_copy_and_a_run_alone_are_as_written_if_their_network_is():
    network = network_of()
    assert as_written(copy.deepcopy(network))
    assert as_written(network.alone(1))
    with class_set(network, "step", altered):
        assert not as_written(copy.deepcopy(network))
        assert not as_written(network.alone(1))
    network.step.transition.feed_forward.layers.append(copy.deepcopy(network.step.transition.feed_forward.layers[-1]))
    assert not as_written(network), "one layer more"


@every_way
def test_a_model_answers_and_traces_as_its_step_says(way):
    """Its step leaves every cell empty."""
    model = gridsum.load("base")
    assert model.solve("58+67").answer == "125"
    with way(model.network, "step", torch.zeros_like):
        assert model.solve("58+67").answer != "125"
        trace = model.trace("58+67")
        assert len(trace.grids) > 1
        assert not trace.grids[1:].any()
    assert model.solve("58+67").answer == "125"


# The network of bits


@torch.no_grad()
def of_bits(network: RuleNetwork) -> list[Tensor]:
    """Actions, a step's logits in training, and what is read, as it is computed."""
    numbers = torch.Generator().manual_seed(0)
    bits = torch.randn(2, 3, 4, 5, SMALL_RULE.bits, generator=numbers, dtype=torch.float64).sign()
    symbols = torch.randint(12, (3, 4, 5), generator=numbers)
    inside = torch.ones(2, 3, 4, 5, 1, dtype=torch.float64)
    cells = cells_of(network, inside)
    cell, query = network.meet(cells.take(vectors_of(network, symbols)))
    z = cells.top_rows(cells.step(cell, query, cells.take(bits)))
    return [network.actions(), z, network.read(bits)]


@torch.no_grad()
def of_bits_by_definition(network: RuleNetwork) -> list[Tensor]:
    """The same, module by module."""
    with (
        mock.patch("gridsum.model.cells.as_written", return_value=False),
        mock.patch("gridsum.model.rule.as_written", return_value=False),
    ):
        return of_bits(network)


@every_way
def test_every_module_of_the_network_of_bits_computes_as_it_was_changed(way):
    network = RuleNetwork(SMALL_RULE, [3, 8]).double()
    before = of_bits(network)
    torch.testing.assert_close(before, of_bits_by_definition(network))
    inside = torch.ones(2, 1, 2, 2, 1)
    for part in parts_of(network):
        with way(network, part, altered):
            assert isinstance(cells_of(network, inside), Whole)
            found = of_bits(network)
            assert not all(torch.allclose(*pair) for pair in zip(found, before, strict=True)), part
            torch.testing.assert_close(found, of_bits_by_definition(network), msg=part)
        assert isinstance(cells_of(network, inside), Packed)


@every_way
def test_exact_s_network_answers_as_its_modules_say(way):
    model = gridsum.load("exact")
    assert model.solve("95+8", network=True).answer == "103"
    for part in ("looking", "transition", "logits", "own"):
        with way(model.network, part, torch.zeros_like):
            assert model.solve("95+8", network=True).answer != "103", part
