"""A cluster of several Ray nodes on this machine, whose nodes, workers and driver are killed while it works."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gridsum.reproduction.whereabouts import whereabouts

_PAUSE = (2.0, 8.0)


def _driver(command: Sequence[str], address: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "gridsum", *command, "--on", address]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _kill_worker(folder: Path, chance: random.Random) -> bool:
    places = [place for place in whereabouts(folder).values() if place.current]
    if not places:
        return False
    with suppress(ProcessLookupError):
        os.kill(chance.choice(places).process, signal.SIGKILL)
    return True


def killed_cluster(
    command: Sequence[str], folder: Path, differs: Callable[[], str | None], kills: int, nodes: int = 2, seed: int = 0
) -> Iterator[str | None]:
    """`command` on a cluster, with so many kills; what it leaves has to be as if there had been none."""
    from ray.cluster_utils import Cluster

    chance = random.Random(seed)
    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    alive = [cluster.add_node(num_cpus=1) for _ in range(nodes)]
    driver = _driver(command, cluster.address)
    done = 0
    try:
        while done < kills and driver.poll() is None:
            time.sleep(chance.uniform(*_PAUSE))
            what = chance.choice(("worker", "worker", "node", "driver"))
            if driver.poll() is not None:
                break
            if not any(place.current for place in whereabouts(folder).values()):
                continue  # nothing to lose at this moment
            if what == "node":
                gone = alive.pop(chance.randrange(len(alive)))
                cluster.remove_node(gone, allow_graceful=False)
                alive.append(cluster.add_node(num_cpus=1))
            elif what == "driver":
                driver.kill()
                driver.communicate()
                driver = _driver(command, cluster.address)
            elif not _kill_worker(folder, chance):
                continue
            done += 1
            yield None
        _, said = driver.communicate()
        wrong = differs() if driver.returncode == 0 else f"the driver ended with {driver.returncode}: {said}"
        yield wrong and f"after {done} kills: {wrong}"
    finally:
        driver.kill()
        cluster.shutdown()
