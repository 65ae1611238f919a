"""Pieces that work at an address."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from gridsum.cli import main
from gridsum.io.disk import LockedError
from gridsum.study.pieces import Piece
from gridsum.study.storage import Copy, StorageError, copied
from gridsum.study.sweep import Discover, SweepTrain, sweep_pieces, write_sweep
from gridsum.study.workers import _alone, do_piece
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


def copy(folder: Path, writer: str = "one") -> Copy:
    made = Copy(ADDRESS, folder, writer)
    made.fetch()
    return made


def test_what_changes_here_is_there_and_the_other_way_round(tmp_path: Path):
    one, other = copy(tmp_path / "one"), copy(tmp_path / "other", "two")
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


def test_lines_of_several_writers_are_all_kept(tmp_path: Path):
    """Each has fetched before the other has sent."""
    copies = [copy(tmp_path / name, name) for name in ("a", "b")]
    for _ in range(2):
        for made in copies:
            path = made.folder / "records" / "base.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write(f'"{made.folder.name}"\n')
        for made in copies:
            made.send()
    assert there() == {"records/base.jsonl/a.jsonl": b'"a"\n"a"\n', "records/base.jsonl/b.jsonl": b'"b"\n"b"\n'}
    made = copy(tmp_path / "again", "a")
    with (made.folder / "records" / "base.jsonl").open("a") as file:
        file.write('"a"\n')
    made.send()
    assert there("a.jsonl")["records/base.jsonl/a.jsonl"] == b'"a"\n' * 3
    assert sorted((made.folder / "records" / "base.jsonl").read_text().split()) == ['"a"'] * 3 + ['"b"'] * 2


def test_files_appear_whole_where_the_storage_does_not_see_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = Copy((tmp_path / "there").as_uri(), tmp_path / "here", "one")
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
    copy = Copy((tmp_path / "there").as_uri(), tmp_path / "again", "one")
    copy.fetch()
    assert [path.name for path in (tmp_path / "again").iterdir()] == ["config.json"]


def fleets(folder: Path) -> list[Piece]:
    return [SweepTrain(folder, "paper", PAPER, (1, 2)), Discover(folder, "exact", EXACT, (1, 2))]


@pytest.mark.parametrize("index", [0, 1], ids=["paper", "exact"])
def test_a_piece_killed_at_any_file_that_it_sends_goes_on_elsewhere(
    index: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    piece = fleets(tmp_path / "driver")[index]
    whole = fleets(tmp_path / "whole")[index]
    do_piece(whole, tmp_path / "whole", None)
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
            do_piece(piece, tmp_path / "driver", None, ADDRESS)
        except Kill:
            left[0] = -1
            do_piece(piece, tmp_path / "driver", None, ADDRESS)
        else:
            break
        with copied(ADDRESS, "reader") as made:
            assert outcome(made.folder / piece.subject) == outcome(tmp_path / "whole" / piece.subject), kills
        kills += STRIDE
    assert kills > STRIDE
    assert not (tmp_path / "driver").exists(), "all of it happened at the address"
    assert not there(".pieces/train-" + piece.subject + ".json")


def test_status_reads_an_address_without_its_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("gridsum.study.storage._HEADER_BYTES", 4000)
    write_sweep(tmp_path, {"one": PAPER, "two": PAPER}, (1,))
    Copy(ADDRESS, tmp_path, "driver").send()
    first, _ = sweep_pieces(tmp_path, {"one": PAPER, "two": PAPER}, (1,))
    do_piece(first, tmp_path, None, ADDRESS)
    assert max(map(len, there("checkpoint.safetensors").values())) > 8000
    assert main(["status", ADDRESS]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "1 done; 0 running; 0 waiting; 1 ready"
    assert main(["status", "memory://bucket/nothing"]) == 2
    assert "memory://bucket/nothing holds neither a campaign nor a sweep" in capsys.readouterr().err


def test_status_sees_a_piece_as_soon_as_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    told: list[bytes] = []
    (piece,) = sweep_pieces(tmp_path, {"one": PAPER}, (1,))
    monkeypatch.setattr(SweepTrain, "run", lambda *_: told.extend(there(".pieces/").values()) or exit())
    with pytest.raises(SystemExit):
        do_piece(piece, tmp_path, None, ADDRESS)
    assert [f'"process": {os.getpid()}' in line.decode() for line in told] == [True]
    assert there() == {}, "it has gone"


def test_one_driver_at_a_time(tmp_path: Path):
    held = copy(tmp_path / "one", "driver")
    with _alone(held):
        assert f'"process": {os.getpid()}'.encode() in there(".pieces/driver")[".pieces/driver.json"]
        with (
            pytest.raises(LockedError, match=f"worked on by process {os.getpid()} on {socket.gethostname()}"),
            _alone(copy(tmp_path / "two", "driver")),
        ):
            pass
    held.send()
    with _alone(copy(tmp_path / "three", "driver")):
        pass


def test_a_driver_that_is_dead_is_followed_by_another(tmp_path: Path):
    process = os.fork()
    if process == 0:
        os._exit(0)
    os.waitpid(process, 0)
    held = copy(tmp_path / "one", "driver")
    with _alone(held):
        path = tmp_path / "one" / ".pieces" / "driver.json"
        path.write_text(path.read_text().replace(str(os.getpid()), str(process)))
        held.send()
        with _alone(copy(tmp_path / "two", "driver")):
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
        Copy("nothing://here", tmp_path, "one")
