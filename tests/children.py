"""Work in a process of its own that is forked from this one: torch is loaded already, which takes seconds otherwise.

A child may be sent a signal at a chosen moment. However busy the machine is, that is the moment: it stops itself.
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from io import FileIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND


class Ended(NamedTuple):
    status: int
    """Negative for the signal that ended it."""
    out: str
    err: str


def in_child(work: Callable[[], int | None], encoding: str = "utf-8") -> Ended:
    """How the work ends, and what it writes; an exception that it raises is written too."""
    with TemporaryFile() as out, TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os._exit(_work(work, out.fileno(), err.fileno(), encoding))
        _, status = os.waitpid(child, 0)
        told = []
        for file in (out, err):
            file.seek(0)
            told.append(file.read().decode(errors="replace"))
        return Ended(os.waitstatus_to_exitcode(status), *told)


def _work(work: Callable[[], int | None], out: int, err: int, encoding: str) -> int:
    os.dup2(out, 1)
    os.dup2(err, 2)
    sys.stdout, sys.stderr = (TextIOWrapper(FileIO(number, "w"), encoding, write_through=True) for number in (1, 2))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        status = work() or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


class Beside:
    """Work in a child that goes on beside this process, with what it says on its standard error."""

    def __init__(self, work: Callable[[], int | None]) -> None:
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read)
            os._exit(_work(work, os.open(os.devnull, os.O_WRONLY), write, "utf-8"))
        os.close(write)
        self.said = os.fdopen(read, encoding="utf-8", errors="replace")
        self._status: int | None = None

    def signal(self, number: signal.Signals) -> None:
        if self._status is None:
            os.kill(self.pid, number)

    def wait(self) -> int:
        """How it ends; negative for the signal that ended it."""
        if self._status is None:
            self._status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._status

    def end(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait()
        self.said.close()


def command(*arguments: str) -> Callable[[], int]:
    """`gridsum` with these arguments, as work."""

    def work() -> int:
        from gridsum.cli import main

        return main(list(arguments))

    return work


def stop_at(number: signal.Signals, file: str, lines: int) -> None:
    """Have this process sent a signal when it is about to write to a file that has so many lines."""
    waiting = True

    def stop(event: str, about: tuple[Any, ...]) -> None:
        nonlocal waiting
        if waiting and event == "open" and str(about[0]).endswith(file) and (about[2] or 0) & _WRITING:
            path = Path(about[0])
            if path.exists() and len(path.read_bytes().splitlines()) >= lines:
                waiting = False
                os.kill(os.getpid(), number)

    if number not in (signal.SIGKILL, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)  # which `nohup` has ignored
    sys.addaudithook(stop)  # Python tells of every file that is opened, before it is


def stopped(arguments: Sequence[str], number: signal.Signals, file: str, lines: int) -> Ended:
    """`gridsum`, sent a signal when it is about to write to a file that has so many lines."""

    def work() -> int:
        stop_at(number, file, lines)
        return command(*arguments)()

    return in_child(work)


def wait_until(true: Callable[[], bool], seconds: float = 250) -> None:
    """By default as long as a test may take, however busy the machine is."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def as_new(*packages: str) -> None:
    """Forget that these have been imported."""
    for name in list(sys.modules):
        if name.split(".")[0] in packages:
            del sys.modules[name]
