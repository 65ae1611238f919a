"""Files that survive: written whole or not at all, appended line by line, and a lock that dies with its process.

A system that crashes may lose what it has not been told to keep, so files and the folders that name them are synced.
"""

import errno
import json
import os
import secrets
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LOCK = ".lock"
# What a file system answers that knows no locks, or whose lock server is away; and one that cannot sync a folder.
_NOT_HERE = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF}
# The folders that this process has locked, and which file each lock is; None where the file system has no locks.
_held: dict[Path, tuple[int, int] | None] = {}


class LockedError(ValueError):
    """Somebody else works in the folder; the message says who."""


class LineError(ValueError):
    """A line of a log that cannot be read; the message names it."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write `path` whole or not at all: readers see the old content until the new one is on the disk."""
    _make(path.parent)
    temporary = path.parent / f".{path.name}.{secrets.token_hex(6)}.tmp"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # as the umask has it
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk; a system that cannot sync folders has its own way."""
    handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if path.is_file() or error.errno not in _NOT_HERE:
            raise
    finally:
        os.close(handle)


def clear_temporaries(folder: Path) -> None:
    """Remove what a process that was killed while it wrote has left."""
    for path in folder.glob(f".*.{'[0-9a-f]' * 12}.tmp"):
        path.unlink(missing_ok=True)


def append_lines(path: Path, lines: bytes, durable: bool = True) -> None:
    """Add whole lines to the end of a file, all of them or, if writing fails, none. A line that an earlier writer was
    killed in is mended first: completed by its newline if it is whole, else removed."""
    from filelock import lock_descriptor

    _make(path.parent)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.write(file, lines)  # a pipe or /dev/null, with no end to look at and nothing to take back
            return
        with suppress(OSError):  # a file system without locks; appending is atomic there, too, but mending is not
            lock_descriptor(file, poll_interval=0.001)
        start, written = os.fstat(file).st_size, 0
        if start > 0 and os.pread(file, 1, start - 1) != b"\n":
            start, missing = end_of_lines(os.pread(file, start, 0))
            os.ftruncate(file, start)
            lines = missing + lines
        try:
            written = os.write(file, lines)
            if written < len(lines):
                raise OSError(errno.ENOSPC, f"only {written} of {len(lines)} bytes could be written", str(path))
            if durable:
                os.fsync(file)
        except BaseException:
            # Taken back only if nobody else has appended meanwhile.
            if os.fstat(file).st_size == start + written:
                os.ftruncate(file, start)
            raise
    finally:
        os.close(file)


def end_of_lines(content: bytes) -> tuple[int, bytes]:
    """How much of a file is whole lines, and the newline that the last of them lacks."""
    content = content.rstrip(b"\0")  # a crash leaves zeros where the disk was told of a length and not of the bytes
    end = content.rfind(b"\n") + 1
    try:
        json.loads(content[end:])
    except (ValueError, RecursionError):
        return end, b""
    return len(content), b"\n"


def read_objects(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects in the lines of a file, but for an unfinished last one; a line that is none is named."""
    content = path.read_bytes()
    for number, line in enumerate(content[: end_of_lines(content)[0]].rstrip().splitlines(), 1):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise LineError(f"{path}, line {number} is damaged ({error}); put the file back from a copy") from None
        if not isinstance(data, dict):
            raise LineError(f"{path}, line {number} is not an object with named fields; put the file back from a copy")
        yield data


@contextmanager
def locked(folder: Path, warn: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Have a folder alone, for as long as this process lives; it is created if need be, and removed if left empty.

    It is an error to write there once the folder has vanished, was moved, or its lock is another's. The lock is the
    system's: it ends with the process, however that ends. Where the file system has none, that is said.
    """
    from filelock import FileLock, Timeout

    path, held, own = folder / LOCK, folder.absolute(), None
    lock = FileLock(path, timeout=0, fallback_to_soft=False)
    try:
        lock.acquire()  # which makes the folder
        own = _identity(path)
        with suppress(OSError):  # a full disk has room for a lock, if not for its holder's name
            path.write_text(f"process {os.getpid()} on {socket.gethostname()}\n")
    except Timeout:
        raise LockedError(
            f"{folder} is being written to by {holder(folder) or 'another process'}; wait for it, or choose another "
            "folder"
        ) from None
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        warn(f"the file system of {folder} has no locks; make sure that nothing else writes there")
    _held[held] = own
    try:
        yield
    finally:
        del _held[held]
        if own is None or own == _identity(path):
            with suppress(OSError):
                path.unlink(missing_ok=True)  # before the lock ends: whoever opened it meanwhile looks for it anew
                folder.rmdir()
        lock.release()


def _make(folder: Path) -> None:
    """Make a folder to write to; one that this process has locked must be there, and be its own."""
    place = folder.absolute()
    for held, own in _held.items():
        if held == place or held in place.parents:
            if not (held.is_dir() if own is None else own == _identity(held / LOCK)):
                raise LockedError(
                    f"{held} is no longer this process's own: it was deleted or moved, or its lock was; nothing more "
                    "is written there"
                )
            if held != place:
                folder.mkdir(exist_ok=True)
            return
    folder.mkdir(parents=True, exist_ok=True)


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at a path. A lock stays open, so no other file gets its number."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def holder(folder: Path) -> str:
    """Who has locked a folder, or had when it was killed; empty where nobody has."""
    with suppress(OSError):
        told = (folder / LOCK).read_bytes()[:200].decode(errors="replace").strip()
        return told if told.isprintable() else ""
    return ""
