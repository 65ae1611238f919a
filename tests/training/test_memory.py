import ctypes
import resource
import subprocess
import sys

import pytest

from gridsum.training.memory import give_back_freed_memory, keep_freed_memory

FAULTS = """
import resource
import torch
from gridsum.training.memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        torch.zeros(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

torch.set_num_threads(1)
before = faults()
assert keep_freed_memory()
faults()
print(before, faults())
"""

RESIDENT = """
from pathlib import Path
import torch
from gridsum.training.memory import give_back_freed_memory, keep_freed_memory

def pages():
    return int(Path("/proc/self/statm").read_text().split()[1])

torch.set_num_threads(1)
assert keep_freed_memory()
before = pages()
torch.zeros(2**26)
kept = pages()
assert give_back_freed_memory()
print(before, kept, pages())
"""


def has_mallopt() -> bool:
    try:
        return hasattr(ctypes.CDLL(None), "mallopt")
    except (OSError, TypeError):
        return False


@pytest.mark.skipif(not has_mallopt(), reason="another C library")
def test_memory_that_is_freed_is_not_asked_for_again():
    """In a process of its own, as it stays so: ten blocks of 64 MB are mapped anew before, and not at all after."""
    found = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, check=True, text=True)
    before, after = map(int, found.stdout.split())
    assert before >= 10 * 2**26 / 2**21, "a fault for each page, be it one of 2 MB"
    assert after < before / 10


@pytest.mark.skipif(not has_mallopt(), reason="another C library")
def test_memory_that_was_kept_is_given_back():
    """In a process of its own, as it stays so: a block of 256 MB."""
    found = subprocess.run([sys.executable, "-c", RESIDENT], capture_output=True, check=True, text=True)
    before, kept, after = map(int, found.stdout.split())
    block = 2**28 / resource.getpagesize()
    assert kept - before > 0.9 * block
    assert kept - after > 0.9 * block


@pytest.mark.parametrize("error", [OSError, TypeError])
def test_no_library_to_look_in_is_no_error(monkeypatch, error):
    def refuse(_: None) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert not keep_freed_memory()
    assert not give_back_freed_memory()


def test_another_c_library_is_no_error(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not keep_freed_memory()
    assert not give_back_freed_memory()
