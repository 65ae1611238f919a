"""What a training folder keeps is what was measured."""

import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gridsum.config.paper import Config
from gridsum.training.folders import append_metrics, create, read_metrics


@given(values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_logs_lose_nothing_of_single_precision(values: list[float], tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("run")
    create(folder, Config(), [0])
    for epoch, value in enumerate(values, 1):
        append_metrics(folder, 0, {"epoch": epoch, "total": value})
    kept = read_metrics(folder, 0)
    assert [line["epoch"] for line in kept] == list(range(1, len(values) + 1))
    assert [struct.pack("f", line["total"]) for line in kept] == [struct.pack("f", value) for value in values]
