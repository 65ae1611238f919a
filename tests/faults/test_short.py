"""A short version of `make faults`."""

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
from tests.faults.inputs import expressions, hostile_files
from tests.faults.trainings import Scenario, scenarios


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> list[Scenario]:
    return scenarios(tmp_path_factory.mktemp("scenarios"))


def test_nothing_is_lost_in_a_run_folder(trainings: list[Scenario], tmp_path: Path):
    kills = [*killed_at_every_operation(trainings, tmp_path, 67), *killed_again_and_again(trainings, tmp_path, 2)]
    assert [lost for lost in kills if lost] == []
    assert len(kills) >= 20
    assert [lost for lost in two_writers(trainings, tmp_path, 2) if lost] == []


def test_a_folder_taken_away_is_not_made_again_and_goes_on_elsewhere(trainings: list[Scenario], tmp_path: Path):
    assert [lost for lost in taken_away(trainings[:1], tmp_path, 14) if lost] == []
    assert [lost for lost in elsewhere(trainings, tmp_path, 3) if lost] == []


@pytest.mark.gpu
def test_a_checkpoint_of_a_gpu_goes_on_on_a_cpu_and_back(trainings: list[Scenario], tmp_path: Path):
    assert [*on_another_device(trainings, tmp_path)] == [None] * 2 * len(trainings)


def test_damage_is_mended_or_said(trainings: list[Scenario], tmp_path: Path):
    assert [lost for lost in damaged(trainings, tmp_path, 6) if lost] == []


def test_no_input_breaks_anything(tmp_path: Path):
    assert [lost for lost in expressions(5_000, solved=50) if lost] == []
    assert [lost for lost in hostile_files(tmp_path, list(shipped().values()), 200) if lost] == []


def test_a_loss_would_be_seen(trainings: list[Scenario], tmp_path: Path):
    """The suite itself: a training run that forgets its checkpoint is noticed."""
    first = trainings[0]
    other = Scenario(first.name, first.begin, {**first.expected, "seed-1/weights.safetensors": b"another"})
    assert [lost for lost in killed_at_every_operation([other], tmp_path, 200, ("kill",)) if lost]
