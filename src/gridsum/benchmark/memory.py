"""What a piece of work takes of a device's memory at most, apart from what is there before it."""

import gc
import re
from functools import cache
from pathlib import Path

import torch

from gridsum.ops.devices import on_gpu
from gridsum.training.process import give_back_freed_memory

# Linux tells a process of its own memory, and forgets its peak where a 5 is written: see proc(5).
_STATUS, _FORGET_PEAK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class PeakMemory:
    """Counts from when it is made. What earlier work left is freed before, so that it is neither counted nor used."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        if on_gpu(device):
            gc.collect()
            torch.cuda.synchronize(device)
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(device)
            self.before = torch.cuda.memory_allocated(device)
        else:
            gc.collect()
            give_back_freed_memory()
            self.before = _resident("VmRSS") if _freed_memory_goes() and _forget_peak() else None

    def gigabytes(self) -> float | None:
        """What the work since has taken at most: on a GPU what torch allocated, on a CPU what the process grew by.

        None where the system does not tell.
        """
        if self.before is None:
            return None
        most = torch.cuda.max_memory_allocated(self.device) if on_gpu(self.device) else _resident("VmHWM")
        return (most - self.before) / 1e9


def _forget_peak() -> bool:
    """Let the peak of this process's memory be what it is now; returns whether the system can do that."""
    try:
        _FORGET_PEAK.write_text("5")
    except OSError:
        return False
    return True


@cache
def _freed_memory_goes() -> bool:
    """Whether the system gets back what torch frees. Built for ARM it has an allocator of its own, which keeps it for
    later work: what that work takes cannot be told then."""
    if not _STATUS.exists():
        return False
    before = _resident("VmRSS")
    block = torch.ones(2**24)
    there = _resident("VmRSS")
    del block
    give_back_freed_memory()
    return _resident("VmRSS") - before < (there - before) / 2


def _resident(name: str) -> int:
    """Bytes of this process in memory: `VmRSS` now, `VmHWM` at most."""
    (kilobytes,) = re.findall(rf"^{name}:\s*(\d+) kB$", _STATUS.read_text(), re.MULTILINE)
    return int(kilobytes) * 1024
