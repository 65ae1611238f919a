"""What work costs is known before it begins; what does not fit is refused, with what it takes and how to allow it."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from gridsum.config.exact import ExactConfig
from gridsum.config.paper import Config
from gridsum.config.variants import variant
from gridsum.evaluation.solving import solve
from gridsum.io.limits import TooLargeError, duration, memory_limit, told
from gridsum.model.rollout import Network
from gridsum.model.store import load
from gridsum.ops.costs import cells_of_a_step, check_memory, operations
from gridsum.ops.forms import computed_in
from gridsum.training.loop import train

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", ["base", "noGroups", "fixedTime"])
def test_operations_are_those_torch_counts(name):
    """Products only: torch's counter does not see the local attention, which is elementwise to it."""
    config = variant(name).model
    network = Network(config).requires_grad_(False)
    with FlopCounterMode(display=False) as counter, computed_in("cpu"):
        network.step(torch.randn(1, 4, 5, 6, config.width))
    cells = 4 * 5 * 6
    attention = 4 * config.kernel**2 * config.width * cells
    context = 4 * config.context_heads * config.context_length * config.width * cells
    unseen = attention + (context if config.halting == "ponder" else 0)
    assert operations(config, cells) == counter.get_total_flops() + unseen


def test_cells_are_those_of_the_average_grid():
    """(3 + 1.5) × (13 + 1.5) and (5 + 1.5) × (13 + 1.5), 64 times each."""
    assert cells_of_a_step(variant("base")) == 64 * 14.5 * (4.5 + 6.5)


def test_the_limit_is_what_is_free_or_what_is_said(monkeypatch):
    monkeypatch.delenv("GRIDSUM_MEMORY", raising=False)
    free = memory_limit()
    assert free is None or 10**8 < free < 10**14
    monkeypatch.setenv("GRIDSUM_MEMORY", "1.5 GB")
    check_memory("this", 1_400_000_000, CPU)
    with pytest.raises(TooLargeError, match=r"this takes about 1\.6 GB of memory, and the limit is 1\.5 GB.*=3\.2GB"):
        check_memory("this", 1_600_000_000, CPU)
    monkeypatch.setenv("GRIDSUM_MEMORY", "much")
    with pytest.raises(TooLargeError, match="such as 64GB"):
        memory_limit()


def test_amounts_and_times():
    assert [told(count) for count in (0, 999, 1500, 2 * 10**13)] == ["0 B", "999 B", "1.5 KB", "20 TB"]
    assert [duration(seconds) for seconds in (0.1, 600, 86400, 1e9)] == ["1 s", "10 min", "24.0 h", "11,574 days"]


def test_what_does_not_fit_is_refused_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("GRIDSUM_MEMORY", "20MB")
    for config in (Config(), ExactConfig()):
        with pytest.raises(TooLargeError, match=f"training 1000 runs of {config.variant} at once takes about"):
            train(config, range(1000), tmp_path / "run", CPU)
    with pytest.raises(TooLargeError, match=r"a grid of 3 rows × 100,003 columns takes about"):
        next(solve(load("base"), [("9" * 10**5, "1")]))
    assert list(tmp_path.iterdir()) == []
    assert next(solve(load("base"), [("1", "1")])).answer == "2"
