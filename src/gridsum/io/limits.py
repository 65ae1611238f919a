"""How much memory and time work may take: what is asked for by variables, else what the machine has.

Torch is not needed here, because a sum is solved without it.
"""

import math
import os
import re
from pathlib import Path

MEMORY = "GRIDSUM_MEMORY"
"""Names another limit than the free memory, such as 64GB."""
TIME = "GRIDSUM_TIME"
"""Names another limit than the usual one, such as 90d."""
_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SECONDS = {"S": 1, "MIN": 60, "H": 3600, "D": 86400}


class TooLargeError(ValueError):
    """Work that memory or time is not enough for; the message says how much it takes and how to allow it."""


def check_bytes(what: str, needed: int, limit: int | None) -> None:
    """Refuse work that takes more memory than `limit`."""
    if limit is not None and needed > limit:
        raise TooLargeError(
            f"{what} takes about {told(needed)} of memory, and the limit is {told(limit)}; ask for less at once, or "
            f"allow more with {MEMORY}={told(2 * needed).replace(' ', '')}"
        )


def check_seconds(what: str, seconds: float, usual: float) -> None:
    """Refuse work that takes longer than the variable allows, or than usual."""
    limit = time_limit(usual)
    if seconds > limit:
        raise TooLargeError(
            f"{what} takes about {duration(seconds)} on this machine, and the limit is {duration(limit)}; ask for "
            f"less, or allow more with {TIME}={math.ceil(2 * seconds / _SECONDS['H'])}h"
        )


def memory_asked() -> int | None:
    """Bytes that the variable allows."""
    asked = _asked(MEMORY, _BYTES, "an amount with its unit, such as 64GB")
    return None if asked is None else int(asked)


def memory_free() -> int | None:
    """Bytes that the machine, or the container, has left; None where nobody knows."""
    return min((found for found in (_free(), _left_in_group()) if found is not None), default=None)


def time_limit(usual: float) -> float:
    """Seconds that work may take: what the variable says, else what is usual."""
    asked = _asked(TIME, _SECONDS, "a time with its unit, such as 12h or 90d")
    return usual if asked is None else asked


def _asked(variable: str, units: dict[str, int], example: str) -> float | None:
    text = os.environ.get(variable)
    if not text:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Z]+)\s*", text.upper())
    unit = match and (units.get(match[2]) or units.get(f"{match[2]}B"))  # 2G is 2GB
    if match is None or unit is None:
        raise TooLargeError(f"{variable} is {text!r}; write {example}")
    return float(match[1]) * unit


def told(count: int) -> str:
    for unit, size in reversed(_BYTES.items()):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return "0 B"


def duration(seconds: float) -> str:
    """A time in words, of few digits."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 3 * 86400 else f"{seconds / 86400:,.0f} days"


def _free() -> int | None:
    try:
        found = re.search(r"^MemAvailable:\s*(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
        if found is not None:
            return int(found[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # all there is
    except (AttributeError, OSError, ValueError):
        return None


def _left_in_group() -> int | None:
    """What a container may still take, under Linux's control groups."""
    try:
        most, now = (Path("/sys/fs/cgroup", name).read_text().strip() for name in ("memory.max", "memory.current"))
        return None if most == "max" else max(0, int(most) - int(now))
    except (OSError, ValueError):
        return None
