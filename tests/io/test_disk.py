"""Files that survive."""

import os
import signal
import stat
from unittest import mock

import pytest

from gridsum.io.disk import (
    LOCK,
    LineError,
    LockedError,
    append_lines,
    clear_temporaries,
    locked,
    read_objects,
    write_atomically,
)
from tests.children import in_child


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")
    monkeypatch.setattr(os, "fsync", mock.Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path, monkeypatch):
    """Whatever the system is asked for, and whether it has been done: the file is whole, and new only on the disk."""
    path = tmp_path / "file"
    write_atomically(path, b"old")
    contents, synced = [], []

    def watched(name):
        does = getattr(os, name)

        def watch(*arguments):
            contents.append(path.read_bytes())
            result = does(*arguments)
            contents.append(path.read_bytes())
            synced.append(name)
            return result

        return watch

    for name in ("fdopen", "fsync", "replace"):
        monkeypatch.setattr(os, name, watched(name))
    write_atomically(path, b"new")
    replaced = contents.index(b"new")
    assert set(contents[:replaced]) == {b"old"}
    assert set(contents[replaced:]) == {b"new"}
    assert synced == ["fdopen", "fsync", "replace", "fsync"], "the file before it is seen, then the folder"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_the_umask_says_who_may_read(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_what_a_killed_writer_left_is_cleared(tmp_path):
    for name in (".file.0123456789ab.tmp", ".mine.tmp"):
        (tmp_path / name).write_bytes(b"half")
    write_atomically(tmp_path / "file", b"x")
    clear_temporaries(tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".mine.tmp", "file"], "another's stays"


def test_a_locked_folder_has_one_writer_and_nothing_stays(tmp_path):
    folder = tmp_path / "run"
    with locked(folder):
        (folder / "file").write_text("kept")
        with pytest.raises(LockedError, match=rf"written to by process {os.getpid()} on"), locked(folder):
            pass
    with locked(folder):
        pass
    assert [entry.name for entry in folder.iterdir()] == ["file"]
    with locked(tmp_path / "empty"):
        pass
    assert not (tmp_path / "empty").exists()


def test_a_lock_dies_with_its_process(tmp_path):
    def killed():
        with locked(tmp_path):
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(killed).status == -signal.SIGKILL
    assert (tmp_path / LOCK).exists()
    with locked(tmp_path):
        pass


def test_a_file_system_without_locks_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("fcntl.flock", mock.Mock(side_effect=OSError(37, "No locks available")))
    told = []
    with locked(tmp_path, told.append):
        pass
    (text,) = told
    assert "has no locks" in text


def test_lines_are_read_but_for_a_torn_last_one_and_damage_is_named(tmp_path):
    path = tmp_path / "log"
    append_lines(path, b'{"a": 1}\n')
    append_lines(path, b'{"a": 2}\n')
    whole = path.read_bytes()
    for torn in (b'{"a": ', bytes(100)):
        path.write_bytes(whole + torn)
        assert [line["a"] for line in read_objects(path)] == [1, 2]
    for damaged, told in ((bytes(8) + whole[8:], "is damaged"), (b"7\n" + whole, "is not an object")):
        path.write_bytes(damaged)
        with pytest.raises(LineError, match=f"log, line 1 {told}"):
            list(read_objects(path))
