"""The server on a network: slow clients, many connections, other hosts, tokens, a stop while it works."""

import dataclasses
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx
import pytest

from gridsum.config.paper import Config
from gridsum.model.rollout import Network
from gridsum.model.store import save_run
from gridsum.serve.guard import Access
from gridsum.serve.server import TOKEN, ServeError, read_token
from tests.serve.conftest import SMALL, request, served, wait_until


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


def metrics(port: int) -> str:
    return httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=600).text


def counted(port: int, name: str) -> float:
    found = re.findall(rf"^{re.escape(name)} (\S+)$", metrics(port), re.MULTILINE)
    return float(found[0]) if found else 0.0


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
        with suppress(ConnectionResetError):
            assert connection.recv(4096) == b"", "it is closed without an answer"


def test_slow_connections_do_not_keep_others_out(guarded: int):
    displaced = 'gridsum_connections_ended_total{why="displaced"}'
    before = counted(guarded, displaced)
    with ExitStack() as held:
        for _ in range(60):
            held.enter_context(slow(guarded))
        assert solve(guarded).json()["answer"] == "125"
        assert 40 <= counted(guarded, displaced) - before <= 45, "no more than have to"
        assert counted(guarded, 'gridsum_request_seconds_count{status="200"}') >= 1


def unread(port: int, requests: int = 1) -> socket.socket:
    """A client that asks for much, and reads nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.sendall(b"GET /preview.png HTTP/1.1\r\nhost: localhost\r\n\r\n" * requests)
    return connection


@pytest.mark.parametrize("requests", [1, 100], ids=["one request", "pipelined"])
def test_clients_that_never_read_do_not_keep_others_out(guarded: int, requests: int):
    with ExitStack() as held:
        for _ in range(60):
            held.enter_context(unread(guarded, requests))
        for _ in range(30):
            assert httpx.get(f"http://127.0.0.1:{guarded}/health", timeout=60).status_code == 200


def test_further_requests_before_an_answer_are_bounded(endless: str):
    with served("--model", endless) as (port, _), slow(port, b"") as connection:
        connection.sendall(request("1+1"))
        connection.settimeout(1)
        with pytest.raises(TimeoutError):  # nobody reads on
            connection.sendall(request("1+1") * 1_000_000)


def test_an_upgrade_leaves_no_connection_behind():
    pytest.importorskip("websockets", reason="without one, uvicorn takes no upgrades anyway")
    upgrade = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    upgrade += b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    with served("--model", "exact", "--read-seconds", "600") as (port, _):
        before = counted(port, "gridsum_connections_open")
        for _ in range(20):
            with slow(port, upgrade) as connection:
                assert connection.recv(12) == b"HTTP/1.1 200", "it is answered as any other request"
        wait_until(lambda: counted(port, "gridsum_connections_open") <= before)


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
    answer = httpx.get(f"http://127.0.0.1:{guarded}/limits", headers={"host": host}, timeout=600)
    assert answer.status_code == status
    assert "content-security-policy" in answer.headers
    if status == 421:
        assert "--host-name" in answer.json()["error"]


def test_a_token_is_asked_for(tmp_path: Path):
    file = tmp_path / "token"
    file.write_text("open-sesame\n")
    file.chmod(0o600)
    with served("--model", "exact", "--token-file", str(file)) as (port, _):
        page = f"http://127.0.0.1:{port}/"
        assert httpx.get(page, timeout=600).status_code == 401
        assert "Bearer TOKEN" in solve(port).json()["error"]
        assert solve(port, authorization="Bearer wrong-token").status_code == 401
        assert solve(port, authorization="Bearer open-sesame").json()["answer"] == "125"
        assert httpx.get(f"{page}health", timeout=600).status_code == 200
        assert httpx.get(page, auth=("anybody", "open-sesame"), timeout=600).status_code == 200, "as a browser asks"
        for wrong in (b"Basic b3Blbi1zZXNhbWU=", b"Basic \xff", b"Basic", b"open-sesame", b"Bearer \xff"):
            assert httpx.get(page, headers=[(b"authorization", wrong)], timeout=600).status_code == 401


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch):
    """By no `==`, which ends at the first byte that differs."""
    compared: list[tuple[bytes, bytes]] = []
    monkeypatch.setattr("hmac.compare_digest", lambda *both: compared.append(both) or False)
    access = Access(token="open-sesame")
    assert not access.allows("Bearer open-sesame")
    assert not access.allows("Basic OndoYXRldmVy")
    assert compared == [(b"open-sesame", b"open-sesame"), (b"whatever", b"open-sesame")]


@pytest.mark.parametrize("token", [b"", b"short", b"open sesame, please", b"\xff\xfeopen-sesame"])
def test_a_token_that_protects_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: bytes):
    (tmp_path / "token").write_bytes(token + b"\n")
    with pytest.raises(ServeError, match="token: that is at least 8 letters"):
        read_token(str(tmp_path / "token"), lambda _: None)
    monkeypatch.setenv(TOKEN, os.fsdecode(token))
    with pytest.raises(ServeError, match="no token in the variable GRIDSUM_TOKEN"):
        read_token(None, lambda _: None)


def test_a_token_that_everybody_can_read_is_told_of(tmp_path: Path):
    (tmp_path / "token").write_text("open-sesame")
    told: list[str] = []
    for mode in (0o600, 0o644):
        (tmp_path / "token").chmod(mode)
        assert read_token(str(tmp_path / "token"), told.append) == "open-sesame"
    assert [line.startswith("everybody on this machine can read") for line in told] == [True]


def test_long_headers_are_refused_before_anybody_reads_them(guarded: int):
    """The standard library takes 12 s for 60 kB of a cookie."""
    for cookie, status in (('a="' + "\\1" * 6_000 + '"', 200), ('a="' + "\\1" * 30_000 + '"', 431)):
        began = time.monotonic()
        answer = httpx.get(f"http://127.0.0.1:{guarded}/limits", headers={"cookie": cookie}, timeout=600)
        assert answer.status_code == status
        assert time.monotonic() - began < 5
    assert httpx.get(f"http://127.0.0.1:{guarded}/{'a' * 20_000}", timeout=600).status_code == 431


def test_requests_in_flight_end_or_are_told_when_the_server_is_stopped(endless: str):
    with served("--model", "base", "--model", endless, "--grace-seconds", "5") as (port, server):
        address = f"http://127.0.0.1:{port}"

        def taken() -> int:
            return httpx.get(f"{address}/health", timeout=600).json()["taken"]

        with ThreadPoolExecutor(2) as clients:
            body = {"expression": "1+1", "model": endless}
            going = clients.submit(httpx.post, f"{address}/solve", json=body, timeout=600)
            wait_until(lambda: taken() == 1)
            short = clients.submit(solve, port)
            wait_until(lambda: taken() == 2 or short.done())
            server.signal(signal.SIGTERM)
            assert going.result().status_code == 503
            assert "being stopped" in going.result().json()["error"]
            assert short.result().json()["answer"] == "125"
        assert server.wait() == 0
        assert "Traceback" not in server.said.read()


def test_short_sums_by_a_rule_do_not_wait_for_workers(endless: str):
    options = ("--model", "exact", "--model", endless, "--workers", "1", "--max-waiting", "1")
    with served(*options) as (port, server), ExitStack() as held:
        for taken in (1, 2):
            held.enter_context(slow(port, request("1+1", endless)))
            wait_until(lambda taken=taken: counted(port, "gridsum_requests_taken") == taken)
        assert solve(port, "999+1").json()["answer"] == "1000"
        assert solve(port, "+".join(["123456789"] * 40)).status_code == 429, "a long one finds all places taken"
        server.signal(signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the loopback has one address")
def test_a_client_with_many_long_requests_does_not_starve_others(endless: str):
    options = ("--model", "base", "--model", endless, "--workers", "2", "--max-waiting", "8")
    with served(*options) as (port, server), ExitStack() as held:
        for _ in range(30):
            greedy = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0))
            held.enter_context(greedy).sendall(request("1+1", endless))
        wait_until(lambda: counted(port, "gridsum_requests_taken") == 10)
        for _ in range(5):
            began = time.monotonic()
            assert solve(port).json()["answer"] == "125"
            assert time.monotonic() - began < 10
        server.signal(signal.SIGKILL)
