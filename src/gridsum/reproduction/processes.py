"""Pieces side by side on this machine, each in a process of its own.

Fleets of few runs, and networks whose steps are many short kernels, leave most of a large GPU idle. The kernels of
several processes run at once where NVIDIA's multi-process service runs (`nvidia-cuda-mps-control -d`), in turns where
not.
"""

import signal
import socket
from collections import deque
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import torch

from gridsum.reproduction.pieces import Piece
from gridsum.reproduction.workers import LOOK_SECONDS, Workers, WorkersError, do_piece


class Processes(Workers):
    """So many processes at a time at most, which share the cores. Left early, each saves what it has and ends."""

    def __init__(self, most: int) -> None:
        self.described = f"{most} processes of this machine"
        self._most, self._context = most, get_context("spawn")  # a forked process cannot use the GPU
        self._queue: deque[_Job] = deque()
        self._running: list[_Job] = []

    def __exit__(self, *_: object) -> None:
        self._queue.clear()
        for job in self._running:
            job.process.terminate()
        for job in self._running:
            job.process.join()

    def begin(self, piece: Piece, asked: tuple[Any, ...]) -> "_Job":
        job = _Job(self._context, piece, max(1, torch.get_num_threads() // self._most), asked)
        self._queue.append(job)
        self._fill()
        return job

    def ended(self) -> "list[_Job]":
        wait([job.process.sentinel for job in self._running], LOOK_SECONDS)
        done = [job for job in self._running if not job.process.is_alive()]
        self._running = [job for job in self._running if job not in done]
        self._fill()
        return done

    def result(self, begun: "_Job", piece: Piece) -> tuple[str, float]:
        said = begun.told.recv() if begun.told.poll() else None
        if isinstance(said, float):
            return socket.gethostname(), said
        if said is not None:
            raise said
        code = begun.process.exitcode
        raise WorkersError(f"the process that did {piece.name} ended with {code}; the same command goes on from there")

    def _fill(self) -> None:
        while self._queue and len(self._running) < self._most:
            job = self._queue.popleft()
            job.process.start()
            self._running.append(job)


class _Job:
    """A piece in a process, and where it tells how it ended."""

    def __init__(self, context: Any, piece: Piece, threads: int, asked: tuple[Any, ...]) -> None:
        self.told, there = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(target=_work, args=(there, threads, asked), name=piece.name)


def _work(told: Connection, threads: int, asked: tuple[Any, ...]) -> None:
    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not interrupt what is saved
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver hears it, and tells
    signal.signal(signal.SIGTERM, stop)
    torch.set_num_threads(threads)
    try:
        _, seconds = do_piece(*asked)
        told.send(seconds)
    except KeyboardInterrupt:
        pass  # what was done is saved, and nobody listens any more
    except (ValueError, RuntimeError, OSError) as error:
        told.send(error)
