"""One computes at a time, clients in turn, and of a client's jobs the one that has computed least."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gridsum.serve import scheduler as module
from gridsum.serve.scheduler import GoOn, Scheduler


@pytest.fixture(autouse=True)
def _short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SLICE_SECONDS", 0.01)


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    # In a thread of its own: where a browser has been driven before, this one has a loop that runs.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(asyncio.wait_for(work(), 600))).result()


def long_work(until: threading.Event) -> Callable[..., list[str]]:
    """Computes until it is told to stop."""

    def work(_: Any, go_on: GoOn) -> list[str]:
        while not until.is_set():
            time.sleep(0.002)
            go_on()
        return ["done"]

    return work


async def begun(scheduler: Scheduler) -> None:
    while scheduler._computing is None:
        await asyncio.sleep(0.001)


def test_only_one_computes_at_a_time():
    scheduler, computing, most = Scheduler(4, 100), 0, 0

    def work(_: Any, go_on: GoOn) -> list[None]:
        nonlocal computing, most
        for _ in range(20):
            computing += 1
            most = max(most, computing)
            time.sleep(0.001)
            computing -= 1
            go_on()
        return [None]

    async def everybody() -> None:
        await asyncio.gather(*(scheduler.do(f"client {index % 3}", work) for index in range(9)))

    run(everybody)
    assert (most, computing, scheduler.taken, scheduler._seconds) == (1, 0, 0, {})


def test_clients_with_long_work_share_the_time():
    scheduler, until = Scheduler(4, 100), threading.Event()
    seconds, clients = {"many": 0.0, "one": 0.0}, ["many"]

    def work(name: str) -> Callable[..., list[None]]:
        def compute(_: Any, go_on: GoOn) -> list[None]:
            while not until.is_set():
                time.sleep(0.002)
                seconds[name] += 0.002
                if seconds["many"] + seconds["one"] > 0.8 and "one" in clients:
                    until.set()
                go_on()
            return [None]

        return compute

    async def everybody() -> None:
        tasks = [asyncio.ensure_future(scheduler.do("many", work("many"))) for _ in range(8)]
        await asyncio.sleep(0.3)
        seconds["many"] = 0.0
        clients.append("one")
        tasks.append(asyncio.ensure_future(scheduler.do("one", work("one"))))
        await asyncio.gather(*tasks)

    run(everybody)
    assert 0.5 < seconds["one"] / seconds["many"] < 2


def test_what_waits_together_is_done_together():
    scheduler, until, batches = Scheduler(1, 100), threading.Event(), []

    def double(numbers: Sequence[int], go_on: GoOn) -> list[int]:
        go_on()
        batches.append(list(numbers))
        return [2 * number for number in numbers]

    async def everybody() -> None:
        first = asyncio.ensure_future(scheduler.do("a", long_work(until)))
        await begun(scheduler)
        asked = [scheduler.do("a", double, number, "even" if number % 2 == 0 else "odd") for number in range(5)]
        tasks = [asyncio.ensure_future(one) for one in asked]
        await asyncio.sleep(0.05)
        tasks[2].cancel()
        await asyncio.sleep(0.05)
        until.set()
        assert await asyncio.gather(first, *tasks[:2], *tasks[3:]) == ["done", 0, 2, 6, 8]

    run(everybody)
    assert batches == [[0, 4], [1, 3]], "who has left is not solved for"


def test_work_that_fails_is_told_and_work_that_nobody_wants_is_given_up():
    scheduler, never = Scheduler(1, 100), threading.Event()

    async def everybody() -> None:
        def fail(*_: Any) -> list[Any]:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await scheduler.do("a", fail)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(scheduler.do("a", long_work(never)), 0.05)
        while scheduler.taken:
            await asyncio.sleep(0.001)
        never.set()
        assert await scheduler.do("a", long_work(never)) == "done"

    run(everybody)
