import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridsum.api.scores import Scores
from gridsum.evaluation.records import Record, RecordError, append, read

Make = Callable[..., Record]


text = st.text(max_size=6)


def counts(most: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.integers(1, most).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@st.composite
def any_record(draw: st.DrawFn) -> Record:
    sequences, chars = draw(counts(10**4)), draw(counts(10**9))
    return Record(
        model=draw(text),
        variant=draw(text),
        seed=draw(st.none() | st.integers()),
        suite=draw(text),
        halting=draw(text),
        placement=draw(text),
        samples=sequences[1],
        chars_right=chars[0],
        chars_valid=chars[1],
        sequences_right=sequences[0],
        steps_mean=draw(st.none() | st.floats(0, 1e6)),
        steps_max=draw(st.none() | st.integers(0, 10**6)),
        evaluation_seed=draw(st.integers()),
        version=draw(text),
        commit=draw(st.none() | text),
        answers=draw(st.none() | st.lists(text, max_size=3).map(tuple)),
    )


@settings(deadline=None, max_examples=20)  # it writes files
@given(st.lists(st.lists(any_record(), max_size=2), max_size=2))
def test_round_trip(appended: list[list[Record]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new" / "records.jsonl"
        for records in appended:
            append(path, records)
        expected = [record for records in appended for record in records]
        assert read([path] if path.exists() else []) == expected


@pytest.mark.parametrize(
    "wrong",
    [
        {"sequences_right": 641},
        {"samples": 0, "sequences_right": 0},
        {"chars_right": -1},
        {"chars_right": 10001},
        {"chars_right": 0, "chars_valid": 0},
        {"steps_mean": float("nan")},
    ],
)
def test_counts_that_cannot_be(make_record: Make, wrong: dict[str, float]) -> None:
    with pytest.raises(RecordError):
        make_record(**wrong)


def test_files_are_read_in_order_and_empty_lines_passed_over(tmp_path: Path, make_record: Make) -> None:
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    append(first, [make_record(seed=1)])
    append(second, [make_record(seed=2)])
    second.write_text("\n" + second.read_text() + "\n  \n")
    assert [record.seed for record in read([second, first])] == [2, 1]


def changed(record: Record, **changes: object) -> str:
    data = {**vars(record), **changes}
    return json.dumps({key: value for key, value in data.items() if value is not ...})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"halting_rule": 1}, r"not a record \(.*'halting_rule'\); delete the line"),
        ({"suite": ..., "commit": ...}, r"not a record \(.*'suite' and 'commit'\)"),
        ({"samples": "640"}, r"not a record \("),
        ({"batches": [[1, 2]]}, r"not a record \("),
        ({"sequences_right": 1000}, r"sequences_right 1000 does not fit samples 640"),
    ],
)
def test_a_malformed_record_is_named(
    tmp_path: Path, make_record: Make, changes: dict[str, object], message: str
) -> None:
    path = tmp_path / "records.jsonl"
    append(path, [make_record()])
    path.write_text(path.read_text() + changed(make_record(), **changes) + "\n")
    with pytest.raises(RecordError, match=message) as caught:
        read([path])
    assert str(caught.value).startswith(f"{path}, line 2: ")


@pytest.mark.parametrize("line", [b"{'model': 1}", b"[1, 2]", b"nothing", b'"\xff"', b"[" * 100_000])
def test_what_is_no_record_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(line + b"\n")
    with pytest.raises(RecordError, match=r"line 1: .*delete the line"):
        read([path])


@pytest.fixture
def torn(tmp_path: Path, make_record: Make) -> Path:
    path = tmp_path / "records.jsonl"
    append(path, [make_record(seed=1), make_record(seed=2)])
    path.write_bytes(path.read_bytes()[:-40])
    return path


def test_a_torn_line_is_told_and_mended_by_appending(torn: Path, make_record: Make) -> None:
    with pytest.raises(RecordError, match=r"line 2: the file ends within a record.*delete this line"):
        read([torn])
    assert [record.seed for record in read([torn], pass_over_torn=True)] == [1]
    append(torn, [make_record(seed=3)])
    assert [record.seed for record in read([torn])] == [1, 3]


def test_zeros_that_a_crash_left_are_mended(tmp_path: Path, make_record: Make) -> None:
    path = tmp_path / "records.jsonl"
    append(path, [make_record(seed=1)])
    path.write_bytes(path.read_bytes() + bytes(4096))
    append(path, [make_record(seed=2)])
    assert [record.seed for record in read([path])] == [1, 2]


def test_only_the_newline_missing_loses_nothing(tmp_path: Path, make_record: Make) -> None:
    path = tmp_path / "records.jsonl"
    append(path, [make_record(seed=1)])
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert [record.seed for record in read([path])] == [1]
    append(path, [make_record(seed=2)])
    assert [record.seed for record in read([path])] == [1, 2]


@pytest.mark.parametrize("content", ["my notes\nwithout a last newline", '{"weights": 1}', "[1]\n", '{"model": "ba'])
def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path, make_record: Make, content: str) -> None:
    """Nor is one whose first record was torn: nothing says that it is a record."""
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(RecordError, match=r"notes.txt does not begin with a record.*name another file"):
        Scores([make_record()]).save(path)
    assert path.read_text() == content


@pytest.mark.parametrize("fails", ["short write", "fsync"])
def test_a_failed_append_leaves_nothing(
    tmp_path: Path, make_record: Make, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    path = tmp_path / "records.jsonl"
    append(path, [make_record(seed=1)])
    before = path.read_bytes()
    write = os.write

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    if fails == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:50]))
    with pytest.raises(OSError, match=r"No space left|only 50 of"):
        append(path, [make_record(seed=2), make_record(seed=3)])
    assert path.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no null device")
def test_records_can_be_thrown_away(make_record: Make) -> None:
    append("/dev/null", [make_record()])
