"""The server on a network: other hosts, clients that go or ask too much, a stop while it works."""

import asyncio
import signal
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from gridsum.cli import serve as serving
from gridsum.serve.workers import Workers
from tests.children import wait_until
from tests.serve.conftest import get, request, served, solve

LONG = "9" * 99 + "+1"
"""Is not done together with others."""


def taken(port: int) -> int:
    return get(port, "/health").json()["taken"]


@pytest.fixture(scope="module")
def guarded() -> Iterator[int]:
    """With another name."""
    with served("--model", "exact", "--host-name", "sums.example") as (port, _):
        yield port


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:99", 200),
        ("[::1]:8000", 200),
        ("Sums.Example:80", 200),
        ("evil.example", 421),
        ("::1", 421),
        ("localhost.evil.example", 421),
        ("", 421),
    ],
)
def test_a_host_that_is_not_this_one_is_refused(guarded: int, host: str, status: int):
    answer = get(guarded, "/health", headers={"host": host})
    assert answer.status_code == status
    assert "content-security-policy" in answer.headers
    if status == 421:
        assert "--host-name" in answer.json()["error"]


def test_long_headers_are_refused_before_anybody_reads_them(guarded: int):
    """The standard library takes 12 s for 60 kB of a cookie."""
    for cookie, status in (('a="' + "\\1" * 6_000 + '"', 200), ('a="' + "\\1" * 30_000 + '"', 431)):
        began = time.monotonic()
        assert get(guarded, "/health", headers={"cookie": cookie}).status_code == status
        assert time.monotonic() - began < 5
    assert get(guarded, f"/{'a' * 20_000}").status_code == 431


def test_requests_in_flight_end_or_are_told_when_the_server_is_stopped(endless: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(serving, "_GRACE_SECONDS", 5)
    with served("--model", "base", "--model", endless) as (port, server):
        with ThreadPoolExecutor(2) as clients:
            going = clients.submit(solve, port, LONG, model=endless)
            wait_until(lambda: taken(port) == 1)
            short = clients.submit(solve, port)
            wait_until(lambda: taken(port) == 2 or short.done())
            server.signal(signal.SIGTERM)
            assert going.result().status_code == 503
            assert "being stopped" in going.result().json()["error"]
            assert short.result().json()["answer"] == "125"
        assert server.wait() == 0
        assert "Traceback" not in server.said.read()


@contextmanager
def asking(port: int, model: str, now: int, source: str = "127.0.0.1") -> Iterator[None]:
    """A request that nobody reads the answer of, and that is hung up on in the end."""
    with socket.create_connection(("127.0.0.1", port), source_address=(source, 0)) as connection:
        connection.sendall(request(LONG, model))
        wait_until(lambda: taken(port) == now)
        yield


def test_who_asks_too_much_is_told_and_who_goes_leaves_a_place(endless: str):
    options = ("--model", "exact", "--model", "base", "--model", endless, "--max-waiting", "1")
    with served(*options) as (port, _):
        with ExitStack() as held:
            for now in range(1, 6):
                held.enter_context(asking(port, endless, now))
            assert solve(port, "999+1").json()["answer"] == "1000", "a short sum by a rule waits for nobody"
            answer = solve(port, LONG, model="base")
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
            assert "1 requests of yours wait already (max-waiting); try again" in answer.json()["error"]
        wait_until(lambda: taken(port) == 0)
        assert solve(port, model="base").json()["answer"] == "125"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the loopback has one address")
def test_a_client_with_many_long_requests_does_not_starve_others(endless: str):
    with served("--model", "base", "--model", endless) as (port, server), ExitStack() as held:
        for now in range(1, 31):
            held.enter_context(asking(port, endless, now, "127.0.0.2"))
        for _ in range(5):
            began = time.monotonic()
            assert solve(port).json()["answer"] == "125"
            assert time.monotonic() - began < 10
        server.signal(signal.SIGKILL)


def test_what_waits_together_is_done_together():
    batches: list[list[int]] = []

    def double(numbers: list[int]) -> list[int]:
        batches.append(list(numbers))
        return [2 * number for number in numbers]

    async def everybody() -> list[int]:
        workers = Workers(0)
        return await asyncio.gather(*(workers.together(number % 2, number, double) for number in range(5)))

    with ThreadPoolExecutor(1) as thread:  # where a browser has been driven before, this one has a loop that runs
        assert thread.submit(lambda: asyncio.run(everybody())).result() == [0, 2, 4, 6, 8]
    assert batches == [[0, 2, 4], [1, 3]]
