"""A real server as a process of its own, and small models to serve beside the shipped ones."""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from gridsum.config.fields import override
from gridsum.config.paper import Config
from gridsum.model.rollout import Network
from gridsum.model.store import save_run
from tests.children import Beside, command
from tests.oracles.sizes import SMALLEST

SMALL = override(Config(), SMALLEST).model


@contextmanager
def served(*options: str) -> Iterator[tuple[int, Beside]]:
    """A real server: its port and its process."""

    server = Beside(command("serve", "--port", "0", *options))
    try:
        told = server.said.readline()
        port = re.search(r"http://[^ ]*:(\d+) ", told)
        assert port, told + server.said.read()
        yield int(port[1]), server
    finally:
        server.end()


def request(expression: str, model: str | None = None) -> bytes:
    """A sum as it is asked for on a connection."""
    body = json.dumps({"expression": expression, "model": model}).encode()
    head = f"POST /solve HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"content-type: application/json\r\n\r\n" + body


def get(port: int, path: str, **how: Any) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=600, **how)


def solve(port: int, expression: object = "58+67", headers: dict[str, str] | None = None, **more: Any) -> Any:
    body = {"expression": expression, **more}
    return httpx.post(f"http://127.0.0.1:{port}/solve", json=body, headers=headers, timeout=600)


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Makes an untrained model on disk, whose name it returns."""

    def save(variant: str = "base", **model: Any) -> str:
        folder = tmp_path_factory.mktemp("models")
        config = dataclasses.replace(Config(), variant=variant, model=dataclasses.replace(SMALL, **model))
        save_run(folder / "weights.safetensors", Network(config.model, (3,)), 0, config, 3)
        return str(folder)

    return save


@pytest.fixture(scope="session")
def endless(saved: Callable[..., str]) -> str:
    """A model that computes for minutes."""
    return saved("fixedTime", halting="fixed", fixed_steps=10**5)


@pytest.fixture(scope="session")
def untrained(saved: Callable[..., str]) -> str:
    """A model that cannot add."""
    return saved()


@pytest.fixture(scope="session")
def server(untrained: str) -> Iterator[int]:
    with served("--model", "exact", "--model", "base", "--model", untrained) as (port, _):
        yield port
