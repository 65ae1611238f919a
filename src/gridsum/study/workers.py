"""Jobs done by several workers at once: processes of this machine, or tasks of a Ray cluster.

A job keeps what it has done in its folder, or at an address, and goes on from there. So a job whose worker dies is
simply done again; and a driver that dies is started again by the same command.
"""

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, NamedTuple

import torch

from gridsum.api.progress import Progress
from gridsum.io.disk import LockedError
from gridsum.io.limits import told
from gridsum.study.heartbeat import beats, heartbeat, path_of
from gridsum.study.jobs import Callbacks, Job, keep_in
from gridsum.study.storage import Copy, copied

DRIVER = "driver"
_PATIENCE = 120.0
"""How long a job waits for a folder that a dying process has not let go of, in seconds."""
_LOOK_SECONDS = 1.0
_TRIES = 3
"""How often a job of a process that is killed is done."""
_REACH_SECONDS = 10.0
_SPAWN = multiprocessing.get_context("spawn")  # a forked process cannot use the GPU


class WorkersError(RuntimeError):
    """Workers that cannot be reached or used; the message says what to do."""


class Done(NamedTuple):
    """What a worker tells of a job."""

    machine: str
    seconds: float
    kept: list[tuple[str, str]]
    """Lines that the driver has to add to files: those of workers that have only a copy."""


class Workers(NamedTuple):
    """Those who do jobs."""

    described: str
    submit: Callable[..., "Future[Done]"]
    """Takes a job and the other arguments of `do_job`."""
    in_parts: bool
    """Whether to give them jobs in parts as small as can be."""


def do_jobs(
    jobs: Sequence[Job],
    folder: Path,
    shown: Progress,
    on: str | None,
    device: torch.device,
    commit: str | None = None,
    check: Callable[[], None] = lambda: None,
    copy: Copy | None = None,
    gpus_per_job: float | None = None,
) -> list[Job]:
    """Do all jobs, here or by the workers that `on` names; returns those that wait for others."""

    def note(text: str) -> None:
        shown.note(f"gridsum: {text}")

    def progress(label: str, done: int, total: int, unit: str, news: str) -> None:
        shown.update(label, done, total, news, unit=unit)

    if on is None:
        return run_here(jobs, folder, Callbacks(device, progress, keep_in(folder), note, check, commit))
    kind, _, most = on.partition(":")
    with processes(int(most)) if kind == "processes" else cluster(on, gpus_per_job, note) as workers:
        where = copy.address if copy else folder
        note(f"{len(jobs)} jobs on {workers.described}; gridsum watch {where} says how far")
        return run_by(workers, jobs, folder, commit, note, check, copy)


def run_here(jobs: Sequence[Job], folder: Path, callbacks: Callbacks) -> list[Job]:
    """Do all jobs in this process; returns those that wait for others."""
    waiting = []
    for job in jobs:
        state = job.state(folder)
        if state.waits_for and not state.finished:
            callbacks.note(f"{job.name} is left out: it waits for {state.waits_for}")
            waiting.append(job)
        elif not state.finished:
            job.run(folder, callbacks)
    return waiting


def run_by(
    workers: Workers,
    jobs: Sequence[Job],
    folder: Path,
    commit: str | None,
    note: Callable[[str], None],
    check: Callable[[], None] = lambda: None,
    copy: Copy | None = None,
) -> list[Job]:
    """Do all jobs by workers, each as soon as what it waits for is done; returns those that still wait in the end.

    Where `folder` is a copy of what lies at an address, the workers work there.
    """
    folder = folder.absolute()
    waiting: dict[Job, str] = {}
    running: dict[Future[Done], Job] = {}
    keep = keep_in(folder)

    def look(job: Job) -> None:
        """Send a job off, or keep it with what it waits for; to look costs reading folders."""
        state = job.state(folder)
        waiting.pop(job, None)
        if not state.finished and state.waits_for:
            waiting[job] = state.waits_for
        elif not state.finished:
            running[workers.submit(job, folder, commit, copy and copy.address)] = job

    with _alone(copy) as renew:
        for whole in jobs:
            for job in whole.parts() if workers.in_parts or copy else [whole]:
                look(job)
        while running:
            done, _ = wait(running, _LOOK_SECONDS, FIRST_COMPLETED)
            renew()
            check()
            for future in done:
                job, result = running.pop(future), _result(future)
                note(f"{job.name}: done on {result.machine} in {result.seconds:.0f} s")
                for path, lines in result.kept:
                    keep(path, lines)
                if copy is not None:
                    copy.send()
                    copy.fetch(job.places())
                for other in [other for other, what in waiting.items() if what.endswith(f" {job.training.subject}")]:
                    look(other)
    for job in waiting:
        note(f"{job.name} is left out: it waits for {job.state(folder).waits_for}")
    return list(waiting)


def _result(future: "Future[Done]") -> Done:
    """What a worker has told; an error of the job itself as it was raised there."""
    error = future.exception()
    if error is None:
        return future.result()
    cause = getattr(error, "cause", error)  # Ray's own errors have one
    if type(cause).__module__.split(".")[0] == "ray":
        raise WorkersError(f"a job could not be done: {cause}") from None
    raise cause


@contextmanager
def _alone(copy: Copy | None) -> Iterator[Callable[[], None]]:
    """Be the one driver of what lies at an address; gives what has to be called now and then to stay it.

    A folder has locks instead. A driver that was not heard of for a minute, or whose process on this machine is gone,
    is dead.
    """
    if copy is None:
        yield lambda: None
        return
    last = beats(copy.folder, DRIVER)[-1:]
    if last and last[0].current and not (last[0].machine == socket.gethostname() and _is_gone(last[0].process)):
        raise LockedError(
            f"{copy.address} is being worked on by process {last[0].process} on {last[0].machine}; stop that one, or "
            "wait for a minute if it is dead"
        )
    with heartbeat(copy.folder, DRIVER) as heart:
        copy.send()

        def renew() -> None:
            heart.beat()
            copy.keep()

        yield renew


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def do_job(job: Job, folder: Path, commit: str | None, address: str | None = None) -> Done:
    """Do a job where this runs: in the folder, or in a copy of what of it lies at an address."""
    began, kept = time.monotonic(), []
    if address is None:
        _do(job, folder, commit, keep_in(folder), lambda: None)
    else:
        with copied(address, [*job.places(), path_of(job.name)]) as copy:
            try:
                _do(job, copy.folder, commit, lambda *lines: kept.append(lines), copy.keep)
            finally:
                copy.send()
    return Done(socket.gethostname(), time.monotonic() - began, kept)


def _do(
    job: Job, folder: Path, commit: str | None, keep: Callable[[str, str], None], renew: Callable[[], None]
) -> None:
    """What runs somewhere else at that moment is waited for."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with heartbeat(folder, job.name) as heart:

        def progress(_: str, done: int, total: int, unit: str, __: str) -> None:
            heart.beat(done, total, at_once=not unit)
            renew()

        renew()  # whoever asks is told that the work goes on
        end = time.monotonic() + _PATIENCE
        while not job.state(folder).finished:
            try:
                return job.run(folder, Callbacks(device, progress, keep, commit=commit))
            except LockedError:
                if time.monotonic() > end:
                    raise
                time.sleep(_LOOK_SECONDS)


@contextmanager
def processes(most: int) -> Iterator[Workers]:
    """So many processes of this machine at a time, which share its cores; one that is killed is followed by another.

    Fleets of few runs leave most of a large GPU idle. The kernels of several processes run at once where NVIDIA's
    multi-process service runs, in turns where not. Left early, each process saves what it has and ends.
    """
    running: set[Any] = set()
    threads, starting, left = max(1, torch.get_num_threads() // most), threading.Lock(), False

    def call(job: Job, *asked: Any) -> Done:
        status: int | None = None
        for _ in range(_TRIES):
            here, there = _SPAWN.Pipe(duplex=False)
            process = _SPAWN.Process(target=_work, args=(there, threads, job, *asked), name=job.name)
            with starting:
                if left:
                    break
                process.start()
                running.add(process)
            there.close()
            with here:
                try:
                    said = here.recv()
                except EOFError:  # killed or told to stop, it closed its end without a word
                    said = None
            process.join()
            running.discard(process)
            status = process.exitcode
            if isinstance(said, BaseException):
                raise said
            if said is not None:
                return said
        raise WorkersError(f"the process that did {job.name} ended with {status}; the same command goes on from there")

    with ThreadPoolExecutor(most) as pool:
        try:
            yield Workers(f"{most} processes of this machine", partial(pool.submit, call), in_parts=False)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            with starting:
                left = True
                for process in list(running):
                    process.terminate()


def _work(told_to: Any, threads: int, *asked: Any) -> None:
    """Do a job in this process, which ends with the process that began it."""

    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not interrupt what is saved
        raise KeyboardInterrupt

    def end_with_driver() -> None:
        driver = multiprocessing.parent_process()
        assert driver is not None
        wait_for([driver.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver hears it, and tells
    signal.signal(signal.SIGTERM, stop)
    threading.Thread(target=end_with_driver, daemon=True).start()
    torch.set_num_threads(threads)
    try:
        told_to.send(do_job(*asked))
    except KeyboardInterrupt:
        pass  # what was done is saved, and nobody listens any more
    except Exception as error:
        told_to.send(error)


@contextmanager
def cluster(
    where: str,
    gpus_per_job: float | None = None,
    note: Callable[[str], None] = lambda _: None,
    cpus: int | None = None,
) -> Iterator[Workers]:
    """A cluster of Ray's: that at an address, or one on this machine that ends with it.

    A job asks it for `gpus_per_job`, by default one where there are any, and for the memory that it takes. Ray does a
    job again elsewhere, without end, if its worker or machine dies; an error of the job itself ends it.
    """
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise WorkersError("this needs ray, which is not installed; pip install '.[cluster]'") from None
    local = where == "ray"
    if not local:
        _check_reachable(where)
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
    held = ray.cluster_resources()
    gpus = (1.0 if held.get("GPU") else 0.0) if gpus_per_job is None else gpus_per_job
    task, lacked = ray.remote(max_retries=-1, retry_exceptions=False)(do_job), set()

    def submit(job: Job, *asked: Any) -> "Future[Done]":
        wanted = {"CPU": 1.0, "GPU": gpus, "memory": job.memory()}
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        lacking = f"1 core, {gpus:g} GPUs and {told(job.memory())} of memory"
        if lacking not in lacked and not any(all(one.get(n, 0) >= wanted[n] for n in wanted) for one in machines):
            lacked.add(lacking)
            note(f"{job.name} waits for a machine with {lacking}; the cluster has none now")
        asking = task.options(name=job.name, num_cpus=1, num_gpus=gpus, memory=job.memory())
        return asking.remote(job, *asked).future()

    machines = sum(node["Alive"] for node in ray.nodes())
    described = f"{machines} machines with {held.get('CPU', 0):.0f} cores and {held.get('GPU', 0):.0f} GPUs"
    try:
        yield Workers(described, submit, in_parts=True)
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Ray itself would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_SECONDS):
            pass
    except (OSError, ValueError, OverflowError) as error:
        raise WorkersError(
            f"there is no cluster of Ray's at {address!r} ({error}); use ray, ray://HOST:10001 or HOST:6379"
        ) from None
