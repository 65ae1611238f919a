"""The server on a network: slow clients, many connections, other hosts, tokens, a stop while it works."""

import dataclasses
import logging
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from gridsum.cli.parsing import UsageError
from gridsum.cli.serve import _token
from gridsum.config.paper import Config
from gridsum.model.paper import Network
from gridsum.model.store import save_run
from gridsum.serve.metrics import FewLines, Metrics
from gridsum.serve.together import Elsewhere, Together
from tests.serve.conftest import SMALL, served


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that computes for minutes."""
    folder = tmp_path_factory.mktemp("endless")
    config = dataclasses.replace(SMALL, halting="fixed", fixed_steps=10**5)
    whole = dataclasses.replace(Config(), variant="fixedTime", model=config)
    save_run(folder / "weights.safetensors", Network(config, (0,)), 0, whole, 0)
    return str(folder)


def solve(port: int, expression: str = "58+67", **headers: str) -> httpx.Response:
    return httpx.post(f"http://127.0.0.1:{port}/solve", json={"expression": expression}, headers=headers, timeout=600)


def slow(port: int, sent: bytes = b"POST /solve HTTP/1.1\r\nhost: local") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(sent)
    return connection


@pytest.fixture(scope="module")
def guarded() -> Iterator[int]:
    """At most 20 connections; another name."""
    options = ("--model", "exact", "--read-seconds", "600", "--max-connections", "20", "--host-name", "sums.example")
    with served(*options) as (port, _):
        yield port


@pytest.fixture(scope="module")
def impatient() -> Iterator[int]:
    """A second to send a request."""
    with served("--model", "exact", "--read-seconds", "1") as (port, _):
        yield port


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /solve HTTP/1.1\r\nhost: local",
        b"POST /solve HTTP/1.1\r\nhost: localhost\r\ncontent-length: 20\r\n\r\n{",
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_request_has_to_arrive_in_time(impatient: int, sent: bytes):
    with slow(impatient, sent) as connection:
        connection.settimeout(600)
        answer = b""
        try:
            while piece := connection.recv(4096):
                answer += piece
        except ConnectionResetError:
            pass
    assert answer == b"" or b"408 Request Timeout" in answer
    assert (b"408" in answer) == (b"content-length" not in sent)


def test_slow_connections_do_not_keep_others_out(guarded: int):
    with ExitStack() as held:
        for _ in range(60):
            held.enter_context(slow(guarded))
        assert solve(guarded).json()["answer"] == "125"
        told = httpx.get(f"http://127.0.0.1:{guarded}/metrics", timeout=600).text
        displaced = re.search(r"gridsum_connections_displaced_total (\d+)", told)
        assert displaced
        assert 40 <= int(displaced[1]) <= 45, "no more than have to be"
        assert 'gridsum_requests_total{status="200"}' in told
        assert 'gridsum_request_seconds_bucket{le="+Inf"}' in told


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("127.0.0.1:99", 200),
        ("[::1]:8000", 200),
        ("Sums.Example:80", 200),
        ("evil.example", 421),
        ("8.8.8.8", 421),
        ("localhost.evil.example", 421),
        ("", 421),
    ],
)
def test_a_host_that_is_not_this_one_is_refused(guarded: int, host: str, status: int):
    answer = httpx.get(f"http://127.0.0.1:{guarded}/limits", headers={"host": host}, timeout=600)
    assert answer.status_code == status
    assert "content-security-policy" in answer.headers
    if status == 421:
        assert "--host-name" in answer.json()["error"]


def test_a_token_is_asked_for(tmp_path: Path):
    file = tmp_path / "token"
    file.write_text("open-sesame\n")
    with served("--model", "exact", "--token-file", str(file)) as (port, _):
        page = f"http://127.0.0.1:{port}/"
        assert httpx.get(page, timeout=600).status_code == 401
        assert "Bearer TOKEN" in solve(port).json()["error"]
        assert solve(port, authorization="Bearer wrong-token").status_code == 401
        assert solve(port, authorization="Bearer open-sesame").json()["answer"] == "125"
        assert httpx.get(f"{page}health", timeout=600).status_code == 200
        with httpx.Client(timeout=600) as browser:
            assert browser.get(f"{page}?token=open-sesame").status_code == 200
            assert "HttpOnly" in browser.get(f"{page}?token=open-sesame").headers["set-cookie"]
            assert browser.get(f"{page}limits").status_code == 200, "a cookie keeps it"


@pytest.mark.parametrize("token", ["", "short", "open sesame, please"])
def test_a_token_that_protects_nothing_is_refused(tmp_path: Path, token: str):
    (tmp_path / "token").write_text(token + "\n")
    with pytest.raises(UsageError, match="at least 8 letters"):
        _token(str(tmp_path / "token"))


def _wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 600  # however busy the machine is
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_requests_in_flight_end_or_are_told_when_the_server_is_stopped(endless: str):
    with served("--model", "base", "--model", endless, "--grace-seconds", "5") as (port, server):
        address = f"http://127.0.0.1:{port}"

        def taken() -> int:
            return httpx.get(f"{address}/health", timeout=600).json()["taken"]

        with ThreadPoolExecutor(2) as clients:
            body = {"expression": "1+1", "model": endless}
            going = clients.submit(httpx.post, f"{address}/solve", json=body, timeout=600)
            _wait_until(lambda: taken() == 1)
            short = clients.submit(solve, port)
            _wait_until(lambda: taken() == 2 or short.done())
            server.signal(signal.SIGTERM)
            assert going.result().status_code == 503
            assert "being stopped" in going.result().json()["error"]
            assert short.result().json()["answer"] == "125"
        assert server.wait() == 0
        assert "Traceback" not in server.said.read()


def test_short_sums_by_a_rule_do_not_wait_for_workers(endless: str):
    options = ("--model", "exact", "--model", endless, "--workers", "1", "--max-waiting", "1")
    with served(*options) as (port, server), ThreadPoolExecutor(2) as clients:
        address = f"http://127.0.0.1:{port}"
        try:
            for taken in (1, 2):
                clients.submit(
                    httpx.post, f"{address}/solve", json={"expression": "1+1", "model": endless}, timeout=600
                )
                _wait_until(lambda taken=taken: httpx.get(f"{address}/health", timeout=600).json()["taken"] == taken)
            assert solve(port, "999+1").json()["answer"] == "1000"
            assert solve(port, "+".join(["123456789"] * 40)).status_code == 429, "a long one finds all places taken"
        finally:
            server.signal(signal.SIGKILL)  # which ends the clients


def test_a_log_says_how_much_it_leaves_out(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr("gridsum.serve.metrics.time", SimpleNamespace(monotonic=lambda: now[0]))
    log, lines = logging.getLogger("test.few"), []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    few = FewLines(3, 60)
    log.addHandler(handler)
    log.addFilter(few)
    log.propagate = False
    for number in range(100):
        log.warning("line %d", number)
    now[0] += 60
    log.warning("a line later")
    assert lines == ["line 0", "line 1", "line 2", "(97 lines were left out before this one) a line later"]


def test_times_are_counted_up_to_their_bounds():
    metrics = Metrics()
    for seconds in (0.01, 0.02, 5.0, 50.0):
        metrics.answered(200, seconds)
    text = metrics.text({"connections": 3}, {})
    for line in ('le="0.01"} 1', 'le="0.03"} 2', 'le="3.0"} 2', 'le="10.0"} 3', 'le="+Inf"} 4', "connections 3"):
        assert line in text


def test_sums_that_wait_together_are_solved_together():
    batches = []

    def double(numbers, go_on):
        go_on()
        batches.append(list(numbers))
        return [2 * number for number in numbers]

    together = Together[int, int](double)
    places = [together.join("even" if number % 2 == 0 else "odd", number) for number in range(5)]
    assert together.answer(places[0], lambda: None) == 0
    assert [place.told.done() for place in places] == [True, False, True, False, True], "told without asking"
    assert [together.answer(place, lambda: None) for place in places] == [0, 2, 4, 6, 8]
    assert batches == [[0, 2, 4], [1, 3]]

    def given_up():
        raise TimeoutError

    first, second = together.join("even", 6), together.join("even", 8)
    with pytest.raises(TimeoutError):
        together.answer(first, given_up)
    together.leave(first)
    assert together.answer(second, lambda: None) == 16
    assert batches[-1] == [8], "who has left is not solved for"
    assert second.told.result() == 16
    assert not first.told.done()


def test_nothing_is_solved_twice_while_a_batch_has_given_its_turn_away():
    solved = []

    def slowly(numbers, go_on):
        solved.append(list(numbers))
        with pytest.raises(Elsewhere) as other:
            together.answer(second, go_on)  # somebody else has the turn meanwhile
        assert not other.value.done.is_set()
        return numbers

    together = Together[int, int](slowly)
    first, second = together.join("kind", 1), together.join("kind", 2)
    assert together.answer(first, lambda: None) == 1
    assert together.answer(second, lambda: None) == 2
    assert solved == [[1, 2]]
