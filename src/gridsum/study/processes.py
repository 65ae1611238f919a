"""Pieces side by side on this machine, each in a process of its own.

Fleets of few runs, and networks whose steps are many short kernels, leave most of a large GPU idle. The kernels of
several processes run at once where NVIDIA's multi-process service runs (`nvidia-cuda-mps-control -d`), in turns where
not.
"""

import signal
from collections import deque
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import torch

from gridsum.study.pieces import Piece
from gridsum.study.workers import LOOK_SECONDS, Workers, WorkersError, do_piece


class Processes(Workers):
    """So many processes at a time at most, which share the cores. Left early, each saves what it has and ends."""

    def __init__(self, most: int) -> None:
        self.described = f"{most} processes of this machine"
        self._most, self._context = most, get_context("spawn")  # a forked process cannot use the GPU
        self._queue: deque[Job] = deque()
        self._running: list[Job] = []

    def __exit__(self, *_: object) -> None:
        self._queue.clear()
        for job in self._running:
            job.process.terminate()
        for job in self._running:
            job.process.join()

    def begin(self, piece: Piece, asked: tuple[Any, ...]) -> "Job":
        return self.call(piece.name, do_piece, asked)

    def call(self, name: str, function: Callable[..., Any], asked: tuple[Any, ...]) -> "Job":
        """Call a function in a process of that name, as soon as there is room for one."""
        job = Job(self._context, name, max(1, torch.get_num_threads() // self._most), function, asked)
        self._queue.append(job)
        self._fill()
        return job

    def ended(self) -> "list[Job]":
        wait([job.process.sentinel for job in self._running], LOOK_SECONDS)
        done = [job for job in self._running if not job.process.is_alive()]
        self._running = [job for job in self._running if job not in done]
        self._fill()
        return done

    def result(self, begun: "Job", piece: Piece) -> tuple[str, float]:  # noqa: ARG002
        return begun.result()

    def _fill(self) -> None:
        while self._queue and len(self._running) < self._most:
            job = self._queue.popleft()
            job.process.start()
            self._running.append(job)


class Job:
    """A call in a process, and where it tells how it ended."""

    def __init__(
        self, context: Any, name: str, threads: int, function: Callable[..., Any], asked: tuple[Any, ...]
    ) -> None:
        self.told, there = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(target=_work, args=(there, threads, function, asked), name=name)

    def result(self) -> Any:
        """What the function returned, or the error that it ended with."""
        try:
            said, failed = self.told.recv()
        except EOFError:  # killed or told to stop, it closed its end without a word
            name, code = self.process.name, self.process.exitcode
            raise WorkersError(
                f"the process that did {name} ended with {code}; the same command goes on from there"
            ) from None
        if failed:
            raise said
        return said


def _work(told: Connection, threads: int, function: Callable[..., Any], asked: tuple[Any, ...]) -> None:
    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not interrupt what is saved
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver hears it, and tells
    signal.signal(signal.SIGTERM, stop)
    torch.set_num_threads(threads)
    try:
        told.send((function(*asked), False))
    except KeyboardInterrupt:
        pass  # what was done is saved, and nobody listens any more
    except Exception as error:
        told.send((error, True))
