"""What torch's allocator of memory is told, which it must be before torch is loaded: so this loads nothing heavy.

Built for ARM, torch has an allocator of its own, mimalloc. By itself it gives memory back to the system 10 ms after it
is freed, and every page of it is cleared and mapped again at the next training step. Told so, it waits for a second.
Elsewhere torch takes its memory from the C library, which can be asked later (`gridsum.training.process`).
"""

import os

_VARIABLE, _MILLISECONDS = "MIMALLOC_PURGE_DELAY", 1000


def keep_freed_memory_for_a_while() -> None:
    """For the torch that this process loads, or those that it starts, unless the user says how long."""
    os.environ.setdefault(_VARIABLE, str(_MILLISECONDS))
