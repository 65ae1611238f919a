"""The network as a whole: against the equations, against itself in fleets, masks and longer rollouts; and its parts."""

import dataclasses
import math
from functools import cache

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from gridsum.config.paper import ModelConfig, ObjectiveConfig
from gridsum.data.problems import Batch, Space, sample
from gridsum.data.streams import Stream
from gridsum.model.paper import ContextAttention, Readout, halting_distribution
from gridsum.model.rollout import Network, Start, unroll
from gridsum.model.runs import generators
from gridsum.objective.paper import cost
from gridsum.ops.dropout.plain import Dropout
from gridsum.ops.forms import computed_in
from gridsum.ops.grids import GridSize
from tests.oracles import halting
from tests.oracles.network import Reference
from tests.oracles.sizes import undecided

PONDER = ModelConfig(
    width=16,
    groups=4,
    heads=8,
    placement_hidden=8,
    step_hidden=12,
    max_steps=12,
    context_heads=4,
    context_hidden=8,
    halting_hidden=8,
)
FIXED = dataclasses.replace(PONDER, halting="fixed", fixed_steps=3)
BOTH = pytest.mark.parametrize("config", [PONDER, FIXED], ids=["ponder", "fixed"])


def network_of(config: ModelConfig, seeds=(0,)) -> Network:
    return Network(config, seeds).double()


def problems_of(seeds, problems: int = 3) -> Batch:
    return sample(Space((1, 3), (1, 3)), problems, Stream.of_seeds(seeds))


def reference_of(network: Network, run: int, **settings) -> Reference:
    weights = {name: parameter[run].detach() for name, parameter in network.named_parameters()}
    return Reference(weights, network.config.heads, network.config.context_heads, **settings)


@cache
def _ponder(reference: Reference, codes: tuple[int, ...], height: int, width: int, steps: int):
    return reference.ponder(codes, height, width, steps)


def check_against(reference: Reference, network: Network, rollout: Readout, symbols, height: int, width: int) -> None:
    """Compare run 0 of a rollout with the equations, problem by problem."""
    for problem, codes in enumerate(symbols[0].tolist()):
        if network.context is None:
            expected = reference.readings(codes, height, width, rollout.steps[-1])[-len(rollout.steps) :]
            torch.testing.assert_close(rollout.logits[:, 0, problem], expected, rtol=1e-8, atol=1e-8)
            continue
        logits, probabilities = _ponder(reference, tuple(codes), height, width, len(rollout.steps) - 1)
        p, last = halting.distribution(probabilities.tolist(), network.config.epsilon)
        read = slice(last + 1)  # past its truncation a sample may have left the computation
        torch.testing.assert_close(rollout.logits[read, 0, problem], logits[read], rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(rollout.halting[:last, 0, problem], probabilities[:last], rtol=1e-8, atol=1e-8)
        assert rollout.probability[:, 0, problem].tolist() == pytest.approx(p, abs=1e-9)
        assert rollout.truncation[0, problem].item() == last


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"groups": 1, "heads": 16},
        {"groups": 4, "heads": 4, "query_encoding": False},
        {"halting": "fixed", "fixed_steps": 3},
    ],
    ids=["base", "noGroups", "SASA", "fixedTime"],
)
def test_a_rollout_is_the_paper_s(changes):
    network = network_of(dataclasses.replace(PONDER, **changes))
    symbols, reference = problems_of([0], 2).symbols, reference_of(network, 0)
    with torch.no_grad():
        for form in ("plain", "cpu"):
            rollout = network(symbols, (3, 4), form=form)
            check_against(reference, network, rollout, symbols, 3, 4)


@BOTH
def test_where_dropout_sits(config, monkeypatch):
    """With a scaling for dropout, the equations hold with the inputs of the layers of FFN_3, of FFN_ctx
    and of the output layer scaled, and nothing else."""
    monkeypatch.setattr(Dropout, "factor", 0.8)
    monkeypatch.setattr(Dropout, "kept", lambda _, x: torch.ones_like(x))
    network = network_of(config)
    symbols = problems_of([0], 2).symbols
    with torch.no_grad():
        rollout = network(symbols, GridSize(3, 4), dropout=Stream.of_seeds([0]))
        check_against(reference_of(network, 0, dropout=lambda x: 0.8 * x), network, rollout, symbols, 3, 4)


@BOTH
def test_dropout_is_drawn_anew_at_every_site_and_step(config, monkeypatch):
    masks = []
    kept = Dropout.kept

    def record(dropout: Dropout, x: torch.Tensor) -> torch.Tensor:
        masks.append(kept(dropout, x))
        return masks[-1].clone()

    monkeypatch.setattr(Dropout, "kept", record)
    rollout = network_of(config)(problems_of([0]).symbols, GridSize(3, 4), dropout=Stream.of_seeds([0]))
    last = rollout.steps[-1]
    layers = 3 * last + (2 * last if config.halting == "ponder" else 0)  # the last reading decides nothing
    assert len(masks) >= layers + 1
    readings = masks[-1].unbind(1) if masks[-1].dim() == 5 else masks[-1:]
    drawn = [mask.flatten()[:96].tolist() for mask in (*masks[:-1], *readings)]
    assert all(one != other for index, one in enumerate(drawn) for other in drawn[:index])


OF_EACH_RUN = GridSize(4, 6, torch.tensor([[2, 3], [4, 4], [3, 6]], dtype=torch.int32))


@pytest.mark.parametrize("size", [GridSize(4, 6), OF_EACH_RUN], ids=["whole", "masked"])
@pytest.mark.parametrize("dropout", [False, True])
@BOTH
def test_fast_rollouts_and_their_gradients_are_the_plain_ones(config, dropout, size):
    """Samples leave the batch, and nothing that counts changes."""
    seeds, outcomes = (3, 5, 8), []
    batch = problems_of(seeds, 7)
    for form in ("plain", "cpu"):
        network = undecided(network_of(config, seeds))
        numbered = dataclasses.replace(size, largest=(5, 7))
        rollout = network(batch.symbols, numbered, Stream.of_seeds(seeds) if dropout else None, form=form)
        columns = None if size.inside is None else size.inside[:, 0]
        spent = cost(rollout, batch.targets_for(6), ObjectiveConfig(success="expected"), columns)
        outcomes.append((rollout, spent, torch.autograd.grad(spent.total.sum(), list(network.parameters()))))
    (plain, expected, by_plain), (fast, found, by_fast) = outcomes
    assert plain.steps == fast.steps
    assert torch.equal(plain.truncation, fast.truncation)
    assert config is FIXED or len(plain.truncation.unique()) > 2, "some leave early"
    torch.testing.assert_close(fast.probability, plain.probability, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(found.total, expected.total, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(by_fast, by_plain, rtol=1e-7, atol=1e-10)


@torch.no_grad()
@pytest.mark.parametrize("hard", [False, True])
def test_the_grids_of_solving_are_the_plain_ones(hard):
    network = undecided(network_of(PONDER, (3, 5, 8)))
    start = Start(network, problems_of((3, 5, 8), 7).symbols, GridSize(4, 6), 5, hard)
    computed = (list(unroll(dataclasses.replace(start, form=form))) for form in ("plain", "cpu"))
    for plain, fast in zip(*computed, strict=True):
        torch.testing.assert_close(fast.grid, plain.grid, rtol=1e-9, atol=1e-10)
        torch.testing.assert_close(fast.halting, plain.halting, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("columns", [5, 300])
def test_without_projecting_the_grid_its_attention_is_the_same(masked, columns):
    """Rows that are long are summed one by one."""
    attention = ContextAttention(generators(range(2)), 8, 2).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.normal_(0, 0.5, generator=generator)
    context, grid = (
        torch.randn(2, 3, *shape, 8, generator=generator, dtype=torch.float64) for shape in ((3,), (4, columns))
    )
    size = GridSize(4, columns, torch.tensor([[2, 3], [4, 4]]) if masked else None)
    torch.testing.assert_close(computed_in("cpu")(attention)(context, grid, size), attention(context, grid, size))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.sampled_from([0.05, 0.01, 0.3]))
def test_distribution_is_the_definition(lambdas, epsilon):
    survivals = [math.prod(1 - x for x in lambdas[:n]) for n in range(len(lambdas))]
    assume(all(abs(survival - epsilon) > 1e-9 for survival in survivals))
    p, truncation = halting_distribution(torch.tensor(lambdas, dtype=torch.float64), epsilon)
    expected, last = halting.distribution(lambdas, epsilon)
    assert truncation.item() == last
    assert p.tolist() == pytest.approx(expected, abs=1e-12)
    assert p.sum().item() == pytest.approx(1)
    assert (p >= 0).all()


def test_a_threshold_that_is_reached_is_not_exceeded():
    p, truncation = halting_distribution(torch.tensor([0.75, 0.5, 0.5, 0.5], dtype=torch.float64), 0.125)
    assert p.tolist() == [3 / 4, 1 / 8, 1 / 16, 1 / 16]
    assert truncation.item() == 3


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.02])
def test_dropout_drops_its_share_and_scales_the_rest(probability):
    dropout = Dropout(Stream.of_seeds([1, 2]), torch.arange(2000), probability)
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
