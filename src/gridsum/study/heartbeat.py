"""What is known of jobs while they are done: a small log for each, which its driver and whoever works on it add to.

    FOLDER/.jobs/STAGE-SUBJECT.jsonl    its state, how far it is, where and when; and every epoch that was computed

They are for people to look at. What is done is read from folders and records, never from these.
"""

import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from gridsum.io.disk import append_lines, read_objects
from gridsum.study.jobs import Job

_FOLDER = ".jobs"
_RENEWED, _STALE = 2.0, 60.0
RUNS, DONE, READY, STOPPED = "runs", "done", "ready", "stopped"


@dataclass(frozen=True)
class Beat:
    """What is told of a job at one moment."""

    job: str
    state: str
    """One of those above, or what it waits for."""
    done: int = 0
    total: int = 0
    unit: str = ""
    first: int = 0
    """How much had been done before this process began."""
    began: float = field(default_factory=time.time)
    seen: float = field(default_factory=time.time)
    machine: str = field(default_factory=socket.gethostname)
    process: int = field(default_factory=os.getpid)

    @property
    def current(self) -> bool:
        """Whether somebody is at work."""
        return self.state == RUNS and time.time() - self.seen < _STALE

    @property
    def seconds_left(self) -> float | None:
        """At the pace so far."""
        done = self.done - self.first
        return (self.seen - self.began) / done * (self.total - self.done) if done > 0 else None

    def tell(self, folder: Path) -> None:
        append_lines(folder / _path_of(self.job), json.dumps(asdict(self)).encode() + b"\n", durable=False)


def tell_state(folder: Path, job: Job) -> None:
    """How far a job has come that nobody works on now."""
    done, total, unit, waits_for = state = job.state(folder)
    told = DONE if state.finished else f"waits for {waits_for}" if waits_for else READY
    Beat(job.name, told, done, total, unit).tell(folder)


@contextmanager
def heartbeat(folder: Path, job: str) -> Iterator[Callable[[int, int, str], None]]:
    """For as long as the work goes on, a function that tells how far it is: at once of epochs, else now and then."""
    last = Beat(job, RUNS)
    last.tell(folder)
    began, first = last.began, -1

    def beat(done: int, total: int, unit: str = "") -> None:
        nonlocal last, first
        if first < 0:
            first = done if unit else done - 1  # an epoch that is told has been computed here
        if not unit or time.time() - last.seen >= _RENEWED:
            last = Beat(job, RUNS, done, total, unit or "epochs", first, began)
            last.tell(folder)

    try:
        yield beat
    finally:
        Beat(job, STOPPED, last.done, last.total).tell(folder)


def beats(folder: Path, job: str) -> list[Beat]:
    """All that was told of a job, by every process that worked on it; what cannot be read is passed over."""
    try:
        return [Beat(**line) for line in read_objects(folder / _path_of(job))]
    except (OSError, ValueError, TypeError):
        return []


def last_beats(folder: Path) -> dict[str, Beat]:
    """What was last told of each job, in the order that they were first heard of."""
    found = [told for path in folder.glob(f"{_FOLDER}/*.jsonl") if (told := beats(folder, path.stem))]
    return {told[-1].job: told[-1] for told in sorted(found, key=lambda told: told[0].seen)}


def _path_of(job: str) -> str:
    """The log of a job, as it is called in the folder."""
    name = re.sub(r"[^\w,=-]+", "-", job)
    return f"{_FOLDER}/{name}.jsonl"
