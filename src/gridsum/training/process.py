"""What training changes about the process it runs in: how memory is kept, how a GPU multiplies."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import torch

from gridsum.ops.devices import on_gpu
from gridsum.ops.forms import served

# Names of glibc's malloc.h, and what they are in a process that nobody has changed.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_USUAL_THRESHOLD, _USUAL_MAX = 128 * 1024, 65536


@contextmanager
def set_for_training(device: torch.device, precision: str) -> Iterator[None]:
    """Set the process for training on a device in a precision; it is given back as it was."""
    tf32 = torch.backends.cuda.matmul.allow_tf32
    if on_gpu(device):
        torch.backends.cuda.matmul.allow_tf32 = served(precision, device) != "fp32"
    else:
        keep_freed_memory()
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = tf32
        if not on_gpu(device):
            _ask(("mallopt", _TRIM_THRESHOLD, _USUAL_THRESHOLD), ("mallopt", _MMAP_MAX, _USUAL_MAX), ("malloc_trim", 0))


def keep_freed_memory() -> None:
    """Let this process keep the memory it frees, for the next training step: glibc gives large blocks back, and every
    page is cleared and mapped again. Where the C library is another one, nothing is changed."""
    _ask(("mallopt", _TRIM_THRESHOLD, -1), ("mallopt", _MMAP_MAX, 0))


def _ask(*calls: tuple[str, *tuple[int, ...]]) -> None:
    with suppress(AttributeError, OSError, TypeError):  # no such function, or no such library to look in
        for name, *arguments in calls:
            getattr(ctypes.CDLL(None), name)(*arguments)
