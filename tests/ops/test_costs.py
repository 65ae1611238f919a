"""What does not fit into memory is refused, with what it takes and how to allow it."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from gridsum.config.exact import ExactConfig
from gridsum.config.paper import Config
from gridsum.evaluation.solving import solve
from gridsum.io.limits import TooLargeError, duration, memory_limit, told
from gridsum.model.store import load
from gridsum.ops.costs import check_memory, solving_bytes
from gridsum.training.loop import train
from gridsum.training.process import give_back_freed_memory

CPU = torch.device("cpu")


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
