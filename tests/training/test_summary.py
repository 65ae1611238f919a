"""A training run in few numbers, from its logs or from what was written of them."""

import json
import shutil
from pathlib import Path

import pytest

from gridsum.config.variants import variant
from gridsum.training.folders import FolderError, append_metrics, create
from gridsum.training.summary import Summary, read_summary, write_summary


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create(tmp_path, variant("base"), (0, 3))
    for seed, epochs in ((0, 2), (3, 1)):
        for epoch in range(1, epochs + 1):
            line = {"epoch": epoch, "accuracy": 0.25 * epoch, "steps": 3.0 + seed + epoch / 3, "seconds": 1.5 * epoch}
            append_metrics(tmp_path, seed, line)
    return tmp_path


def test_it_holds_what_the_logs_say(folder: Path):
    found = read_summary(folder)
    assert list(found.runs) == [0, 3]
    assert (found.runs[0].epochs, found.runs[0].accuracy) == (2, 0.5)
    assert found.runs[0].steps == (3.3333, 3.6667)
    assert found.runs[3].steps == (6.3333,)
    assert found.seconds == 4.5, "the runs of one fleet share their time"


def test_it_stands_for_logs_that_were_not_kept(folder: Path):
    before = read_summary(folder)
    write_summary(folder)
    for seed in (0, 3):
        shutil.rmtree(folder / f"seed-{seed}")
    assert read_summary(folder) == before
    write_summary(folder)
    assert read_summary(folder) == before


def test_fleets_that_were_trained_apart_add_up_and_missing_times_are_not_made_up(tmp_path: Path):
    create(tmp_path, variant("base"), (0, 1))
    assert read_summary(tmp_path) == Summary({seed: read_summary(tmp_path).runs[seed] for seed in (0, 1)}, None)
    for seed, seconds in ((0, 1.5), (1, 3.0)):
        append_metrics(tmp_path, seed, {"epoch": 1, "accuracy": 0.5, "steps": 1.0, "seconds": seconds})
    assert read_summary(tmp_path).seconds == 4.5
    append_metrics(tmp_path, 1, {"epoch": 2, "accuracy": 0.5, "steps": 1.0})
    assert read_summary(tmp_path).seconds is None


def test_what_cannot_be_read_is_named(folder: Path):
    (folder / "seed-3" / "metrics.jsonl").unlink()
    with pytest.raises(FolderError, match=r"metrics\.jsonl is missing; copy the folder whole"):
        read_summary(folder)
    (folder / "summary.json").write_text(json.dumps({"runs": []}))
    with pytest.raises(FolderError, match=r"summary\.json cannot be read as a summary"):
        read_summary(folder)
