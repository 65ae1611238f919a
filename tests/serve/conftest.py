"""A real server as a process of its own, and small models to serve beside the shipped ones."""

import dataclasses
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gridsum.config.fields import override
from gridsum.config.paper import Config, ModelConfig
from gridsum.model.rollout import Network
from gridsum.model.store import save_run
from tests.children import Beside, command
from tests.oracles.sizes import SMALLEST

SOURCE = Path(__file__).parents[2] / "src"
SMALL = override(Config(), SMALLEST).model


@contextmanager
def served(*options: str, **variables: str) -> Iterator[tuple[int, Beside]]:
    """A real server: its port and its process."""

    def work() -> int:
        os.environ.update(variables)
        return command("serve", "--port", "0", *options)()

    server = Beside(work)
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


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 600  # however busy the machine is
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def saved(folder: Path, model: ModelConfig, variant: str, seed: int) -> str:
    """The name of an untrained model on disk."""
    config = dataclasses.replace(Config(), variant=variant, model=model)
    save_run(folder / variant / "weights.safetensors", Network(model, (seed,)), 0, config, seed)
    return str(folder / variant)


@pytest.fixture(scope="session")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that cannot add."""
    return saved(tmp_path_factory.mktemp("models"), SMALL, "base", 3)


@pytest.fixture(scope="session")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that does not choose when to halt."""
    folder = tmp_path_factory.mktemp("models")
    return saved(folder, dataclasses.replace(SMALL, halting="fixed"), "fixedTime", 4)


@pytest.fixture(scope="session")
def server(untrained: str, fixed: str) -> Iterator[str]:
    """The address of `gridsum serve`."""
    models = (part for name in ("exact", "base", untrained, fixed) for part in ("--model", name))
    with served("--max-digits", "400", *models) as (port, _):
        yield f"http://127.0.0.1:{port}"
