"""Jobs that work at an address."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

from gridsum.cli import main
from gridsum.io.disk import LockedError
from gridsum.study.heartbeat import last_beats
from gridsum.study.jobs import Train
from gridsum.study.storage import Copy, StorageError, copied
from gridsum.study.sweep import sweep_jobs, write_sweep
from gridsum.study.workers import _alone, do_job
from tests.faults.trainings import EXACT, PAPER, outcome

ADDRESS = "memory://bucket/mine"
STRIDE = 7
"""Every so many files a kill; with 1 at every file, in some minutes."""
Kill = type("Kill", (BaseException,), {})


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    fsspec.filesystem("memory").store.clear()
    yield
    fsspec.filesystem("memory").store.clear()


def there(name: str = "") -> dict[str, bytes]:
    """What lies at the address, by name."""
    store = fsspec.filesystem("memory").store
    return {path.removeprefix("/bucket/mine/"): file.getvalue() for path, file in store.items() if name in path}


def copy(folder: Path) -> Copy:
    made = Copy(ADDRESS, folder)
    made.fetch()
    return made


def test_what_changes_here_is_there_and_the_other_way_round(tmp_path: Path):
    one, other = copy(tmp_path / "one"), copy(tmp_path / "other")
    (tmp_path / "one" / "base").mkdir(parents=True)
    (tmp_path / "one" / "base" / "config.json").write_text("1")
    (tmp_path / "one" / "base" / ".lock").write_text("process 1")
    one.send()
    assert there() == {"base/config.json": b"1"}
    other.fetch(["another"])
    assert not (tmp_path / "other").exists()
    other.fetch(["base"])
    assert (tmp_path / "other" / "base" / "config.json").read_text() == "1"
    (tmp_path / "other" / "base" / "config.json").write_text("2")
    other.send()
    one.fetch()
    assert (tmp_path / "one" / "base" / "config.json").read_text() == "2"
    (tmp_path / "one" / "base" / "config.json").unlink()
    one.send()
    assert there() == {}
    other.fetch()
    assert not (tmp_path / "other" / "base" / "config.json").exists()


def test_files_appear_whole_where_the_storage_does_not_see_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = Copy((tmp_path / "there").as_uri(), tmp_path / "here")
    made.fetch()
    (tmp_path / "here").mkdir()
    for text in ("old", "new"):
        (tmp_path / "here" / "config.json").write_text(text)
        made.send()
    (tmp_path / "here" / "config.json").write_text("killed")

    def killed(*_: object, **__: object) -> None:
        raise Kill

    monkeypatch.setattr(made._files, "mv", killed)
    with pytest.raises(Kill):
        made.send()
    assert (tmp_path / "there" / "config.json").read_text() == "new"
    copy = Copy((tmp_path / "there").as_uri(), tmp_path / "again")
    copy.fetch()
    assert [path.name for path in (tmp_path / "again").iterdir()] == ["config.json"]


@pytest.mark.parametrize(("name", "config"), [("paper", PAPER), ("exact", EXACT)])
def test_a_job_killed_at_any_file_that_it_sends_goes_on_elsewhere(
    name: str, config: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (job,) = sweep_jobs({name: config}, (1, 2))
    do_job(job, tmp_path / "whole", None)
    write, remove, left = Copy._write, Copy._remove, [0]

    def counted(does: object):
        def operation(self: Copy, *arguments: object) -> None:
            if left[0] == 0:
                raise Kill  # from now on nothing reaches the storage
            left[0] -= 1
            does(self, *arguments)  # type: ignore[operator]

        return operation

    monkeypatch.setattr(Copy, "_write", counted(write))
    monkeypatch.setattr(Copy, "_remove", counted(remove))
    kills = 0
    while True:
        fsspec.filesystem("memory").store.clear()
        left[0] = kills
        try:
            do_job(job, tmp_path / "driver", None, ADDRESS)
        except Kill:
            left[0] = -1
            do_job(job, tmp_path / "driver", None, ADDRESS)
        else:
            break
        with copied(ADDRESS) as made:
            assert outcome(made.folder / name) == outcome(tmp_path / "whole" / name), kills
        kills += STRIDE
    assert kills > STRIDE
    assert not (tmp_path / "driver").exists(), "all of it happened at the address"


def test_watch_reads_an_address_without_its_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("gridsum.study.storage._HEADER_BYTES", 4000)
    write_sweep(tmp_path, {"one": PAPER, "two": PAPER}, (1,))
    Copy(ADDRESS, tmp_path).send()
    do_job(sweep_jobs({"one": PAPER}, (1,))[0], tmp_path, None, ADDRESS)
    assert max(map(len, there("checkpoint.safetensors").values())) > 8000
    assert main(["watch", ADDRESS]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "1 done; 0 running; 0 waiting; 1 ready"
    assert main(["watch", "memory://bucket/nothing"]) == 2
    assert "memory://bucket/nothing holds no training run, reproduction or sweep" in capsys.readouterr().err


def test_watch_sees_a_job_as_soon_as_it_begins_and_when_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    told: list[bytes] = []
    (job,) = sweep_jobs({"one": PAPER}, (1,))
    monkeypatch.setattr(Train, "run", lambda *_: told.extend(there(".jobs/").values()) or exit())
    with pytest.raises(SystemExit):
        do_job(job, tmp_path, None, ADDRESS)
    assert [f'"process": {os.getpid()}' in line.decode() for line in told] == [True]
    with copied(ADDRESS) as made:
        assert last_beats(made.folder)["train one"].ended


def test_one_driver_at_a_time(tmp_path: Path):
    held = copy(tmp_path / "one")
    with _alone(held):
        assert f'"process": {os.getpid()}'.encode() in there(".jobs/driver")[".jobs/driver.jsonl"]
        with (
            pytest.raises(LockedError, match=f"worked on by process {os.getpid()} on {socket.gethostname()}"),
            _alone(copy(tmp_path / "two")),
        ):
            pass
    held.send()
    with _alone(copy(tmp_path / "three")):
        pass


def test_a_driver_that_is_dead_is_followed_by_another(tmp_path: Path):
    process = os.fork()
    if process == 0:
        os._exit(0)
    os.waitpid(process, 0)
    held = copy(tmp_path / "one")
    with _alone(held):
        path = tmp_path / "one" / ".jobs" / "driver.jsonl"
        path.write_text(path.read_text().replace(str(os.getpid()), str(process)))
        held.send()
        with _alone(copy(tmp_path / "two")):
            pass


@pytest.mark.parametrize("command", [["train"], ["train", "--variant", "exact"]])
def test_a_single_training_wants_a_folder(command: list[str], capsys: pytest.CaptureFixture[str]):
    assert main([*command, "--out", "s3://bucket/mine"]) == 2
    assert "'s3://bucket/mine' is an address, and a folder is wanted" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["sweep", "--grid", "model.heads=8"], ["reproduce", "--quick"]])
def test_an_address_is_for_a_cluster(command: list[str], capsys: pytest.CaptureFixture[str]):
    assert main([*command, "--out", "s3://bucket/mine"]) == 2
    assert "add --on, or name a folder" in capsys.readouterr().err


def test_an_unknown_kind_of_storage_is_told_of(tmp_path: Path):
    with pytest.raises(StorageError, match="nothing://here cannot be reached: Protocol not known: nothing"):
        Copy("nothing://here", tmp_path)
