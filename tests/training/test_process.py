"""What the C library does with freed memory: it is asked itself, as pages and their faults differ between machines."""

import ctypes
import os
import subprocess
import sys

import pytest
import torch

from gridsum.cli import keep_freed_memory_for_a_while
from gridsum.ops import forms
from gridsum.ops.forms import served
from gridsum.training import process
from gridsum.training.process import give_back_freed_memory, keep_freed_memory, set_for_training

# In a process of its own, as what was asked for stays so. A block of 64 MB is allocated and freed.
REPORT = """
import ctypes
import torch
from gridsum.training.process import give_back_freed_memory, keep_freed_memory

class Account(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    _fields_ = [(name, ctypes.c_size_t) for name in names]

ask = ctypes.CDLL(None).mallinfo2
ask.restype = Account

def held():
    return ask().arena + ask().hblkhd

torch.set_num_threads(1)
told = [held()]
block = torch.zeros(2**24)
told.append(held())
del block
told.append(held())
assert keep_freed_memory()
torch.zeros(2**24)
told.append(held())
assert give_back_freed_memory()
print(*told)
"""


def accounts() -> bool:
    """Whether the C library says how much memory it holds: glibc does from 2.33 on."""
    try:
        return hasattr(ctypes.CDLL(None), "mallinfo2")
    except (OSError, TypeError):
        return False


@pytest.mark.skipif(not accounts(), reason="this C library does not say how much memory it holds")
def test_freed_memory_is_kept_from_when_that_is_asked_for_until_it_is_given_back():
    done = subprocess.run([sys.executable, "-c", REPORT], capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    before, there, usually, kept = (int(held) / 2**26 for held in done.stdout.split())
    if there == before:
        pytest.skip("torch has an allocator of its own here")
    assert usually - before < 0.1, "by itself glibc gives a large block back"
    assert kept - usually > 0.9, "the block is kept"


def test_another_c_library_is_no_error(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not keep_freed_memory()
    assert not give_back_freed_memory()


@pytest.mark.parametrize("before", [False, True])
def test_the_process_is_given_back_as_it_was(before, monkeypatch, request):
    """Of a GPU, how it multiplies; of a CPU, how freed memory is kept."""
    found = torch.backends.cuda.matmul.allow_tf32
    request.addfinalizer(lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", found))
    torch.backends.cuda.matmul.allow_tf32 = before
    for precision in ("fp32", "tf32", "bf16"):
        with set_for_training(torch.device("cuda"), precision):
            assert torch.backends.cuda.matmul.allow_tf32 == (precision != "fp32")
        assert torch.backends.cuda.matmul.allow_tf32 == before
    asked = []
    monkeypatch.setattr(process, "_c_function", lambda name: lambda *given: asked.append((name, *given)) or 1)
    with set_for_training(torch.device("cpu"), "fp32"):
        during = list(asked)
    assert during == [("mallopt", -1, -1), ("mallopt", -4, 0)]
    assert asked[2:] == [("mallopt", -1, 128 * 1024), ("mallopt", -4, 65536), ("malloc_trim", 0)]


def test_auto_is_bf16_on_a_gpu_that_has_it_and_fp32_elsewhere(monkeypatch):
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert {served(precision, cpu) for precision in ("auto", "tf32", "bf16")} == {"fp32"}
    for has, expected in ((True, "bf16"), (False, "fp32")):
        monkeypatch.setattr(forms, "has_bf16", lambda _, has=has: has)
        assert served("auto", gpu) == expected
        assert served("tf32", gpu) == "tf32"


def test_how_long_freed_memory_is_kept_is_left_to_the_user(monkeypatch):
    monkeypatch.delenv("MIMALLOC_PURGE_DELAY", raising=False)
    keep_freed_memory_for_a_while()
    assert os.environ["MIMALLOC_PURGE_DELAY"] == "1000"
    monkeypatch.setenv("MIMALLOC_PURGE_DELAY", "5")
    keep_freed_memory_for_a_while()
    assert os.environ["MIMALLOC_PURGE_DELAY"] == "5"
