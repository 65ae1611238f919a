"""What training changes about the process it runs in: how memory is kept, how a GPU multiplies."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from gridsum.ops.devices import on_gpu
from gridsum.ops.forms import served

# Names of glibc's malloc.h, and what they are in a process that nobody has changed.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_UNTOUCHED = {_TRIM_THRESHOLD: 128 * 1024, _MMAP_MAX: 65536}


@contextmanager
def set_for_training(device: torch.device, precision: str) -> Iterator[None]:
    """Set the process for training on a device in a precision; it is given back as it was."""
    tf32 = torch.backends.cuda.matmul.allow_tf32
    on_cpu = not on_gpu(device)
    if on_cpu:
        keep_freed_memory()
    else:
        torch.backends.cuda.matmul.allow_tf32 = served(precision, device) != "fp32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        if on_cpu:
            let_go_of_freed_memory()


def keep_freed_memory() -> bool:
    """Let this process keep the memory it frees, for the next training step; returns whether that could be asked for.

    glibc gives large blocks back to the system when they are freed, and every page of theirs is cleared and mapped
    again at the next step. Where the C library is another one, nothing is changed.
    """
    mallopt = _c_function("mallopt")
    return mallopt is not None and bool(mallopt(_TRIM_THRESHOLD, -1) and mallopt(_MMAP_MAX, 0))


def let_go_of_freed_memory() -> bool:
    """Undo `keep_freed_memory`, and give back what was kept; returns whether that could be asked for."""
    mallopt = _c_function("mallopt")
    asked = mallopt is not None and all(bool(mallopt(name, value)) for name, value in _UNTOUCHED.items())
    give_back_freed_memory()
    return asked


def give_back_freed_memory() -> bool:
    """Give the system what this process has freed and kept so far; returns whether there was any to give back."""
    malloc_trim = _c_function("malloc_trim")
    return malloc_trim is not None and bool(malloc_trim(0))


def _c_function(name: str) -> Callable[..., int] | None:
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):  # no such function, or no such library to look in
        return None
