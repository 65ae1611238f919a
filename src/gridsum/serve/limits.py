"""What a visitor may ask for: limits that keep one request from taking the whole machine.

Nothing heavy is imported here: the command line tells the limits before it loads anything.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any


def _limit(default: int, meaning: str, least: int = 1, most: int = 2**31 - 1) -> Any:
    return dataclasses.field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


@dataclass(frozen=True)
class Limits:
    """Each is also an option of `gridsum serve`."""

    max_cells: int = _limit(20_000, "the most cells of one grid, rows × columns")
    max_waiting: int = _limit(
        256, "the most requests that may wait; beyond that, the client with the most waiting loses one", 0
    )
    max_connections: int = _limit(
        800, "the most connections at once; one more takes the place of the one that waits longest for its client"
    )
    workers: int = _limit(
        4, "how many requests of one client are worked on in turn, so that short ones overtake long ones", most=64
    )
    read_seconds: int = _limit(10, "how long a request, or the next on its connection, may take to arrive")
    write_seconds: int = _limit(30, "how long an answer may take to be read by its client")
    grace_seconds: int = _limit(
        10, "how long requests may continue once the server is told to stop; then they get an error"
    )

    @property
    def body(self) -> int:
        """Bytes of a request that can still be within the limits, with some room for spaces."""
        return 2 * self.max_cells + 4096
