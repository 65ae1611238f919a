"""How much memory work may take: what a variable says, else what the machine has; and amounts and times in words."""

import os
import re
from contextlib import suppress
from pathlib import Path

MEMORY = "GRIDSUM_MEMORY"
"""The variable that names another limit than the free memory, such as 64GB."""
_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


class TooLargeError(ValueError):
    """Work that memory is not enough for; the message says how much it takes and how to allow it."""


def memory_free() -> int | None:
    """Bytes that the machine, or the container, has left; None where nobody knows."""
    left = []
    with suppress(OSError, ValueError):  # a container, under Linux's control groups; without a limit that is "max"
        most, now = (int(Path("/sys/fs/cgroup", name).read_text()) for name in ("memory.max", "memory.current"))
        left.append(max(0, most - now))
    try:
        (free,) = re.findall(r"^MemAvailable:\s*(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
        left.append(int(free) * 1024)
    except (OSError, ValueError):
        with suppress(AttributeError, OSError, ValueError):
            left.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))  # all there is
    return min(left, default=None)


def memory_limit(free: int | None = None) -> int | None:
    """Bytes that work may take: what the variable says, else what is free, by default of this machine."""
    text = os.environ.get(MEMORY)
    if not text:
        return memory_free() if free is None else free
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Z]+)\s*", text.upper())
    if match is None or match[2] not in _UNITS:
        raise TooLargeError(f"{MEMORY} is {text!r}; write an amount with its unit, such as 64GB")
    return int(float(match[1]) * _UNITS[match[2]])


def check_bytes(what: str, needed: int, limit: int | None) -> None:
    if limit is not None and needed > limit:
        raise TooLargeError(
            f"{what} takes about {told(needed)} of memory, and the limit is {told(limit)}; ask for less at once, or "
            f"allow more with {MEMORY}={told(2 * needed).replace(' ', '')}"
        )


def told(count: int) -> str:
    unit, size = max((pair for pair in _UNITS.items() if pair[1] <= max(count, 1)), key=lambda pair: pair[1])
    return f"{count / size:.3g} {unit}"


def duration(seconds: float) -> str:
    """A time in words, of few digits."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 3 * 86400 else f"{seconds / 86400:,.0f} days"
