"""What is asked of the C library about the memory of a process that trains on a CPU."""

import ctypes
from collections.abc import Callable

# Names of glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_freed_memory() -> bool:
    """Let this process keep the memory it frees, for the next training step; returns whether that could be asked for.

    glibc gives large blocks back to the system when they are freed, and every page of theirs is cleared and mapped
    again at the next step. Where the C library is another one, nothing is changed.
    """
    mallopt = _c_function("mallopt")
    return mallopt is not None and bool(mallopt(_TRIM_THRESHOLD, -1) and mallopt(_MMAP_MAX, 0))


def give_back_freed_memory() -> bool:
    """Give the system what this process has freed and kept so far; returns whether there was any to give back."""
    malloc_trim = _c_function("malloc_trim")
    return malloc_trim is not None and bool(malloc_trim(0))


def _c_function(name: str) -> Callable[..., int] | None:
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):  # no such function, or no such library to look in
        return None
