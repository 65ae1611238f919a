"""Faults of every kind, a few of each; or for `make faults` as many as there is time for."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

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
from tests.faults.injection import Tries
from tests.faults.inputs import expressions, hostile_files
from tests.faults.trainings import Scenario, commands, consolidated, scenarios

SECONDS = float(os.environ.get("FAULTS_SECONDS", "0"))
LONG = SECONDS > 0
FOLDERS: dict[str, Callable[[list[Scenario], Path], Tries]] = {
    "killed, disk full or read-only": lambda of, at: killed_at_every_operation(of, at, 1 if LONG else 67),
    "disk full for a moment": lambda of, at: killed_at_every_operation(of, at, 1 if LONG else 9, ("once",)),
    "killed three times in a row": lambda of, at: killed_again_and_again(of, at, 300 if LONG else 2),
    "folder deleted or moved, lock removed": lambda of, at: taken_away(of[: 3 if LONG else 1], at, 1 if LONG else 14),
    "another version, clock set back": lambda of, at: elsewhere(of, at, 60 if LONG else 3),
    "files flipped, cut, zeroed, doubled": lambda of, at: damaged(of, at, 1000 if LONG else 6),
    "two writers of one folder": lambda of, at: two_writers(of, at, 60 if LONG else 2),
    "hostile weights": lambda _, at: hostile_files(at, list(shipped().values()), 5000 if LONG else 200),
    "fuzzed expressions": lambda *_: expressions(10**6 if LONG else 5000, solved=2000 if LONG else 50),
}
if LONG:
    FOLDERS |= {
        "killed within consolidation": lambda _, at: killed_at_every_operation([consolidated(at)], at, 5),
        "reproduce and export killed": lambda _, at: killed_again_and_again(commands(at), at, 100),
    }


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> list[Scenario]:
    return scenarios(tmp_path_factory.mktemp("scenarios"))


@pytest.mark.parametrize("kind", FOLDERS)
def test_nothing_is_lost(kind: str, trainings: list[Scenario], tmp_path: Path):
    begun, tried, lost = time.monotonic(), 0, list[str]()
    for loss in FOLDERS[kind](trainings, tmp_path):
        tried += 1
        lost += [loss] if loss else []
        if LONG and time.monotonic() > begun + SECONDS:
            break
    assert lost == []
    assert tried
    sys.stdout.write(f"{kind}: {tried:,} tries\n")


@pytest.mark.gpu
def test_a_checkpoint_of_a_gpu_goes_on_on_a_cpu_and_back(trainings: list[Scenario], tmp_path: Path):
    assert [*on_another_device(trainings, tmp_path)] == [None] * 2 * len(trainings)


def test_a_loss_would_be_seen(trainings: list[Scenario], tmp_path: Path):
    """The suite itself: a training run that forgets its checkpoint is noticed."""
    first = trainings[0]
    other = Scenario(first.name, first.begin, {**first.expected, "seed-1/weights.safetensors": b"another"})
    assert [lost for lost in killed_at_every_operation([other], tmp_path, 200, ("kill",)) if lost]
