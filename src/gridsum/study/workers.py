"""Jobs done by workers: this process, several processes of this machine, or tasks of a Ray cluster.

A job goes on from what it has done in its folder, which all workers see. So Ray does a job again whose worker dies; and
where a driver dies, or a process of this machine, the same command goes on.
"""

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

import torch

from gridsum.io.disk import LockedError
from gridsum.io.progress import SILENT, Progress
from gridsum.io.signals import stoppable
from gridsum.ops.devices import pick_device
from gridsum.study.jobs import Job, title

_PATIENCE = 120.0
"""How long a job waits for a folder that a dying process has not let go of, in seconds."""
_LOOK_SECONDS = 1.0
_REACH_SECONDS = 10.0
_SPAWN = multiprocessing.get_context("spawn")  # a forked process cannot use the GPU


class WorkersError(RuntimeError):
    """Workers that cannot be reached or used; the message says what to do."""


Submit = Callable[..., "Future[None]"]
"""Has workers do a job; takes it, its folder and the commit that records name."""


def do_jobs(
    jobs: Sequence[Job],
    folder: Path,
    shown: Progress,
    on: str | None,
    device: torch.device,
    commit: str | None = None,
    gpus_per_job: float | None = None,
) -> list[Job]:
    """Do all jobs, here or by the workers that `on` names; returns those that wait for others."""

    def here(job: Job, folder: Path, commit: str | None) -> "Future[None]":
        future: Future[None] = Future()
        future.set_result(do_job(job, folder, commit, device, shown))
        return future

    if on is None:
        return run_by(here, jobs, folder, commit, shown.note)
    kind, _, most = on.partition(":")
    with processes(int(most)) if kind == "processes" else cluster(on, gpus_per_job) as submit:
        shown.note(f"{len(jobs)} jobs by {on}; gridsum watch {folder} says how far")
        return run_by(submit, jobs, folder, commit, shown.note)


def run_by(
    submit: Submit, jobs: Sequence[Job], folder: Path, commit: str | None, note: Callable[[str], None] = lambda _: None
) -> list[Job]:
    """Do all jobs by workers, each as soon as what it waits for is done; returns those that still wait in the end."""
    folder = folder.absolute()
    waiting: dict[Job, str] = {}
    running: dict[Future[None], Job] = {}

    def look(job: Job) -> None:
        """Send a job off, or keep it with what it waits for; to look costs reading folders."""
        state = job.state(folder)
        waiting.pop(job, None)
        if not state.finished and state.waits_for:
            waiting[job] = state.waits_for
        elif not state.finished:
            running[submit(job, folder, commit)] = job

    for job in jobs:
        look(job)
    while running:
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            job = running.pop(future)
            if error := future.exception():
                cause = getattr(error, "cause", error)  # Ray's own errors have one: the job's, as it was raised there
                if type(cause).__module__.split(".")[0] == "ray":
                    raise WorkersError(f"a job could not be done: {cause}") from None
                raise cause
            note(f"{title(job)}: done")
            for other in [other for other, what in waiting.items() if what.endswith(f" {job.training.name}")]:
                look(other)
    for job in waiting:
        note(f"{title(job)} is left out: it waits for {job.state(folder).waits_for}")
    return list(waiting)


def do_job(
    job: Job, folder: Path, commit: str | None, device: torch.device | None = None, shown: Progress = SILENT
) -> None:
    """Do a job in this process; if another one works on it at that moment, wait for that."""
    began = time.monotonic()
    while not job.state(folder).finished:
        try:
            return job.run(folder, device or pick_device("auto"), shown, commit)
        except LockedError:
            if time.monotonic() > began + _PATIENCE:
                raise
            time.sleep(_LOOK_SECONDS)


@contextmanager
def processes(most: int) -> Iterator[Submit]:
    """So many processes of this machine at a time, which share its cores and, by NVIDIA's multi-process service, its
    GPU. Left early, or where one of them is killed, each saves what it has and ends."""
    threads = max(1, torch.get_num_threads() // most)
    with ProcessPoolExecutor(most, _SPAWN, _begin, (threads,)) as pool:
        try:
            yield partial(pool.submit, _work)
        except BrokenProcessPool:
            raise WorkersError("a process that did a job was killed; the same command goes on") from None
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()  # for the pool, each as good as killed: it gives up what waits, and waits for all
            raise


def _begin(threads: int) -> None:
    """Be a process that does jobs, and ends with the process that began it."""

    def end_with_driver() -> None:
        driver = multiprocessing.parent_process()
        assert driver is not None
        wait_for([driver.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver hears it, and tells
    threading.Thread(target=end_with_driver, daemon=True).start()
    torch.set_num_threads(threads)


def _work(*asked: Any) -> None:
    """Do a job; told to stop, save what is done and end."""
    try:
        with stoppable():
            do_job(*asked)
    except KeyboardInterrupt:
        os._exit(1)  # what was done is saved, and nobody listens any more


@contextmanager
def cluster(where: str, gpus_per_job: float | None = None, cpus: int | None = None) -> Iterator[Submit]:
    """A cluster of Ray's: that at an address, or one on this machine that ends with it.

    Ray does a job again elsewhere, without end, if its worker or machine dies; an error of the job itself ends it.
    """
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise WorkersError("this needs ray, which is not installed; pip install '.[cluster]'") from None
    local = where == "ray"
    if not local:
        host, _, port = where.removeprefix("ray://").rpartition(":")
        try:  # Ray itself would try for many minutes
            socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_SECONDS).close()
        except (OSError, ValueError, OverflowError) as error:
            why = f"there is no cluster of Ray's at {where!r} ({error}); use ray, ray://HOST:10001 or HOST:6379"
            raise WorkersError(why) from None
    options = {"num_cpus": cpus} if local and cpus else {}
    try:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
        ray.init(None if local else where, **quiet, **options)
    except Exception as error:  # Ray raises plain ones, too
        if local:
            raise WorkersError(f"no cluster could be started here: {error}") from None
        raise WorkersError(
            f"there is no cluster of Ray's at {where!r} that lets us in: {error}; if it asks for a token, set "
            "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
        ) from None
    gpus = (1.0 if ray.cluster_resources().get("GPU") else 0.0) if gpus_per_job is None else gpus_per_job
    task = ray.remote(max_retries=-1, retry_exceptions=False)(do_job)

    def submit(job: Job, *asked: Any) -> "Future[None]":
        asking = task.options(name=title(job), num_cpus=1, num_gpus=gpus, memory=job.memory)
        return asking.remote(job, *asked).future()

    try:
        yield submit
    finally:
        ray.shutdown()
