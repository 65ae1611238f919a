"""Where jobs run: a small log for each, which whoever works on it adds to.

    FOLDER/.jobs/STAGE-SUBJECT.jsonl    machine, process, when, how far; and every epoch that was computed

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

from gridsum.io.disk import append_lines, read_objects

_FOLDER = ".jobs"
_RENEWED, _STALE = 2.0, 60.0


@dataclass(frozen=True)
class Beat:
    """What was last heard of a job."""

    job: str
    machine: str
    process: int
    began: float
    seen: float
    first: int
    """How much had been done before this process began."""
    done: int
    total: int
    ended: bool = False

    @property
    def current(self) -> bool:
        """Whether somebody is at work."""
        return not self.ended and time.time() - self.seen < _STALE

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far."""
        done = self.done - self.first
        return (self.seen - self.began) / done * (self.total - self.done) if done > 0 else None


class Heartbeat:
    """Tells how far a job is, every few seconds, or at once."""

    def __init__(self, folder: Path, job: str) -> None:
        self._path, self._job, self._began, self._seen = folder / _path_of(job), job, time.time(), 0.0
        self._first: int | None = None

    def beat(self, done: int = 0, total: int = 0, at_once: bool = False, ended: bool = False) -> None:
        now = time.time()
        if self._first is None and total:
            self._first = done - at_once  # an epoch that is told at once has been computed here
        if at_once or ended or now - self._seen >= _RENEWED:
            self._seen, place = now, (self._job, socket.gethostname(), os.getpid(), self._began, now)
            line = json.dumps(asdict(Beat(*place, self._first or 0, done, total, ended)))
            append_lines(self._path, line.encode() + b"\n", durable=False)


@contextmanager
def heartbeat(folder: Path, job: str) -> Iterator[Heartbeat]:
    """A heartbeat for as long as the work goes on."""
    made = Heartbeat(folder, job)
    made.beat()
    try:
        yield made
    finally:
        made.beat(ended=True)


def beats(folder: Path, job: str) -> list[Beat]:
    """All that was told of a job, by every process that worked on it; what cannot be read is passed over."""
    try:
        return [Beat(**line) for line in read_objects(folder / _path_of(job))]
    except (OSError, ValueError, TypeError):
        return []


def last_beats(folder: Path) -> dict[str, Beat]:
    """What was last heard of each job."""
    found = (beats(folder, path.stem) for path in folder.glob(f"{_FOLDER}/*.jsonl"))
    return {last[-1].job: last[-1] for last in found if last}


def _path_of(job: str) -> str:
    """The log of a job, as it is called in the folder."""
    name = re.sub(r"[^\w,=-]+", "-", job)
    return f"{_FOLDER}/{name}.jsonl"
