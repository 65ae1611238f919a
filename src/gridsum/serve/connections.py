"""Connections that cannot hold the server up: a request has to arrive in time, an answer to be taken in time.

There are at most so many connections. One more takes the place of the one that has been waiting longest for its client,
to send or to read, so clients that do either slowly, or never, do not keep out those that ask. uvicorn has a limit
beyond which it refuses everybody, and no limit on reading and writing.
"""

import asyncio
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge
from uvicorn.protocols.http.h11_impl import H11Protocol

from gridsum.serve.limits import Limits

_PIPELINED = 1 << 16
"""Bytes of further requests that a client may send before it has its answer."""


class Connections:
    """All connections of a server."""

    def __init__(self, limits: Limits, registry: CollectorRegistry) -> None:
        self.limits = limits
        self.open = Gauge("gridsum_connections_open", "Connections", registry=registry)
        self.ended = Counter("gridsum_connections_ended", "Why they were ended", ["why"], registry=registry)
        self.waiting: dict[Connection, None] = {}
        """Those that wait for their client, the one that waits longest first."""

    def protocol(self, **given: Any) -> "Connection":
        """What uvicorn makes of a connection."""
        return Connection(self, **given)


class Connection(H11Protocol):
    def __init__(self, all_of_them: Connections, app_state: dict[str, Any], **given: Any) -> None:
        # So the application finds the connection in its requests.
        super().__init__(app_state={**app_state, "connection": self}, **given)
        self._all, self._limits = all_of_them, all_of_them.limits
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self.answering: asyncio.Task[Any] | None = None
        """Is cancelled when the client goes."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        transport.set_write_buffer_limits(0)  # so that `pause_writing` tells of anything unread
        super().connection_made(transport)
        self._all.open.inc()
        self.await_request()
        if len(self.connections) > self._limits.max_connections:
            next(iter(self._all.waiting)).drop("displaced")

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if len(self.conn.trailing_data[0]) > _PIPELINED:
            self.drop("flooded")

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.open.dec()
        self.request_arrived()
        self._stop("stalled")
        super().connection_lost(exc)
        if self.answering is not None:
            self.answering.cancel()

    def await_request(self) -> None:
        self.answering = None
        if not self.transport.is_closing():
            self._wait("timed_out", self._limits.read_seconds)

    def request_arrived(self) -> None:
        self._stop("timed_out")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait("stalled", self._limits.write_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop("stalled")

    def drop(self, why: str) -> None:
        """Close it at once, whatever it holds."""
        self._all.ended.labels(why).inc()
        self._all.waiting.pop(self, None)
        self.transport.abort()

    def _wait(self, why: str, seconds: float) -> None:
        """For the client: to send, or to read."""
        self._stop(why)
        self._timers[why] = self.loop.call_later(seconds, self.drop, why)
        self._all.waiting.setdefault(self)

    def _stop(self, why: str) -> None:
        if timer := self._timers.pop(why, None):
            timer.cancel()
        if not self._timers:
            self._all.waiting.pop(self, None)
