"""Where the work of requests is done: a few threads beside the event loop, and a bounded number of waiting requests.

Threads cannot be stopped from outside, so work asks between recurrent steps whether anybody still waits for it. Only
one of them computes at a time (see `turns`); the others are there so that short work overtakes long work.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from gridsum.serve.limits import LimitError
from gridsum.serve.together import Elsewhere
from gridsum.serve.turns import Turns

T = TypeVar("T")
GoOn = Callable[[], None]
"""Called between recurrent steps; raises once nobody waits for the result."""


class GivenUp(Exception):
    """Nobody waits for this work any more."""


class Closing(Exception):
    """The server stops, and takes on nothing new."""


class Workshop:
    def __init__(self, workers: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="gridsum-worker")
        self._turns = Turns()
        self._places = workers + waiting
        self._waiting = waiting
        self._taken = 0
        self._lock = threading.Lock()
        self.closing = False
        """Whether the server is being stopped; requests that come now are turned away."""
        self._working: set[asyncio.Future[Any]] = set()

    @property
    def taken(self) -> int:
        """Requests that are being worked on or wait."""
        return self._taken

    async def do(
        self,
        work: Callable[[GoOn], T],
        gone: Callable[[], Coroutine[Any, Any, None]],
        told: "Future[T] | None" = None,
    ) -> T:
        """The result of `work`, unless `gone` returns first: then the work is given up.

        `told` has the result as soon as other work has come to it.
        """
        if self.closing:
            raise Closing
        with self._lock:
            if self._taken >= self._places:
                raise LimitError(
                    "max_waiting",
                    f"all workers are busy and {self._waiting:,} requests wait already (max-waiting); "
                    "try again in a moment",
                )
            self._taken += 1
        given_up = threading.Event()

        def run() -> T:
            while True:
                try:
                    with self._turns.turn() as turn:

                        def go_on() -> None:
                            if given_up.is_set():
                                raise GivenUp
                            turn.pass_on()

                        return work(go_on)
                except Elsewhere as other:
                    other.done.wait()  # and meanwhile let it have the turn

        future = self._pool.submit(run)
        future.add_done_callback(self._leave)
        working, leaving = asyncio.wrap_future(future), asyncio.ensure_future(gone())
        stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._working.add(stopped)
        elsewhere = stopped if told is None else asyncio.wrap_future(told)
        try:
            await asyncio.wait({working, elsewhere, leaving, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if told is not None and told.done():
                return told.result()
            if not working.done():
                raise Closing if stopped.done() else GivenUp
            return working.result()
        finally:
            self._working.discard(stopped)
            given_up.set()
            working.cancel()  # work that has not begun leaves the queue
            leaving.cancel()

    def stop(self) -> None:
        """Give up all work, from any thread: whoever still waits is told that the server stops."""
        self.closing = True
        for stopped in tuple(self._working):
            with suppress(RuntimeError):  # its loop has ended
                stopped.get_loop().call_soon_threadsafe(lambda each=stopped: each.done() or each.set_result(None))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self, _: Future[Any]) -> None:
        with self._lock:
            self._taken -= 1
