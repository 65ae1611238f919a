"""Where pieces run: a small file for each, which whoever works on it renews.

    FOLDER/.pieces/STAGE-SUBJECT.json    machine, process, how far, since when
    FOLDER/.pieces/STAGE-SUBJECT.epochs  every epoch that was computed, a line each: what was done again shows here

They are for people to look at. What is done is read from folders and records, never from these.
"""

import json
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from gridsum.io.disk import append_lines, write_atomically

_FOLDER = ".pieces"
_RENEWED, _STALE = 2.0, 60.0


@dataclass(frozen=True)
class Whereabouts:
    piece: str
    machine: str
    process: int
    began: float
    seen: float
    done: int = 0
    total: int = 0

    @property
    def current(self) -> bool:
        """Whether somebody has been there just now."""
        return time.time() - self.seen < _STALE

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far."""
        return (self.seen - self.began) / self.done * (self.total - self.done) if self.done else None


class Sign:
    """Tells where a piece is being worked on, every few seconds."""

    def __init__(self, folder: Path, piece: str) -> None:
        self._path, self._notes, self._piece = _path(folder, piece), epochs_path(folder, piece), piece
        self._began, self._told, self._first = time.time(), 0.0, None

    def tell(self, done: int = 0, total: int = 0) -> None:
        now = time.time()
        if self._first is None:
            self._first = done  # what had been done before is no part of the pace
        if now - self._told < _RENEWED:
            return
        self._told = now
        place = Whereabouts(
            self._piece, socket.gethostname(), os.getpid(), self._began, now, done - self._first, total - self._first
        )
        write_atomically(self._path, json.dumps(asdict(place)).encode())

    def epoch(self, number: int, of: int) -> None:
        """An epoch of a training is done."""
        append_lines(self._notes, b"%d\n" % number, sync=False)
        self.tell(number, of)


def epochs_computed(folder: Path, piece: str) -> list[int]:
    """The epochs of a training in the order they were computed in, all tries together."""
    path = epochs_path(folder, piece)
    return [int(line) for line in path.read_text().split()] if path.exists() else []


@contextmanager
def sign(folder: Path, piece: str) -> Iterator[Sign]:
    """A sign for as long as the work goes on."""
    made = Sign(folder, piece)
    made.tell()
    try:
        yield made
    finally:
        _path(folder, piece).unlink(missing_ok=True)


def whereabouts(folder: Path) -> dict[str, Whereabouts]:
    """Who works on what in a folder, by piece; what cannot be read is passed over."""
    found = {}
    for path in folder.glob(f"{_FOLDER}/*.json"):
        try:
            place = Whereabouts(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            continue
        found[place.piece] = place
    return found


def file_name(piece: str) -> str:
    """A piece as part of the name of a file."""
    return re.sub(r"[^\w,=-]+", "-", piece)


def epochs_path(folder: Path, piece: str) -> Path:
    return folder / _FOLDER / f"{file_name(piece)}.epochs"


def _path(folder: Path, piece: str) -> Path:
    return folder / _FOLDER / f"{file_name(piece)}.json"
