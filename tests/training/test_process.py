"""What training changes about its process, and in which precision it computes."""

import ctypes
from types import SimpleNamespace

import pytest
import torch

from gridsum.ops import forms
from gridsum.ops.forms import served
from gridsum.training.process import set_for_training


@pytest.mark.parametrize("before", [False, True])
def test_how_a_gpu_multiplies_is_given_back_as_it_was(before, request):
    found = torch.backends.cuda.matmul.allow_tf32
    request.addfinalizer(lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", found))
    torch.backends.cuda.matmul.allow_tf32 = before
    for precision in ("fp32", "tf32", "bf16"):
        with set_for_training(torch.device("cuda"), precision):
            assert torch.backends.cuda.matmul.allow_tf32 == (precision != "fp32")
        assert torch.backends.cuda.matmul.allow_tf32 == before


def test_freed_memory_is_kept_in_training_alone(monkeypatch):
    asked = []
    library = SimpleNamespace(mallopt=lambda *given: asked.append(given))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)  # another C library, without malloc_trim, is not an error
    with set_for_training(torch.device("cpu"), "fp32"):
        assert asked == [(-1, -1), (-4, 0)]
    assert asked[2:] == [(-1, 128 * 1024), (-4, 65536)]


def test_auto_is_bf16_on_a_gpu_that_has_it_and_fp32_elsewhere(monkeypatch):
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert {served(precision, cpu) for precision in ("auto", "tf32", "bf16")} == {"fp32"}
    for has, expected in ((True, "bf16"), (False, "fp32")):
        monkeypatch.setattr(forms, "has_bf16", lambda _, has=has: has)
        assert served("auto", gpu) == expected
        assert served("tf32", gpu) == "tf32"
