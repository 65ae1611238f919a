"""Clients that send slowly, or nothing, or break off: whoever asks is answered all the same."""

import asyncio
import json
import os
import random
import re
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

import httpx
import psutil

from tests.faults.injection import Tries
from tests.serve.conftest import request, served, solve
from tests.serve.test_network import slow

_BEGINNINGS = (
    b"",
    b"G",
    b"GET / HTTP/1.1\r\n",
    b"POST /solve HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n{",
    b"\0\xff\0\xff",
    b"POST /solve HTTP/1.1\r\nhost: " + b"x" * 5000,
)
_SLOW, _CLIENTS, _TURNS = 1000, 200, 6


def slow_clients(tries: int, seed: int = 0) -> Tries:
    """Every tenth client asks for a sum, and has to be answered."""
    chance = random.Random(seed)
    options = ("--model", "exact", "--max-connections", "100", "--read-seconds", "5")
    with served(*options) as (port, _), ExitStack() as held:
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


@dataclass
class Crowd:
    """What 200 clients met that each asked for a short sum every second, beside 1,000 slow connections."""

    model: str
    seconds: list[float] = field(default_factory=list)
    """How long each answer took, as its client saw it."""
    wrong: list[str] = field(default_factory=list)
    grown: int = 0
    """Kilobytes that the server took more after the second round than after the first."""

    def share(self, part: float) -> float:
        """So much of the answers came within these seconds."""
        return sorted(self.seconds)[int(part * len(self.seconds))]


def crowded(model: str, notes: list[str]) -> Crowd:
    crowd = Crowd(model)
    with served("--model", model) as (port, server), ExitStack() as held:
        for _ in range(_SLOW):
            held.enter_context(slow(port))
        process = psutil.Process(server.pid)
        before, sizes = process.cpu_times(), []
        for _ in range(2):
            asyncio.run(_everybody(port, crowd))
            sizes.append(process.memory_info().rss // 1024)
        after = process.cpu_times()
        spent = 1000 * (after.user + after.system - before.user - before.system) / (2 * _CLIENTS * _TURNS)
    crowd.grown = sizes[1] - sizes[0]
    notes.append(
        f"{model}: {len(crowd.seconds)} answers, half within {crowd.share(0.5):.3f} s, 99 of 100 within "
        f"{crowd.share(0.99):.3f} s, {spent:.1f} ms of a processor each; "
        f"memory grew by {crowd.grown / 1000:.1f} MB; load {os.getloadavg()[0]:.1f}"
    )
    return crowd


async def _everybody(port: int, crowd: Crowd) -> None:
    await asyncio.gather(*(_client(port, index, crowd) for index in range(_CLIENTS)))


async def _client(port: int, index: int, crowd: Crowd) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for turn in range(_TURNS):
        expression = f"{index % 90 + 10}+{turn + 10}"
        began = time.monotonic()
        try:
            answer, content = await _asked(reader, writer, request(expression))
        except (ConnectionError, asyncio.IncompleteReadError):
            # a client that a busy machine has held up for longer than a connection may be idle asks on a new one
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            answer, content = await _asked(reader, writer, request(expression))
        if b" 200 " not in answer or json.loads(content)["expected"] != str(index % 90 + turn + 20):
            crowd.wrong.append(f"{crowd.model}, {expression}: {content!r}")
        if turn:  # in the first they all connect
            crowd.seconds.append(time.monotonic() - began)
        await asyncio.sleep(1)
    writer.close()


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes) -> tuple[bytes, bytes]:
    """The head and the body of an answer."""
    writer.write(sent)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", answer)
    return answer, await reader.readexactly(int(length[1])) if length else b""


def crowds(notes: list[str]) -> Tries:
    """By the rule and by a network: everybody is answered, and the server's memory is steady."""
    for model in ("exact", "base"):
        crowd = crowded(model, notes)
        yield from crowd.wrong
        yield from (None for _ in range(len(crowd.seconds) - len(crowd.wrong)))
        yield f"{model}: the server grew by {crowd.grown} kB" if crowd.grown > 30_000 else None
