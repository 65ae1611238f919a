"""Connections that cannot hold the server up: a request has to arrive in time, an answer to be taken in time.

There are at most so many connections. One more takes the place of the one that has been waiting longest for its client,
to send or to read, so clients that do either slowly, or never, do not keep out those that ask. uvicorn has a limit
beyond which it refuses everybody, and no limit on reading and writing.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from gridsum.serve.limits import Limits


class Connection(H11Protocol):
    def __init__(
        self, limits: Limits, waiting: "dict[Connection, None]", app_state: dict[str, Any], **given: Any
    ) -> None:
        """`waiting` are all that wait for their client, the one that waits longest first."""
        # So the application finds the connection in its requests.
        super().__init__(app_state={**app_state, "connection": self}, **given)
        self._limits, self._all_waiting = limits, waiting
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self.answering: asyncio.Task[Any] | None = None
        """Is cancelled when the client goes."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        transport.set_write_buffer_limits(0)  # so that `pause_writing` tells of anything unread
        super().connection_made(transport)
        self._wait("to send", self._limits.read_seconds)
        if len(self.connections) > self._limits.max_connections:
            next(iter(self._all_waiting))._drop()

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state in (h11.DONE, h11.MUST_CLOSE):  # a whole request is there
            self._stop("to send")
            if self.conn.trailing_data[0]:  # and a part of another, before its answer: that one has to come anew
                self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        self.answering = None
        if not self.transport.is_closing():
            self._wait("to send", self._limits.read_seconds)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait("to read", self._limits.write_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop("to read")

    def connection_lost(self, exc: Exception | None) -> None:
        for what in tuple(self._timers):
            self._stop(what)
        super().connection_lost(exc)
        if self.answering is not None:
            self.answering.cancel()

    def _wait(self, what: str, seconds: float) -> None:
        """For the client to do something; it is closed once that takes too long."""
        self._stop(what)
        self._timers[what] = self.loop.call_later(seconds, self._drop)
        self._all_waiting.setdefault(self)

    def _stop(self, what: str) -> None:
        if timer := self._timers.pop(what, None):
            timer.cancel()
        if not self._timers:
            self._all_waiting.pop(self, None)

    def _drop(self) -> None:
        """Close it at once, whatever it holds."""
        self._all_waiting.pop(self, None)
        self.transport.abort()
