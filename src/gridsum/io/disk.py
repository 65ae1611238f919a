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

try:
    import fcntl
except ImportError:  # a system without them has no such locks either
    fcntl = None

LOCK = ".lock"
_TEMPORARY = ".tmp"
# What a file system answers that knows no locks, or whose lock server is away.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.EBADF}
# The folders that this process has locked, and the open locks; None where the file system has none.
_held: dict[Path, int | None] = {}


class LockedError(ValueError):
    """Somebody else works in the folder; the message says who."""


class LineError(ValueError):
    """A line of a log that cannot be read; the message names it."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write `path` whole or not at all: readers see the old content until the new one is on the disk."""
    _make(path.parent)
    temporary = path.parent / f".{path.name}.{secrets.token_hex(6)}{_TEMPORARY}"
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
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Keep the names in a folder; a system that cannot sync folders keeps them in its own way."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def clear_temporaries(folder: Path) -> None:
    """Remove what a process that was killed while it wrote has left."""
    for path in folder.glob(f".*{_TEMPORARY}"):
        path.unlink(missing_ok=True)


def append_lines(path: Path, lines: bytes, sync: bool = True) -> None:
    """Add whole lines to the end of a file, all of them or, if writing fails, none.

    A line that an earlier writer was killed in is mended first: completed by its newline if it is whole, else removed.
    """
    _make(path.parent)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            os.write(file, lines)  # a pipe or /dev/null, with no end to look at and nothing to take back
            return
        with _one_at_a_time(file):
            start = os.fstat(file).st_size
            if start > 0 and os.pread(file, 1, start - 1) != b"\n":
                start = _mend(file)
            written = 0
            try:
                written = os.write(file, lines)
                if written < len(lines):
                    raise OSError(errno.ENOSPC, f"only {written} of {len(lines)} bytes could be written", str(path))
                if sync:
                    os.fsync(file)
            except BaseException:
                # Taken back only if nobody else has appended meanwhile.
                if os.fstat(file).st_size == start + written:
                    os.ftruncate(file, start)
                raise
    finally:
        os.close(file)


@contextmanager
def _one_at_a_time(file: int) -> Iterator[None]:
    """As far as the file system knows locks; appending is atomic without, but mending is not."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
    yield  # closing the file ends it


def _mend(file: int) -> int:
    """Mend the last line of an open file; returns its size then."""
    whole, torn = split_torn(os.pread(file, os.fstat(file).st_size, 0))
    size = len(whole)
    os.ftruncate(file, size)
    if torn and is_json(torn):
        size += os.write(file, torn + b"\n")
    return size


def split_torn(content: bytes) -> tuple[bytes, bytes]:
    """The whole lines of a file, and what follows its last newline: a line that was being written, if anything.

    A crash may also leave zeros where the disk was told of a length and not of the bytes.
    """
    content = content.rstrip(b"\0") if content.endswith(b"\0") else content
    end = content.rfind(b"\n") + 1
    return content[:end], content[end:]


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def read_objects(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects in the whole lines of a file, in order; a line that is none is named.

    What a killed writer left of a last line is passed over, because it is written again.
    """
    whole, _ = split_torn(path.read_bytes())
    for number, line in enumerate(whole.split(b"\n")[:-1], 1):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise LineError(f"{path}, line {number} is damaged ({error}); put the file back from a copy") from None
        if not isinstance(data, dict):
            raise LineError(f"{path}, line {number} is no object with named fields; put the file back from a copy")
        yield data


@contextmanager
def locked(folder: Path, warn: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Have a folder alone, for as long as this process lives; it is created if need be, and removed if left empty.

    The lock is looked at before everything that is written there: it is an error if the folder has vanished, was moved,
    or its lock is another's by now.

    The lock is the system's: it ends with the process, however that ends, so no stale one has to be removed. Where the
    file system has none, that is said, and the work goes on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    file = _take(path, folder, warn)

    held = folder.absolute()
    _held[held] = file
    try:
        yield
    finally:
        del _held[held]
        if file is None or _is_at(path, file):
            if file is not None:
                path.unlink(missing_ok=True)  # before the lock ends: whoever opened it meanwhile looks for it anew
            with suppress(OSError):
                folder.rmdir()
        if file is not None:
            os.close(file)


def _make(folder: Path) -> None:
    """Make a folder to write to; one that this process has locked must be there, and be its own."""
    place = folder.absolute()
    for held, lock in _held.items():
        if held == place or held in place.parents:
            if not (held.is_dir() if lock is None else _is_at(held / LOCK, lock)):
                raise LockedError(
                    f"{held} is no longer this process's own: it was deleted or moved, or its lock was; nothing more "
                    "is written there"
                )
            if held != place:
                folder.mkdir(exist_ok=True)
            return
    folder.mkdir(parents=True, exist_ok=True)


def _is_at(path: Path, file: int) -> bool:
    """Whether an open file is the one that stands at a path."""
    try:
        there, here = os.stat(path), os.fstat(file)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def _take(path: Path, folder: Path, warn: Callable[[str], None]) -> int | None:
    if fcntl is None:
        warn(f"this system has no file locks; make sure that nothing else writes to {folder}")
        return None
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(file, 200, 0).decode(errors="replace").strip()
            os.close(file)
            who = f" ({holder})" if holder.isprintable() and holder else ""
            raise LockedError(
                f"{folder} is being written to by another process{who}; wait for it, or choose another folder"
            ) from None
        except OSError as error:
            os.close(file)
            if error.errno not in _NO_LOCKS:
                raise
            warn(f"the file system of {folder} has no locks; make sure that nothing else writes there")
            return None
        if _is_at(path, file):
            with suppress(OSError):  # a full disk has room for a lock, if not for its holder's name
                os.ftruncate(file, 0)
                os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
            return file
        os.close(file)  # its holder has just gone, and the file with it
