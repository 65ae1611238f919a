"""Sizes are known before work: what does not fit is refused, with what it takes and how to allow it."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from gridsum.config.exact import ExactConfig
from gridsum.config.fields import override
from gridsum.config.paper import Config
from gridsum.evaluation.solving import solve
from gridsum.io.limits import TooLargeError, duration, time_limit, told
from gridsum.model.store import load
from gridsum.ops.costs import check_memory, check_time, memory_limit, solving_bytes, training_work
from gridsum.training.loop import train
from gridsum.training.process import give_back_freed_memory

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
        train(ExactConfig(), range(1000), tmp_path / "exact", CPU)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TooLargeError, match=r"a grid of 3 rows × 100,003 columns takes about"):
        next(solve(load("base"), [("9" * 10**5, "1")]))


def resident(name: str) -> Any:
    """Bytes of this process in memory: `VmRSS` now, `VmHWM` at most. None where the system does not tell."""
    try:
        (kilobytes,) = re.findall(rf"^{name}:\s*(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return None
    return int(kilobytes) * 1024


def test_an_estimate_is_of_the_order_that_is_measured():
    """Not above it, so that nothing is refused that fits; not below a third."""
    base = load("base")
    before = resident("VmRSS")
    torch.ones(2**24)  # 67 MB; torch for ARM keeps what it frees
    give_back_freed_memory()
    if before is None or resident("VmRSS") - before > 2**25:
        pytest.skip("this system does not tell what a process takes")
    Path("/proc/self/clear_refs").write_text("5")  # its peak is forgotten, see proc(5)
    before = resident("VmRSS")
    next(solve(base, [("9" * 6000, "1")], "median"))
    taken = resident("VmHWM") - before
    estimate = solving_bytes(base.config.model, 3 * 6003)
    assert taken / 3 < estimate < 1.3 * taken


def test_what_would_take_too_long_is_refused_before_it_begins(tmp_path, monkeypatch):
    timed = []
    monkeypatch.setattr("gridsum.ops.costs.product_rate", lambda *_: timed.append(1) or 1e11)
    epochs = override(Config(), {"training.epochs": 10**6})
    message = r"training 1 runs of base takes about \d+ days on this machine, and the limit is 30 days; .*GRIDSUM_TIME"
    with pytest.raises(TooLargeError, match=message) as refused:
        train(epochs, [0], tmp_path / "base", CPU)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("GRIDSUM_TIME", str(refused.value).rpartition("=")[2])
    check_time("this", training_work(epochs, 1, 10**6, CPU), CPU)  # what is offered is enough
    monkeypatch.setenv("GRIDSUM_TIME", "2min")
    with pytest.raises(TooLargeError, match=r"training 2 runs of exact takes about .* and the limit is 2 min"):
        train(ExactConfig(), (0, 1), tmp_path / "exact", CPU)
    timed.clear()
    assert next(solve(load("base"), [("1", "1")])).answer == "2"
    assert timed == [], "nothing is timed for short work"
    monkeypatch.setenv("GRIDSUM_TIME", "0.001s")
    with pytest.raises(TooLargeError, match=r"a grid of 3 rows × 8 columns takes about 1 s on this machine"):
        next(solve(load("base"), [("12345", "1")]))
    monkeypatch.setenv("GRIDSUM_TIME", "soon")
    with pytest.raises(TooLargeError, match="such as 12h or 90d"):
        time_limit(1.0)


@pytest.mark.parametrize(("seconds", "text"), [(0.1, "1 s"), (600, "10 min"), (86400, "24.0 h"), (1e9, "11,574 days")])
def test_times(seconds, text):
    assert duration(seconds) == text
