"""How much memory and time work may take: what is asked for by variables, else what the machine has.

Torch is not needed here, because a sum is solved without it.
"""

import math
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MEMORY, TIME = "GRIDSUM_MEMORY", "GRIDSUM_TIME"
"""Variables that name other limits than the free memory and the usual time, such as 64GB and 90d."""
_UNITS = {
    MEMORY: {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12},
    TIME: {"S": 1, "MIN": 60, "H": 3600, "D": 86400},
}
_EXAMPLES = {MEMORY: "an amount with its unit, such as 64GB", TIME: "a time with its unit, such as 12h or 90d"}


class TooLargeError(ValueError):
    """Work that memory or time is not enough for; the message says how much it takes and how to allow it."""


def memory_free() -> int | None:
    """Bytes that the machine, or the container, has left; None where nobody knows."""
    return min((found for found in (_free(), _left_in_group()) if found is not None), default=None)


def memory_limit(free: Callable[[], int | None] = memory_free) -> int | None:
    """Bytes that work may take: what the variable says, else what is free."""
    asked = _asked(MEMORY)
    return free() if asked is None else int(asked)


def check_bytes(what: str, needed: int, limit: int | None) -> None:
    """Refuse work that takes more memory than `limit`."""
    if limit is not None and needed > limit:
        raise TooLargeError(
            f"{what} takes about {told(needed)} of memory, and the limit is {told(limit)}; ask for less at once, or "
            f"allow more with {MEMORY}={told(2 * needed).replace(' ', '')}"
        )


def check_seconds(what: str, seconds: float, usual: float) -> None:
    """Refuse work that takes longer than the variable allows, or than usual."""
    asked = _asked(TIME)
    limit = usual if asked is None else asked
    if seconds > limit:
        raise TooLargeError(
            f"{what} takes about {duration(seconds)} on this machine, and the limit is {duration(limit)}; ask for "
            f"less, or allow more with {TIME}={math.ceil(seconds / 1800)}h"
        )


def _asked(variable: str) -> float | None:
    text = os.environ.get(variable)
    if not text:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Z]+)\s*", text.upper())
    if match is None or match[2] not in _UNITS[variable]:
        raise TooLargeError(f"{variable} is {text!r}; write {_EXAMPLES[variable]}")
    return float(match[1]) * _UNITS[variable][match[2]]


def told(count: int) -> str:
    unit, size = max((pair for pair in _UNITS[MEMORY].items() if pair[1] <= max(count, 1)), key=lambda pair: pair[1])
    return f"{count / size:.3g} {unit}"


def duration(seconds: float) -> str:
    """A time in words, of few digits."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 3 * 86400 else f"{seconds / 86400:,.0f} days"


def _free() -> int | None:
    with suppress(OSError, TypeError):
        found = re.search(r"^MemAvailable:\s*(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
        return int(found[1]) * 1024  # type: ignore[index]
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # all there is
    return None


def _left_in_group() -> int | None:
    """What a container may still take, under Linux's control groups."""
    with suppress(OSError, ValueError):  # where there is no limit, that is the word "max"
        most, now = (int(Path("/sys/fs/cgroup", name).read_text()) for name in ("memory.max", "memory.current"))
        return max(0, most - now)
    return None
