"""Models against the records that came with them."""

import dataclasses
from pathlib import Path

import pytest

from benchmarks.ship import ship
from gridsum.cli import main
from gridsum.evaluation.records import append, read
from gridsum.model import store
from gridsum.study.check import check, parts
from gridsum.study.results import load_results
from tests.study.conftest import CPU


@pytest.fixture
def shipped(quick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    ship(load_results(quick), tmp_path)
    monkeypatch.setattr(store, "SHIPPED", tmp_path)
    return tmp_path


def test_what_was_shipped_is_what_its_records_say(shipped: Path, capsys: pytest.CaptureFixture[str]):
    for path in shipped.glob("*.jsonl"):
        if path.stem not in ("SASA", "noGroups-overtrained", "seeds"):
            path.unlink()  # two of them show it
    assert main(["reproduce", "--check", "--device", "cpu"]) == 0
    told = capsys.readouterr().err
    records = [record for path in shipped.glob("*.jsonl") if path.stem != "seeds" for record in read([path])]
    total = len(parts(records))
    assert f"{total} of {total} parts of records measured again: {total} the same, 0 close, 0 differs" in told


def test_a_number_that_is_not_so_is_found(shipped: Path, capsys: pytest.CaptureFixture[str]):
    path = shipped / "SASA.jsonl"
    records = read([path])
    assert records[3].batches is not None
    first, *rest = records[3].batches
    batches = (first._replace(chars_right=0 if 2 * first.chars_right > first.chars_valid else first.chars_valid), *rest)
    right = sum(batch.chars_right for batch in batches)
    records[3] = dataclasses.replace(records[3], batches=batches, chars_right=right)
    for other in shipped.glob("*.jsonl"):
        other.unlink()
    append(path, records[2:5])
    found = check(shipped, CPU)
    assert [checked.part.whole for checked, _ in found if checked.verdict == "differs"] == [records[3]]
    assert main(["reproduce", "--check", "--device", "cpu"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"differs: SASA on {records[3].suite} (")


def test_every_record_is_looked_at_before_any_twice(shipped: Path):
    records = [record for path in shipped.glob("*.jsonl") for record in read([path]) if path.stem != "seeds"]
    asked = parts(records)
    first = asked[: len(records)]
    assert len({id(part.whole) for part in first}) == len(records)
    order = [(part.whole.sequences_right in (0, part.whole.samples), part.cost) for part in first]
    assert order == sorted(order), "those that tell most, then the cheap ones"
    assert len(asked) == sum(len(record.batches or ()) for record in records)
