"""The mean steps of every epoch, from the logs or from what was written of them."""

import json
import shutil
from pathlib import Path

import pytest

from gridsum.config.variants import variant
from gridsum.training.folders import FolderError, append_metrics, create, read_steps, write_summary


def test_a_summary_stands_for_logs_that_were_not_kept(tmp_path: Path):
    create(tmp_path, variant("base"), (0, 3))
    for seed, epochs in ((0, 2), (3, 1)):
        for epoch in range(1, epochs + 1):
            append_metrics(tmp_path, seed, {"epoch": epoch, "steps": 3.0 + seed + epoch / 3})
    expected = {0: (3.3333, 3.6667), 3: (6.3333,)}
    assert read_steps(tmp_path) == expected
    write_summary(tmp_path)
    kept = (tmp_path / "summary.json").read_bytes()
    shutil.rmtree(tmp_path / "seed-3")
    write_summary(tmp_path)
    assert read_steps(tmp_path) == expected
    assert (tmp_path / "summary.json").read_bytes() == kept
    (tmp_path / "summary.json").write_text(json.dumps({"runs": []}))
    with pytest.raises(FolderError, match=r"summary\.json cannot be read as a summary"):
        read_steps(tmp_path)
    (tmp_path / "summary.json").unlink()
    with pytest.raises(FolderError, match=r"metrics\.jsonl is missing; copy the folder whole"):
        read_steps(tmp_path)
