"""Where the work of requests is done: a few threads beside the event loop, and a bounded number of waiting requests.

Threads cannot be stopped from outside, so work asks between recurrent steps whether anybody still waits for it. Only
one of them computes at a time (see `turns`); the others are there so that short work overtakes long work.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from gridsum.serve.limits import LimitError
from gridsum.serve.turns import Turns

T = TypeVar("T")
GoOn = Callable[[], None]
"""Called between recurrent steps; raises once nobody waits for the result."""


class GivenUp(Exception):
    """Nobody waits for this work any more."""


class Workshop:
    def __init__(self, workers: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="gridsum-worker")
        self._turns = Turns()
        self._places = workers + waiting
        self._waiting = waiting
        self._taken = 0
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        """Requests that are being worked on or wait."""
        return self._taken

    async def do(self, work: Callable[[GoOn], T], gone: Callable[[], Coroutine[Any, Any, None]]) -> T:
        """The result of `work`, unless `gone` returns first: then the work is given up."""
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
            with self._turns.turn() as turn:

                def go_on() -> None:
                    if given_up.is_set():
                        raise GivenUp
                    turn.pass_on()

                return work(go_on)

        future = self._pool.submit(run)
        future.add_done_callback(self._leave)
        working, leaving = asyncio.wrap_future(future), asyncio.ensure_future(gone())
        try:
            await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise GivenUp
            return working.result()
        finally:
            given_up.set()
            working.cancel()  # work that has not begun leaves the queue
            leaving.cancel()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _leave(self, _: Future[Any]) -> None:
        with self._lock:
            self._taken -= 1
