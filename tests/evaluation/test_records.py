"""Records on the disk: all that was written is read, and nothing else is touched."""

import json
import os
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridsum.evaluation.records import RecordError, append, check_file, read
from tests.oracles.records import make_record

text = st.sampled_from(["", "base", "[1,4]x[1,10]", "–", '\\"\n\x1b', "\u2028", "表"])


any_changes = st.fixed_dictionaries(
    {
        **dict.fromkeys(("model", "variant", "suite", "halting", "placement", "version"), text),
        **dict.fromkeys(("seed", "steps_max"), st.none() | st.integers()),
        "steps_mean": st.none() | st.floats(0, 1e6),
        "commit": st.none() | text,
        "answers": st.none() | st.lists(text, max_size=3).map(tuple),
    }
)


@settings(deadline=None, max_examples=20)  # it writes files
@given(st.lists(st.lists(any_changes, max_size=2), max_size=2))
def test_round_trip(changes: list[list[dict]]) -> None:
    appended = [[make_record(**change) for change in some] for some in changes]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new" / "records.jsonl"
        for records in appended:
            append(path, records)
        expected = [record for records in appended for record in records]
        assert read([path, path] if path.exists() else []) == 2 * expected
    append("/dev/null", expected)  # they can be thrown away


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"halting_rule": 1}, r"'halting_rule'\); delete the line and evaluate"),
        ({"suite": ..., "commit": ...}, r"'suite' and 'commit'\)"),
        ({"samples": "640"}, "not supported between"),
        ({"batches": [[1, 2]]}, "missing"),
        ({"sequences_right": 641}, "sequences_right 641 does not fit samples 640"),
        ({"samples": 0, "sequences_right": 0}, "does not fit samples 0"),
        ({"chars_right": -1}, "chars_right -1 does not fit"),
        ({"chars_right": 0, "chars_valid": 0}, "does not fit chars_valid 0"),
        ({"steps_mean": float("nan")}, "steps_mean must be a finite number"),
    ],
)
def test_a_record_that_cannot_be_is_named(tmp_path: Path, changes: dict, message: str) -> None:
    path = tmp_path / "records.jsonl"
    append(path, [make_record()])
    data = {name: value for name, value in {**vars(make_record()), **changes}.items() if value is not ...}
    path.write_text(path.read_text() + json.dumps(data) + "\n")
    with pytest.raises(RecordError, match=rf"jsonl, line 2: this is not a record \(.*{message}"):
        read([path])


@pytest.mark.parametrize(
    ("left", "kept"), [(slice(0, -40), [1]), (slice(0, -1), [1, 2]), (slice(0, None), [1, 2])], ids=str
)
@pytest.mark.parametrize("zeros", [0, 4096])
def test_what_a_crash_left_is_passed_over_and_mended_by_appending(
    tmp_path: Path, left: slice, kept: list[int], zeros: int
) -> None:
    """Of a last line only a part, all but its newline, or all of it; and maybe zeros where bytes should be."""
    path = tmp_path / "records.jsonl"
    append(path, [make_record(seed=1), make_record(seed=2)])
    path.write_bytes(path.read_bytes()[left] + bytes(zeros))
    assert [record.seed for record in read([path])] == kept
    append(path, [make_record(seed=3)])
    assert [record.seed for record in read([path])] == [*kept, 3]


@pytest.mark.parametrize("content", ["my notes\nwithout a last newline", '{"weights": 1}', "[1]\n", '{"model": "ba'])
def test_a_file_that_is_not_ours_is_left_alone(tmp_path: Path, content: str) -> None:
    """Nor is one whose first record was torn: nothing says that it is a record."""
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(RecordError, match=r"notes.txt does not begin with a record.*name another file"):
        check_file(path)
    assert path.read_text() == content


@pytest.mark.parametrize("name", ["write", "fsync"])
def test_a_failed_append_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path, write = tmp_path / "records.jsonl", os.write
    append(path, [make_record(seed=1)])
    before = path.read_bytes()
    full = mock.Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr(os, name, full if name == "fsync" else lambda file, data: write(file, data[:50]))
    with pytest.raises(OSError, match=r"No space left|only 50 of"):
        append(path, [make_record(seed=2), make_record(seed=3)])
    assert path.read_bytes() == before
