"""Storage behind an address, such as s3://bucket/mine: whoever works has a folder of its own that follows it.

A job fetches what it needs when it begins, and sends what has changed whenever it has kept a checkpoint. A training
folder has one writer, its job. Files of records have one, too: workers return their records, and the driver adds them.
"""

import math
import os
import secrets
import tempfile
import time
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from gridsum.io.disk import LOCK, write_atomically
from gridsum.training.checkpoints import BEFORE, CHECKPOINT

# A kill may come between two files, so they are sent in the order in which a training folder is written: nothing is
# older than the checkpoint, and a folder without a configuration holds no training yet.
_LAST = ("proof.json", BEFORE, CHECKPOINT, "config.json")
_TENSORS, _HEADER_BYTES = ".safetensors", 2**20
_SECONDS = 15.0
"""After which something is sent even if nothing is kept, so that `gridsum watch` sees that the work goes on."""
# Where a file appears whole or not at all. Elsewhere it is written beside and renamed.
_WHOLE_ALONE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory"}


class StorageError(ValueError):
    """Storage that cannot be used; the message says what to do."""


def is_address(text: str) -> bool:
    return "://" in text


class Copy:
    """A folder that follows an address; what its files were when they were last fetched or sent is remembered."""

    def __init__(self, address: str, folder: Path) -> None:
        try:
            import fsspec
        except ModuleNotFoundError:
            raise StorageError("an address needs fsspec; pip install '.[cluster]'") from None
        try:
            files, root = fsspec.url_to_fs(address, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise StorageError(f"{address} cannot be reached: {error}") from None
        self.address, self.folder = address, folder
        self._files: Any = files
        self._root = root.rstrip("/")
        self._there: dict[str, str] = {}
        """What the storage says of each file that is here as it is there."""
        self._here: dict[str, tuple[int, ...]] = {}
        """What the system said of each file here when it was last as it is there."""
        self._sent = -math.inf

    def fetch(self, places: Sequence[str] = ("",), whole: bool = True) -> None:
        """Have these parts here as they are there; if not `whole`, of tensors only what they are, not their values."""
        self._files.invalidate_cache()
        listed = self._listed(places)
        within = {PurePosixPath(place) for place in places}
        for name in [name for name in self._there if within & {*PurePosixPath(name).parents, PurePosixPath(name)}]:
            if name not in listed:
                (self.folder / name).unlink(missing_ok=True)
                del self._there[name], self._here[name]
        for name, about in listed.items():
            version = repr(sorted(about.items()))
            if self._there.get(name) != version:
                with suppress(FileNotFoundError):  # another job has just removed it
                    content = self._read(name, about["size"], whole or not name.endswith(_TENSORS))
                    write_atomically(self.folder / name, content)
                    self._here[name], self._there[name] = _state(self.folder / name), version

    def keep(self) -> None:
        """Send what is new if a checkpoint or a proof is among it, or if it is time."""
        if time.monotonic() - self._sent > _SECONDS or any(map(_rank, self._changed())):
            self.send()

    def send(self) -> None:
        """Have there what has changed here since the last time."""
        changed = self._changed()
        for name in sorted(changed, key=lambda name: (_rank(name), name)):
            self._write(name, (self.folder / name).read_bytes())
            self._here[name] = changed[name]
        for name in [name for name in self._here if not (self.folder / name).is_file()]:
            self._remove(name)
            del self._here[name]
            self._there.pop(name, None)
        self._sent = time.monotonic()

    def _changed(self) -> dict[str, tuple[int, ...]]:
        """What the system says of every file here that is not as it was."""
        paths = [path for path in self.folder.rglob("*") if path.name != LOCK and path.suffix != ".tmp"]
        states = {str(path.relative_to(self.folder)): _state(path) for path in paths if path.is_file()}
        return {name: state for name, state in states.items() if self._here.get(name) != state}

    def _listed(self, places: Sequence[str]) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for place in places:
            with suppress(FileNotFoundError):
                found |= self._files.find(f"{self._root}/{place}".rstrip("/"), detail=True)
        names = {path.removeprefix(self._root).lstrip("/"): about for path, about in found.items()}
        return {
            name: about for name, about in sorted(names.items()) if not name.endswith(".tmp") and _begun(name, names)
        }

    def _read(self, name: str, size: int, whole: bool) -> bytes:
        path = f"{self._root}/{name}"
        if whole:
            return self._files.cat_file(path)
        # The beginning says what a file of tensors holds; the rest is left empty, at its length.
        return self._files.cat_file(path, 0, min(size, _HEADER_BYTES)).ljust(size, b"\0")

    def _write(self, name: str, content: bytes) -> None:
        path, protocols = f"{self._root}/{name}", self._files.protocol
        if _WHOLE_ALONE & ({protocols} if isinstance(protocols, str) else set(protocols)):
            self._files.pipe_file(path, content)
            return
        beside = f"{path}.{secrets.token_hex(6)}.tmp"
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(beside, content)
        self._files.mv(beside, path)

    def _remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._files.rm_file(f"{self._root}/{name}")


def _state(path: Path) -> tuple[int, ...]:
    about = os.stat(path)
    return about.st_mtime_ns, about.st_size, about.st_ino


def _begun(name: str, names: Container[str]) -> bool:
    """Whether a file is none of a training whose configuration has not come to be sent: that training begins anew."""
    path = PurePosixPath(name)
    runs = [parent.parent for parent in path.parents if parent.name.startswith("seed-")]
    folder = runs[0] if runs else path.parent if path.name in (BEFORE, CHECKPOINT) else None
    return folder is None or str(folder / "config.json") in names


def _rank(name: str) -> int:
    last = PurePosixPath(name).name
    return _LAST.index(last) + 1 if last in _LAST else 0


@contextmanager
def copied(address: str, places: Sequence[str] = ("",), whole: bool = True) -> Iterator[Copy]:
    """A copy in a folder that ends with it; errors name the address instead of that folder."""
    with tempfile.TemporaryDirectory(prefix="gridsum-") as folder:
        copy = Copy(address, Path(folder))
        try:
            copy.fetch(places, whole)
            yield copy
        except (ValueError, RuntimeError) as error:
            error.args = tuple(a.replace(folder, address) if isinstance(a, str) else a for a in error.args)
            raise


@contextmanager
def folder_of(out: str, whole: bool = True) -> Iterator[tuple[Path, Copy | None]]:
    """The folder that a name or an address means; of an address a copy, which is sent at the end if it is whole."""
    if not is_address(out):
        yield Path(out), None
        return
    with copied(out, whole=whole) as copy:
        try:
            yield copy.folder, copy
        finally:
            if whole:
                copy.send()
