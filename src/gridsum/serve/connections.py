"""Connections that cannot hold the server up: a request has to arrive in time, an answer to be taken in time.

There are at most so many connections. One more takes the place of the one that has been waiting longest for its client,
to send or to read, so clients that do either slowly, or never, do not keep out those that ask. uvicorn has a limit
beyond which it refuses everybody, and no limit on reading and writing.
"""

import asyncio
from typing import Any

import h11
from prometheus_client import CollectorRegistry, Counter, Gauge
from uvicorn.protocols.http.h11_impl import H11Protocol

from gridsum.serve.limits import Limits


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
        self._wait("timed_out", self._limits.read_seconds)
        if len(self.connections) > self._limits.max_connections:
            next(iter(self._all.waiting))._drop("displaced")

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state in (h11.DONE, h11.MUST_CLOSE):  # a whole request is there
            self._stop("timed_out")
            if self.conn.trailing_data[0]:  # and a part of another, before its answer: that one has to come anew
                self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        self.answering = None
        if not self.transport.is_closing():
            self._wait("timed_out", self._limits.read_seconds)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait("stalled", self._limits.write_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop("stalled")

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.open.dec()
        for why in tuple(self._timers):
            self._stop(why)
        super().connection_lost(exc)
        if self.answering is not None:
            self.answering.cancel()

    def _wait(self, why: str, seconds: float) -> None:
        """For the client: to send, or to read."""
        self._stop(why)
        self._timers[why] = self.loop.call_later(seconds, self._drop, why)
        self._all.waiting.setdefault(self)

    def _stop(self, why: str) -> None:
        if timer := self._timers.pop(why, None):
            timer.cancel()
        if not self._timers:
            self._all.waiting.pop(self, None)

    def _drop(self, why: str) -> None:
        """Close it at once, whatever it holds."""
        self._all.ended.labels(why).inc()
        self._all.waiting.pop(self, None)
        self.transport.abort()
