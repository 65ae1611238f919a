"""What the benchmark counts, and that it measures what it says."""

import gc
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from gridsum.benchmark.measures import exponent, solving, throughput, training
from gridsum.benchmark.memory import PeakMemory
from gridsum.benchmark.tables import tables
from gridsum.config.fields import override
from gridsum.config.variants import variant
from gridsum.model.engine.attention import block_matrix
from gridsum.model.engine.eager import Eager
from gridsum.model.paper import GridSize, Network
from gridsum.model.store import load
from gridsum.ops.costs import cells_of_a_step, operations
from tests.training.test_gradients import tiny

CPU = torch.device("cpu")


@pytest.fixture
def rate(monkeypatch):
    """Of a large product, without the second that timing it takes."""
    monkeypatch.setattr("gridsum.benchmark.measures.product_rate", lambda *_: 1e11)


told = pytest.mark.skipif(PeakMemory(CPU).gigabytes() is None, reason="what work takes cannot be told here")


@pytest.mark.parametrize("name", ["base", "noGroups", "fixedTime"])
def test_operations_are_those_torch_counts(name):
    """Products only: torch's counter does not see the local attention, which is elementwise to it."""
    config = variant(name).model
    engine = Eager(Network(config).requires_grad_(False))
    grid, matrix = torch.randn(1, 4, 5, 6, config.width), block_matrix(engine.network.step.attention)
    with FlopCounterMode(display=False) as counter:
        engine.transition(grid, engine.attend(grid, matrix), GridSize(5, 6), None)
    cells = 4 * 5 * 6
    attention = 4 * config.kernel**2 * config.width * cells
    context = 4 * config.context_heads * config.context_length * config.width * cells
    unseen = attention + (context if config.halting == "ponder" else 0)
    assert operations(config, cells) == counter.get_total_flops() + unseen


def test_cells_are_those_of_the_average_grid():
    """(3 + 1.5) × (13 + 1.5) and (5 + 1.5) × (13 + 1.5), 64 times each."""
    assert cells_of_a_step(variant("base")) == 64 * 14.5 * (4.5 + 6.5)


def test_the_exponent_of_a_power_is_found():
    sizes = [10, 100, 1000]
    assert exponent(sizes, [3e-4 * size**1.7 for size in sizes]) == pytest.approx(1.7)


def test_a_training_record_says_what_was_measured():
    record = training(tiny("base"), 2, CPU, steps=2, warm_up=1)
    assert (record["variant"], record["runs"], record["precision"]) == ("base", 2, "fp32")
    assert record["ms_per_step_and_run"] == pytest.approx(record["ms_per_step"] / 2)
    assert 1 <= record["recurrent_steps_computed"] <= 6
    assert 0 < record["share_of_product_rate"] < 1


@pytest.mark.usefixtures("rate")
def test_trained_weights_take_the_steps_they_were_trained_to_take():
    """The shipped base takes many; a new network of its shape halts at once."""
    config, trained = override(variant("base"), {"training.batch": 4}), load("base")
    new, old = (training(config, 1, CPU, steps=1, warm_up=1, trained=start) for start in (None, trained))
    assert (new["weights"], old["weights"]) == ("random", "trained")
    assert old["recurrent_steps_computed"] > new["recurrent_steps_computed"]


@pytest.mark.usefixtures("rate")
def test_fixed_halting_computes_the_steps_it_is_configured_for():
    config = override(tiny("fixedTime"), {"model.fixed_steps": 4})
    assert training(config, 1, CPU, steps=1, warm_up=1)["recurrent_steps_computed"] == 4


@told
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_memory_is_what_the_work_takes_at_most(device):
    """Neither what stays nor what earlier work left; what the work itself has freed again counts."""

    def gigabytes(size):
        return torch.ones(round(size * 1e9 / 4), device=device)

    stays = gigabytes(0.1)
    left: list[Any] = [gigabytes(0.3)]
    left.append(left)  # a circle, as there are in fleets: it is there until garbage is collected
    del left
    memory = PeakMemory(torch.device(device))
    gc.collect()
    gigabytes(0.2)
    assert memory.gigabytes() == pytest.approx(0.2, abs=0.05)
    del stays


@told
@pytest.mark.slow
def test_a_fleet_s_memory_is_its_own():
    """A small fleet after a large one takes what it takes before. What libraries set up once is the first one's."""
    config = override(variant("fixedTime"), {"training.batch": 16, "model.fixed_steps": 4})
    _, before, large, after = (
        training(config, runs, CPU, steps=1, warm_up=1)["peak_gigabytes"] for runs in (1, 1, 6, 1)
    )
    assert 2 * before < large < 8 * before
    assert after == pytest.approx(before, rel=0.3)


@pytest.mark.usefixtures("rate")
def test_memory_that_the_system_does_not_tell_is_missing(monkeypatch, tmp_path):
    monkeypatch.setattr("gridsum.benchmark.memory._FORGET_PEAK", tmp_path / "no folder" / "clear_refs")
    record = training(tiny("fixedTime"), 1, CPU, steps=1, warm_up=1)
    assert record["peak_gigabytes"] is None
    (table,) = tables([record], "a device")
    assert table.rows[0][table.header.index("GB")] == "–"


def test_solving_and_throughput_are_measured_on_real_sums():
    model = load("base")
    record = solving(model, 3, 12)
    assert record["seconds"] > 0
    assert record["steps"] > 0
    assert throughput(model, problems=8)["problems_per_second"] > 0
