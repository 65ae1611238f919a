"""What a training step on a CPU asks of the C library."""

import ctypes

# Names of glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_freed_memory() -> bool:
    """Let this process keep the memory it frees, for the next training step; returns whether that could be asked for.

    glibc gives large blocks back to the system when they are freed, and every page of theirs is cleared and mapped
    again at the next step. Where the C library is another one, nothing is changed.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # no such function, or no such library to look in
        return False
    return bool(mallopt(_TRIM_THRESHOLD, -1) and mallopt(_MMAP_MAX, 0))
