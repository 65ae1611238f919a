"""Sizes are known before work: what does not fit is refused, with what it takes and how to allow it."""

import pytest
import torch

from gridsum.benchmark.memory import PeakMemory
from gridsum.config import Config
from gridsum.fields import override
from gridsum.recipe import ExactConfig
from gridsum.sizes import TooLargeError, check_memory, memory_limit, solving_bytes, told, training_bytes
from gridsum.solving import solve
from gridsum.store import load
from gridsum.training.exact import train_exact
from gridsum.training.loop import train

CPU = torch.device("cpu")


def test_the_limit_is_what_is_free_or_what_is_said(monkeypatch):
    monkeypatch.delenv("GRIDSUM_MEMORY", raising=False)
    free = memory_limit(CPU)
    assert free is None or 10**8 < free < 10**14
    monkeypatch.setenv("GRIDSUM_MEMORY", "1.5 GB")
    assert memory_limit(CPU) == 1_500_000_000
    check_memory("this", 1_400_000_000, CPU)
    with pytest.raises(TooLargeError, match=r"this takes about 1\.6 GB of memory, and the limit is 1\.5 GB.*=3\.2GB"):
        check_memory("this", 1_600_000_000, CPU)
    monkeypatch.setenv("GRIDSUM_MEMORY", "much")
    with pytest.raises(TooLargeError, match="such as 64GB"):
        memory_limit(CPU)


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 KB"), (2 * 10**13, "20 TB")])
def test_amounts(count, text):
    assert told(count) == text


def test_what_does_not_fit_is_refused_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("GRIDSUM_MEMORY", "20MB")
    with pytest.raises(TooLargeError, match="training 1000 runs of base at once takes about"):
        train(Config(), range(1000), tmp_path / "base", CPU)
    with pytest.raises(TooLargeError, match="training 1000 runs of exact at once takes about"):
        train_exact(ExactConfig(), range(1000), tmp_path / "exact", CPU)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TooLargeError, match=r"a grid of 3 rows × 100,003 columns takes about"):
        next(solve(load("base"), [("9" * 10**5, "1")]))


def test_an_estimate_is_of_the_order_that_is_measured():
    """Not above it, so that nothing is refused that fits; not below a third."""
    base = load("base")
    memory = PeakMemory(CPU)
    next(solve(base, [("9" * 6000, "1")], "median"))
    taken = memory.gigabytes()
    if taken is None:
        pytest.skip("this system does not tell what a process takes")
    estimate = solving_bytes(base.config.model, 3 * 6003) / 1e9
    assert taken / 3 < estimate < 1.3 * taken


def test_more_of_everything_takes_more():
    one = training_bytes(Config(), 1)
    assert training_bytes(Config(), 10) == 10 * one
    assert training_bytes(override(Config(), {"training.batch": 256}), 1) == 2 * one
    assert 0 < training_bytes(ExactConfig(), 1) < training_bytes(ExactConfig(), 2)
