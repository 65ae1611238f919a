"""Connections that cannot hold the server up: a request has to arrive in time, an answer to be taken in time.

There are at most so many connections. One more takes the place of the one that has been waiting longest for its
request, so clients that send slowly, or nothing, do not keep out those that ask.
"""

import asyncio
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_TOO_SLOW = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: 57\r\n\r\n"
    b'{"error":"the request did not arrive in time; try again"}'
)


class Connections:
    """All connections of a server, and what it allows them."""

    def __init__(self, most: int, read_seconds: float, write_seconds: float) -> None:
        self.most, self.read_seconds, self.write_seconds = most, read_seconds, write_seconds
        self.waiting: OrderedDict[Connection, None] = OrderedDict()
        """Those whose request has not arrived whole, the one that waits longest first."""
        self.open: set[Connection] = set()
        self.counts = {"opened": 0, "timed_out": 0, "displaced": 0, "stalled": 0}

    def protocol(self) -> type["Connection"]:
        """What uvicorn makes of every connection."""
        shared = self

        class Shared(Connection):
            connections_of_server = shared

        return Shared

    def make_room(self) -> None:
        while len(self.open) > self.most and self.waiting:
            oldest = next(iter(self.waiting))
            self.counts["displaced"] += 1
            oldest.drop()


class Connection(H11Protocol):
    connections_of_server: Connections

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._ours = self.connections_of_server
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._ours.open.add(self)
        self._ours.counts["opened"] += 1
        self._wait()
        self._ours.make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._has_arrived():
            self._stop_waiting()

    def on_response_complete(self) -> None:
        self._wait()  # for the next request on this connection, which may have arrived already
        super().on_response_complete()
        if self._has_arrived():
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ours.open.discard(self)
        self._stop_waiting()
        self._stop(self._writing)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writing = self.loop.call_later(self._ours.write_seconds, self._stalled)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop(self._writing)

    def drop(self) -> None:
        """Close it at once, whatever it holds; the system tells of that later."""
        self._ours.open.discard(self)
        self._stop_waiting()
        self.transport.abort()

    def _has_arrived(self) -> bool:
        """Whether the last request has been read to its end, and is being answered."""
        return self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete

    def _wait(self) -> None:
        self._stop(self._reading)
        self._ours.waiting[self] = None
        self._ours.waiting.move_to_end(self)
        self._reading = self.loop.call_later(self._ours.read_seconds, self._too_slow)

    def _stop_waiting(self) -> None:
        self._stop(self._reading)
        self._ours.waiting.pop(self, None)

    def _too_slow(self) -> None:
        self._ours.counts["timed_out"] += 1
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_TOO_SLOW)
            self.transport.close()
            self._ours.waiting.pop(self, None)
        else:
            self.drop()  # its head has been read, its body has not

    def _stalled(self) -> None:
        """Nobody takes what was written."""
        self._ours.counts["stalled"] += 1
        self.drop()

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()
