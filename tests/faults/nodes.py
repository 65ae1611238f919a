"""A cluster of several Ray nodes on this machine, whose nodes, workers and driver are killed while it works."""

import io
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gridsum.cli import main
from gridsum.study.heartbeat import RUNS, beats, last_beats
from tests.faults.injection import Tries, counts
from tests.faults.trainings import outcome

TINY = [
    *("--task.terms", "1,2", "--task.bucket_bounds", "1", "--task.digits", "1,2", "--model.width", "8"),
    *("--model.groups", "2", "--model.heads", "4", "--model.step_hidden", "8", "--model.context_heads", "2"),
    *("--training.steps_per_epoch", "2", "--training.batch", "4", "--training.checkpoint_epochs", "1"),
]
"""A training run in seconds."""
_PAUSE = (2.0, 8.0)
_EPOCHS, _KEPT = 60, 5
"""Of a training run, and from one checkpoint to the next."""


def _driver(command: Sequence[str], address: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "gridsum", *command, "--on", address]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _workers(folder: Path) -> list[int]:
    """The processes that work on jobs."""
    return [beat.process for beat in last_beats(folder).values() if beat.current]


def epochs_computed(folder: Path, job: str) -> list[int]:
    """The epochs of a training run in the order they were computed in, all tries together."""
    return [beat.done for beat in beats(folder, job) if beat.state == RUNS and beat.total]


def killed_cluster(
    command: Sequence[str], folder: Path, differs: Callable[[], str | None], kills: int, nodes: int = 2, seed: int = 0
) -> Tries:
    """`command` on a cluster, with so many kills; what it leaves has to be as if there had been none."""
    from ray.cluster_utils import Cluster  # pyright: ignore[reportMissingImports]

    chance = random.Random(seed)
    try:
        cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    except Exception as error:  # what Ray raises where a machine is so busy that its head does not come up in time
        pytest.skip(f"no cluster of Ray's could be started: {error}")
    alive = [cluster.add_node(num_cpus=1) for _ in range(nodes)]
    driver = _driver(command, cluster.address)
    done = 0
    try:
        while done < kills and driver.poll() is None:
            time.sleep(chance.uniform(*_PAUSE))
            what = chance.choice(("worker", "worker", "node", "driver"))
            if driver.poll() is not None:
                break
            workers = _workers(folder)
            if not workers:
                continue  # nothing to lose at this moment
            if what == "node":
                gone = alive.pop(chance.randrange(len(alive)))
                cluster.remove_node(gone, allow_graceful=False)
                alive.append(cluster.add_node(num_cpus=1))
            elif what == "driver":
                driver.kill()
                driver.communicate()
                driver = _driver(command, cluster.address)
            else:
                with suppress(ProcessLookupError):
                    os.kill(chance.choice(workers), signal.SIGKILL)
            done += 1
            counts["killed"] += 1
            counts[what] += 1
            yield None
        _, said = driver.communicate()
        wrong = differs() if driver.returncode == 0 else f"the driver ended with {driver.returncode}: {said}"
        yield wrong and f"after {done} kills: {wrong}"
    finally:
        driver.kill()
        cluster.shutdown()


def killed_sweep(place: Path, kills: int, seed: int = 0, notes: list[str] | None = None) -> Tries:
    """A small sweep, undisturbed in this process and then on a cluster under kills.

    Nothing may be lost, and nothing computed twice that a checkpoint holds.
    """
    axis = ["--grid", "training.learning_rate=1e-3,2e-3,3e-3", "--seeds", "0", "--training.epochs", str(_EPOCHS)]
    axis += ["--training.checkpoint_epochs", str(_KEPT)]
    here, there = place / "here", place / "killed"
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        assert main(["sweep", "--out", str(here), *TINY, *axis, "--device", "cpu"]) == 0
    names = [path.parent.name for path in here.glob("*/config.json")]

    def differs() -> str | None:
        return next((name for name in names if outcome(here / name) != outcome(there / name)), None)

    yield from killed_cluster(["sweep", "--out", str(there), *TINY, *axis], there, differs, kills, seed=seed)
    computed = {name: epochs_computed(there, f"train {name}") for name in names}
    for name, epochs in computed.items():
        too_early = [later for now, later in pairwise(epochs) if later <= (now - 1) // _KEPT * _KEPT]
        yield f"{name}: epoch {too_early[0]} was computed again, though a checkpoint has it" if too_early else None
    if notes is not None:
        total, needed = sum(map(len, computed.values())), _EPOCHS * len(names)
        notes.append(
            f"cluster: {counts['worker']} workers, {counts['node']} nodes, {counts['driver']} drivers killed; {total} "
            f"epochs computed where {needed} are needed, none of them twice that a checkpoint held"
        )
