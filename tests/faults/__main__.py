"""`make faults`: every kind of fault, as often as its share of the time allows.

A table of tries, of the processes that were begun in them, of those killed or told of an error, and of losses.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from gridsum.model.store import shipped
from tests.faults.folders import (
    damaged,
    elsewhere,
    killed_again_and_again,
    killed_at_every_operation,
    on_another_device,
    taken_away,
    two_writers,
)
from tests.faults.injection import Tries, counts
from tests.faults.inputs import expressions, hostile_files
from tests.faults.nodes import killed_sweep
from tests.faults.trainings import commands, consolidated, scenarios

# A kill loses nothing that a disk would keep, so the training runs can lie in memory, where syncing takes no time.
_MEMORY = Path("/dev/shm")
_NODES = "nodes, workers and drivers of a cluster killed"
"""What these kills come to is seen when the work is done, so this kind is not broken off."""


def _kinds(place: Path, notes: list[str]) -> dict[str, tuple[float, Callable[[], Tries]]]:
    """Every kind of fault, with its share of the time."""
    trainings = cache(lambda: scenarios(place))
    every, some = killed_at_every_operation, ("kill", "torn")
    kinds: dict[str, tuple[float, Callable[[], Tries]]] = {
        "killed, disk full or read-only, at every operation": (7, lambda: every(trainings(), place)),
        "folder deleted or moved, lock removed": (3, lambda: taken_away(trainings(), place)),
        "killed within consolidation": (2, lambda: every([consolidated(place)], place, 5, some)),
        "reproduce and export killed": (2, lambda: killed_again_and_again(commands(place), place, 100)),
        "another version, clock set back": (1, lambda: elsewhere(trainings(), place, 60)),
        "resumed on another device": (1, lambda: on_another_device(trainings(), place)),
        "killed three times in a row": (3, lambda: killed_again_and_again(trainings(), place, 300)),
        "files flipped, cut, zeroed, doubled": (4, lambda: damaged(trainings(), place, 1000)),
        "two writers of one folder": (1, lambda: two_writers(trainings(), place, 60)),
        "hostile weights and configurations": (1, lambda: hostile_files(place, list(shipped().values()), 5000)),
        "fuzzed expressions": (3, lambda: expressions(10**6, solved=2000)),
    }
    return kinds | ({_NODES: (5, lambda: killed_sweep(place, 12, notes=notes))} if find_spec("ray") else {})


def _row(name: str, tries: Tries, until: float, losses: list[str], notes: list[str]) -> dict[str, Any]:
    """Try until then, and count."""
    counts.clear()
    began, done, lost = time.monotonic(), 0, len(losses)
    try:
        for loss in tries:
            done += 1
            losses += [] if loss is None else [loss]
            if time.monotonic() > until and name != _NODES:
                break
    except pytest.skip.Exception as skipped:
        notes.append(f"left out ({name}): {skipped}")
    tries.close()
    how = {what: counts[what] for what in ("processes", "killed", "told of an error")}
    return {
        "fault": name,
        "tries": done,
        **how,
        "losses": len(losses) - lost,
        "seconds": round(time.monotonic() - began),
    }


def main() -> int:
    torch.set_num_threads(1)  # a process forked while torch has threads hangs
    parser = argparse.ArgumentParser(prog="make faults", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=30, help="after which nothing new is begun (default: 30)")
    parser.add_argument("--only", default="", metavar="TEXT", help="the kinds of faults with this in their name")
    parser.add_argument("--json", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    rows, notes, losses = list[dict[str, Any]](), list[str](), list[str]()
    with tempfile.TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as folder:
        kinds = {name: kind for name, kind in _kinds(Path(folder), notes).items() if options.only in name}
        left = sum(share for share, _ in kinds.values())
        for name, (share, begin) in kinds.items():
            tries, now = begin(), time.monotonic()
            until = now + (end - now) * share / left  # what the others before have not used is shared
            left -= share
            rows.append(_row(name, tries, until, losses, notes))
            sys.stdout.write(", ".join(f"{what}: {value}" for what, value in rows[-1].items()) + "\n")
            sys.stdout.flush()
    sys.stdout.write("\n".join([*(f"lost: {loss}" for loss in losses), *notes, ""]))
    if options.json:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
        about = {"command": "make faults", "commit": commit, "date": date.today().isoformat()}
        about |= {"machine": f"{os.cpu_count()} cores, {platform.machine()}", "load": round(os.getloadavg()[2], 1)}
        about |= {"total": {what: sum(row[what] for row in rows) for what in rows[0] if what != "fault"}}
        options.json.write_text(json.dumps(about | {"faults": rows, "lost": losses, "notes": notes}, indent=1) + "\n")
    return 1 if losses else 0


if __name__ == "__main__":
    sys.exit(main())
