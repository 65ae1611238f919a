"""The server on a network: slow clients, many connections, other hosts, tokens, a stop while it works."""

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

import pytest

from gridsum.serve.guard import Access
from gridsum.serve.server import TOKEN, ServeError, read_token
from tests.serve.conftest import get, request, served, solve, wait_until


def slow(port: int, sent: bytes = b"POST /solve HTTP/1.1\r\nhost: local") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(sent)
    return connection


def taken(port: int) -> int:
    return get(port, "/health").json()["taken"]


def connections(port: int) -> int:
    """Those that are open, with the one that asks."""
    return get(port, "/health").json()["connections"]


def closed(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


@pytest.fixture(scope="module")
def guarded() -> Iterator[int]:
    """At most 20 connections; another name."""
    options = ("--model", "exact", "--read-seconds", "600", "--max-connections", "20", "--host-name", "sums.example")
    with served(*options) as (port, _):
        yield port


def test_a_request_has_to_arrive_in_time():
    half = b"POST /solve HTTP/1.1\r\nhost: localhost\r\ncontent-length: 20\r\n\r\n{"
    with served("--model", "exact", "--read-seconds", "1") as (port, _), ExitStack() as held:
        for connection in [held.enter_context(slow(port, sent)) for sent in (b"", half[:30], half)]:
            connection.settimeout(250)
            with suppress(ConnectionResetError):
                assert connection.recv(4096) == b"", "it is closed without an answer"


def test_slow_connections_do_not_keep_others_out(guarded: int):
    with ExitStack() as held:
        opened = [held.enter_context(slow(guarded)) for _ in range(60)]
        assert solve(guarded).json()["answer"] == "125"
        assert 40 <= sum(map(closed, opened)) <= 45, "no more than have to"


def unread(port: int, requests: int = 1, path: bytes = b"/preview.png", head: bytes = b"") -> socket.socket:
    """A client that asks for much, and reads nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.sendall((b"GET " + path + b" HTTP/1.1\r\nhost: localhost\r\n" + head + b"\r\n") * requests)
    return connection


@pytest.mark.parametrize("requests", [1, 100], ids=["one request", "pipelined"])
def test_clients_that_never_read_do_not_keep_others_out(guarded: int, requests: int):
    with ExitStack() as held:
        for _ in range(60):
            held.enter_context(unread(guarded, requests))
        for _ in range(30):
            assert get(guarded, "/health").status_code == 200


def test_an_answer_has_to_be_taken_in_time():
    """Closing a connection waits for its client to read; a small answer stops no writing by itself."""
    with served("--model", "base", "--read-seconds", "600", "--write-seconds", "1") as (port, _), ExitStack() as held:
        for path in (b"/models/base.js", b"/preview.png"):
            for close in (b"", b"connection: close\r\n"):
                held.enter_context(unread(port, path=path, head=close))
        wait_until(lambda: connections(port) == 1)


def test_further_requests_before_an_answer_are_bounded(endless: str):
    with served("--model", endless) as (port, _), slow(port, b"") as connection:
        connection.sendall(request("1+1"))
        connection.settimeout(1)
        with pytest.raises(TimeoutError):  # nobody reads on
            connection.sendall(request("1+1") * 1_000_000)


def test_an_upgrade_leaves_no_connection_behind(guarded: int):
    pytest.importorskip("websockets", reason="without one, uvicorn takes no upgrades anyway")
    upgrade = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    upgrade += b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    before = connections(guarded)
    for _ in range(20):
        with slow(guarded, upgrade) as connection:
            assert connection.recv(12) == b"HTTP/1.1 200", "it is answered as any other request"
    wait_until(lambda: connections(guarded) <= before)


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


def test_a_token_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(TOKEN, "open-sesame")
    with served("--model", "exact") as (port, _):
        assert get(port, "/").status_code == 401
        assert "Bearer TOKEN" in solve(port).json()["error"]
        assert solve(port, headers={"authorization": "Bearer open-sesame"}).json()["answer"] == "125"
        assert get(port, "/health").status_code == 200
        assert get(port, "/", auth=("anybody", "open-sesame")).status_code == 200, "as a browser asks"
        for wrong in (b"Basic b3Blbi1zZXNhbWU=", b"Basic \xff", b"Basic", b"open-sesame", b"Bearer \xff", b"Bearer x"):
            assert get(port, "/", headers=[(b"authorization", wrong)]).status_code == 401


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch):
    """By no `==`, which ends at the first byte that differs."""
    compared: list[tuple[bytes, bytes]] = []
    monkeypatch.setattr("hmac.compare_digest", lambda *both: compared.append(both) or False)
    access = Access(token="open-sesame")
    assert not access.allows("Bearer open-sesame")
    assert not access.allows("Basic OndoYXRldmVy")
    assert compared == [(b"open-sesame", b"open-sesame"), (b"whatever", b"open-sesame")]


@pytest.mark.parametrize("token", [b"", b"short", b"open sesame, please", b"\xff\xfeopen-sesame"])
def test_a_token_that_protects_nothing_is_refused(monkeypatch: pytest.MonkeyPatch, token: bytes):
    monkeypatch.setenv(TOKEN, os.fsdecode(token))
    with pytest.raises(ServeError, match="no token in the variable GRIDSUM_TOKEN: that is at least 8 letters"):
        read_token()


def test_long_headers_are_refused_before_anybody_reads_them(guarded: int):
    """The standard library takes 12 s for 60 kB of a cookie."""
    for cookie, status in (('a="' + "\\1" * 6_000 + '"', 200), ('a="' + "\\1" * 30_000 + '"', 431)):
        began = time.monotonic()
        assert get(guarded, "/health", headers={"cookie": cookie}).status_code == status
        assert time.monotonic() - began < 5
    assert get(guarded, f"/{'a' * 20_000}").status_code == 431


def test_requests_in_flight_end_or_are_told_when_the_server_is_stopped(endless: str):
    with served("--model", "base", "--model", endless, "--grace-seconds", "5") as (port, server):
        with ThreadPoolExecutor(2) as clients:
            going = clients.submit(solve, port, model=endless)
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
def asking(port: int, model: str, now: int) -> Iterator[None]:
    """A request that nobody reads the answer of, and that is hung up on in the end."""
    with slow(port, request("1+1", model)):
        wait_until(lambda: taken(port) == now)
        yield


def test_who_finds_all_places_taken_is_told_and_who_goes_leaves_a_place(endless: str):
    options = ("--model", "exact", "--model", "base", "--model", endless, "--workers", "1", "--max-waiting", "1")
    with served(*options) as (port, _):
        with asking(port, endless, 1):
            with asking(port, "base", 2):
                assert solve(port, "999+1").json()["answer"] == "1000", "a short sum by a rule waits for nobody"
                answer = solve(port, "+".join(["123456789"] * 40))
                assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
                assert "1 requests wait already (max-waiting); try again" in answer.json()["error"]
            wait_until(lambda: taken(port) == 1)
        wait_until(lambda: taken(port) == 0)
        assert solve(port, model="base").json()["answer"] == "125"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the loopback has one address")
def test_a_client_with_many_long_requests_does_not_starve_others(endless: str):
    options = ("--model", "base", "--model", endless, "--workers", "2", "--max-waiting", "8")
    with served(*options) as (port, server), ExitStack() as held:
        for _ in range(30):
            greedy = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0))
            held.enter_context(greedy).sendall(request("1+1", endless))
        wait_until(lambda: taken(port) == 10)
        for _ in range(5):
            began = time.monotonic()
            assert solve(port).json()["answer"] == "125"
            assert time.monotonic() - began < 10
        server.signal(signal.SIGKILL)
