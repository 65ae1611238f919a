"""A real server as a process of its own, and small models to serve beside the shipped ones."""

import dataclasses
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridsum.config import Config, ModelConfig
from gridsum.fields import override
from gridsum.model.paper import Network
from gridsum.store import save_run
from tests.oracles.sizes import SMALLEST

SOURCE = Path(__file__).parents[2] / "src"
SMALL = override(Config(), SMALLEST).model


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
    arguments = [
        "serve",
        "--port",
        "0",
        "--max-digits",
        "400",
        "--model",
        "exact",
        "--model",
        "base",
        "--model",
        untrained,
        "--model",
        fixed,
    ]
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "gridsum", *arguments], env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+", told)
        assert address, told + process.stderr.read()
        yield address[0]
        process.terminate()
