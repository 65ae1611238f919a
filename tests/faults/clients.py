"""Clients that send slowly, or nothing, or break off: whoever asks is answered all the same."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx

from tests.serve.test_network import served, slow, solve

_BEGINNINGS = (
    b"",
    b"G",
    b"GET / HTTP/1.1\r\n",
    b"POST /solve HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n{",
    b"\0\xff\0\xff",
    b"POST /solve HTTP/1.1\r\nhost: " + b"x" * 5000,
)


def slow_clients(tries: int, seed: int = 0) -> Iterator[str | None]:
    """Every tenth client asks for a sum, and has to be answered within a second or two."""
    chance = random.Random(seed)
    with served("--model", "base", "--max-connections", "100", "--read-seconds", "5") as (port, _), ExitStack() as held:
        for index in range(tries):
            if index % 10 == 9:
                try:
                    answer = solve(port)
                    yield None if answer.json()["answer"] == "125" else f"answered with {answer.text}"
                except (httpx.HTTPError, KeyError) as error:
                    yield f"not answered: {error!r}"
                continue
            connection = slow(port, chance.choice(_BEGINNINGS))
            held.callback(connection.close)
            if chance.random() < 0.3:
                with suppress(OSError):
                    connection.close()
            yield None
