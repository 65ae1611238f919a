"""Storage behind an address, such as s3://bucket/mine: whoever works has a folder of its own that follows it.

A piece fetches what it needs when it begins, and sends what has changed whenever it has kept a checkpoint or a record.
Several pieces add lines to the same file of records. What stands behind an address can only be written whole, so there
such a file is a folder, with a file for each writer:

    ADDRESS/NAME/...                        a training folder, as it is
    ADDRESS/records/NAME.jsonl/WRITER.jsonl the lines that one piece has written
"""

import math
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from gridsum.io.disk import LOCK, write_atomically
from gridsum.training.checkpoints import BEFORE, CHECKPOINT

# A kill may come between two files, so they are sent in the order in which a training folder is written: nothing is
# older than the checkpoint, and a folder without a configuration holds no training yet.
_LAST = ("proof.json", BEFORE, CHECKPOINT, "config.json")
_LINES, _TENSORS = ".jsonl", ".safetensors"
_HEADER_BYTES = 2**20
_SECONDS = 15.0
"""After which something is sent even if nothing is kept, so that `gridsum status` sees that the work goes on."""
# Where a file appears whole or not at all. Elsewhere it is written beside and renamed.
_WHOLE_ALONE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory"}


class StorageError(ValueError):
    """Storage that cannot be used; the message says what to do."""


def is_address(text: str) -> bool:
    return "://" in text


class Copy:
    """A folder that follows an address; what its files were when they were last fetched or sent is remembered."""

    def __init__(self, address: str, folder: Path, writer: str) -> None:
        try:
            import fsspec
        except ModuleNotFoundError:
            raise StorageError("an address needs fsspec; pip install 'gridsum[cluster]'") from None
        try:
            files, root = fsspec.url_to_fs(address, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise StorageError(f"{address} cannot be reached: {error}") from None
        self.address, self.folder = address, folder
        self._files: Any = files
        self._root, self._writer = root.rstrip("/"), f"{writer}{_LINES}"
        self._there: dict[str, str] = {}
        """What the storage says of each file that is here as it is there."""
        self._here: dict[str, tuple[int, ...]] = {}
        """What the system said of each file here when it was last as it is there."""
        self._others: dict[str, int] = {}
        """Of a file of lines, how many bytes other writers have written."""
        self._sent = -math.inf

    def fetch(self, places: Sequence[str] = ("",), whole: bool = True) -> None:
        """Have these parts here as they are there; if not `whole`, of tensors only what they are, not their values."""
        self._files.invalidate_cache()
        lines: dict[str, list[str]] = {}
        listed = self._listed(places)
        within = {PurePosixPath(place) for place in places}
        for name in [name for name in self._there if within & {*PurePosixPath(name).parents, PurePosixPath(name)}]:
            if name not in listed:
                (self.folder / name).unlink(missing_ok=True)
                del self._there[name], self._here[name]
        for name, about in listed.items():
            owner = PurePosixPath(name).parent
            if owner.suffix == _LINES:
                lines.setdefault(str(owner), []).append(name)
            elif self._there.get(name) != (version := repr(sorted(about.items()))):
                with suppress(FileNotFoundError):  # another piece has just removed it
                    self._put_here(name, self._read(name, about["size"], whole or not name.endswith(_TENSORS)))
                    self._there[name] = version
        for owner, writers in lines.items():
            ours = f"{owner}/{self._writer}"
            before = b"".join(self._read(name) for name in sorted(writers) if name != ours)
            self._put_here(owner, before + (self._read(ours) if ours in writers else b""))
            self._others[owner] = len(before)

    def keep(self) -> None:
        """Send what is new if a checkpoint, a proof or a record is among it, or if it is time."""
        states = self._states()
        new = [name for name, state in states.items() if self._here.get(name) != state]
        if self.is_due or any(_rank(name) or _is_shared(name) for name in new):
            self.send()

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._sent > _SECONDS

    def send(self) -> None:
        """Have there what has changed here since the last time."""
        states = self._states()
        changed = [name for name, state in states.items() if self._here.get(name) != state]
        for name in sorted(changed, key=lambda name: (_rank(name), name)):
            content = (self.folder / name).read_bytes()
            if _is_shared(name):
                self._write(f"{name}/{self._writer}", content[self._others.get(name, 0) :])
            else:
                self._write(name, content)
            self._here[name] = states[name]
        for name in self._here.keys() - states.keys():
            self._remove(name)
        self._sent = time.monotonic()

    def _states(self) -> dict[str, tuple[int, ...]]:
        """What the system says of every file here."""
        paths = [path for path in self.folder.rglob("*") if path.name != LOCK and path.suffix != ".tmp"]
        return {str(path.relative_to(self.folder)): _state(path) for path in paths if path.is_file()}

    def _listed(self, places: Sequence[str]) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for place in places:
            try:
                found |= self._files.find(f"{self._root}/{place}".rstrip("/"), detail=True)
            except FileNotFoundError:
                continue
        names = {path.removeprefix(self._root).lstrip("/"): about for path, about in found.items()}
        return {name: about for name, about in sorted(names.items()) if not name.endswith(".tmp")}

    def _read(self, name: str, size: int = 0, whole: bool = True) -> bytes:
        path = f"{self._root}/{name}"
        if whole:
            return self._files.cat_file(path)
        # The beginning says what a file of tensors holds; the rest is left empty, at its length.
        return self._files.cat_file(path, 0, min(size, _HEADER_BYTES)).ljust(size, b"\0")

    def _put_here(self, name: str, content: bytes) -> None:
        path = self.folder / name
        write_atomically(path, content)
        self._here[name] = _state(path)

    def _write(self, name: str, content: bytes) -> None:
        path = f"{self._root}/{name}"
        protocols = self._files.protocol
        beside = path
        if not _WHOLE_ALONE & ({protocols} if isinstance(protocols, str) else set(protocols)):
            beside = f"{path}.{secrets.token_hex(6)}.tmp"
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(beside, content)
        if beside != path:
            self._files.mv(beside, path)

    def _remove(self, name: str) -> None:
        path = f"{self._root}/{name}/{self._writer}" if _is_shared(name) else f"{self._root}/{name}"
        if self._files.exists(path):
            self._files.rm_file(path)
        del self._here[name]
        self._there.pop(name, None)


def _state(path: Path) -> tuple[int, ...]:
    about = os.stat(path)
    return about.st_mtime_ns, about.st_size, about.st_ino


def _rank(name: str) -> int:
    last = PurePosixPath(name).name
    return _LAST.index(last) + 1 if last in _LAST else 0


def _is_shared(name: str) -> bool:
    """Whether several pieces add lines to a file; the log of a run has one writer, and is cut back at times."""
    path = PurePosixPath(name)
    return path.suffix == _LINES and not path.parent.name.startswith("seed-")


@contextmanager
def copied(address: str, writer: str, places: Sequence[str] = ("",), whole: bool = True) -> Iterator[Copy]:
    """A copy in a folder that ends with it; errors name the address instead of that folder."""
    with tempfile.TemporaryDirectory(prefix="gridsum-") as folder:
        copy = Copy(address, Path(folder), writer)
        try:
            copy.fetch(places, whole)
            yield copy
        except (ValueError, RuntimeError) as error:
            error.args = tuple(a.replace(folder, address) if isinstance(a, str) else a for a in error.args)
            raise
