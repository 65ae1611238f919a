"""A cluster of several Ray nodes on this machine, whose nodes, workers and driver are killed while it works."""

import fcntl
import io
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest

from gridsum.cli import main
from gridsum.io.disk import holder
from gridsum.training.folders import load_checkpoint
from tests.faults.injection import Tries
from tests.faults.trainings import outcome
from tests.oracles.sizes import SMALLEST, as_options

_SHORT = {"task.terms": (1, 2), "task.bucket_bounds": (1,), "task.digits": (1, 2), "training.checkpoint_epochs": 1}
TINY = as_options(SMALLEST | _SHORT | {"training.steps_per_epoch": 2})
"""A training run in seconds."""
_PAUSE = (2.0, 8.0)
_HERE = {"node_ip_address": "127.0.0.1"}  # whatever stands between this machine and its own network card
_EPOCHS, _KEPT = 60, 5
"""Of a training run, and from one checkpoint to the next."""


def _driver(command: Sequence[str], address: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "gridsum", *command, "--on", address]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def workers_in(folder: Path) -> list[int]:
    """The processes that train in folders of a study: those whose locks are held, and are not a killed one's."""
    found = []
    for path in folder.glob("*/.lock"):
        with suppress(FileNotFoundError), path.open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                found += map(int, re.findall(r"^process (\d+)", holder(path.parent)))
    return found


def kept_logs(folder: Path) -> dict[Path, bytes]:
    """What checkpoints hold of the logs, with the time that each epoch took. Computed again, it takes another."""
    checkpoints = {path.parent: load_checkpoint(path.parent) for path in folder.glob("*/config.json")}
    lengths = {
        place / f"seed-{seed}" / "metrics.jsonl": length
        for place, checkpoint in checkpoints.items()
        if checkpoint is not None
        for seed, (length, _) in checkpoint.logs.items()
    }
    return {path: path.read_bytes()[:length] for path, length in lengths.items()}


def computed_again(kept: list[dict[Path, bytes]]) -> list[Path]:
    """The logs of which epochs were computed again, though a checkpoint held them."""
    return [path for logs in kept for path, log in logs.items() if not path.read_bytes().startswith(log)]


def killed_sweep(place: Path, kills: int) -> Tries:
    """A small sweep, undisturbed in this process and then on a cluster, with so many kills; what it leaves has to be as
    if there had been none, and nothing may be computed twice that a checkpoint holds."""
    from ray.cluster_utils import Cluster  # pyright: ignore[reportMissingImports]

    axis = ["--grid", "training.learning_rate=1e-3,2e-3,3e-3", "--seeds", "0", "--training.epochs", str(_EPOCHS)]
    axis += ["--training.checkpoint_epochs", str(_KEPT)]
    here, folder = place / "here", place / "killed"
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        assert main(["sweep", "--out", str(here), *TINY, *axis, "--device", "cpu"]) == 0
    command = ["sweep", "--out", str(folder), *TINY, *axis]
    chance = random.Random(0)
    try:
        cluster: Any = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **_HERE}
        )
    except Exception as error:  # what Ray raises where a machine is so busy that its head does not come up in time
        pytest.skip(f"no cluster of Ray's could be started: {error}")
    alive = [cluster.add_node(num_cpus=1, **_HERE) for _ in range(2)]
    driver = _driver(command, cluster.address)
    done, kept = 0, []
    try:
        while done < kills and driver.poll() is None:
            time.sleep(chance.uniform(*_PAUSE))
            what = chance.choice(("worker", "worker", "node", "driver"))
            if driver.poll() is not None:
                break
            workers = workers_in(folder)
            if not workers:
                continue  # nothing to lose at this moment
            kept.append(kept_logs(folder))
            if what == "node":
                gone = alive.pop(chance.randrange(len(alive)))
                cluster.remove_node(gone, allow_graceful=False)
                alive.append(cluster.add_node(num_cpus=1, **_HERE))
            elif what == "driver":
                driver.kill()
                driver.communicate()
                driver = _driver(command, cluster.address)
            else:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(workers), signal.SIGKILL)
            done += 1
            yield None
        _, said = driver.communicate()
        names = [path.parent.name for path in here.glob("*/config.json")]
        wrong = next((name for name in names if outcome(here / name) != outcome(folder / name)), None)
        if driver.returncode:
            wrong = f"the driver ended with {driver.returncode}: {said}"
        yield wrong and f"after {done} kills: {wrong}"
        again = computed_again(kept)
        yield f"{again[0]}: epochs were computed again, though a checkpoint held them" if again else None
    finally:
        driver.kill()
        cluster.shutdown()
