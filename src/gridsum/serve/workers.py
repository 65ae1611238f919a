"""Who computes: short sums of one kind together, of long ones some of every client at once, in threads."""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import HTTPException, Request

from gridsum.api.models import Between

_AT_ONCE = 4
"""Requests of one client that are worked on in turn, so that short ones overtake long ones."""


class Workers:
    def __init__(self, waiting: int) -> None:
        """So many requests of a client may wait."""
        self._waiting = waiting
        self._clients: defaultdict[str, CapacityLimiter] = defaultdict(partial(CapacityLimiter, _AT_ONCE))
        self._kinds: dict[Hashable, tuple[list[Any], asyncio.Future[Sequence[Any]]]] = {}
        """What is asked of each kind and waits for its turn, and what will be told of it."""
        self._turn = asyncio.Lock()

    @property
    def taken(self) -> int:
        """Long requests that are being worked on or wait."""
        told = [limiter.statistics() for limiter in self._clients.values()]
        return sum(one.borrowed_tokens + one.tasks_waiting for one in told)

    async def do(self, request: Request, work: Callable[[Between], Any]) -> Any:
        """The result of long work, which calls `go_on` between its steps; that ends it once its client has gone."""
        limiter = self._clients[request.client.host if request.client else ""]
        if limiter.statistics().tasks_waiting >= self._waiting:
            why = f"{self._waiting:,} requests of yours wait already (max-waiting); try again in a moment"
            raise HTTPException(429, why, {"retry-after": "1"})
        gone = threading.Event()

        def go_on() -> None:
            if gone.is_set():
                raise RuntimeError("nobody waits for this work any more")

        async def gone_away() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass

        working = asyncio.ensure_future(run_sync(work, go_on, abandon_on_cancel=True, limiter=limiter))
        leaving = asyncio.ensure_future(gone_away())
        try:
            await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise HTTPException(499, "the client has gone")
            return working.result()
        except asyncio.CancelledError:  # the time to stop is over
            raise HTTPException(503, "the server is being stopped; ask again", {"retry-after": "1"}) from None
        finally:
            gone.set()
            working.cancel()
            leaving.cancel()

    async def together(self, kind: Hashable, asked: Any, work: Callable[[list[Any]], Sequence[Any]]) -> Any:
        """The result of short work. Of one kind, what waits for its turn is done at once: many cost hardly more."""
        if kind not in self._kinds:
            self._kinds[kind] = [], asyncio.ensure_future(self._done(kind, work))
        waiting, told = self._kinds[kind]
        number = len(waiting)
        waiting.append(asked)
        return (await asyncio.shield(told))[number]

    async def _done(self, kind: Hashable, work: Callable[[list[Any]], Sequence[Any]]) -> Sequence[Any]:
        async with self._turn:
            return await run_sync(work, self._kinds.pop(kind)[0])
