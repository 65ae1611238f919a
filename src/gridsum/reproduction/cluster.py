"""Pieces on many machines, as tasks of Ray.

A piece keeps what it has done in a folder that all machines see, or at an address, and goes on from there. So a piece
whose worker or machine dies is simply done again, somewhere else; and a driver that dies is started again by the same
command.
"""

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridsum.disk import LockedError
from gridsum.reproduction.pieces import Piece, Surroundings
from gridsum.reproduction.storage import Copy, copied
from gridsum.reproduction.whereabouts import epochs_path, file_name, sign, whereabouts
from gridsum.sizes import told
from gridsum.training.loop import Epoch

LOCAL, DRIVER = "ray", "driver"
_PATIENCE = 120.0
"""How long a piece waits for a folder that a dying process has not let go of, in seconds."""
_LOOK_SECONDS = 1.0
_REACH_SECONDS = 10.0


class ClusterError(RuntimeError):
    """A cluster that cannot be reached or used; the message says what to do."""


@dataclass(frozen=True)
class Share:
    """What a piece asks the cluster for, beside its memory."""

    cpus: float = 1.0
    gpus: float = 0.0


class Cluster:
    """A cluster of Ray's: that at an address, or one on this machine that ends with it."""

    def __init__(self, where: str, cpus: int | None = None) -> None:
        try:
            import ray  # pyright: ignore[reportMissingImports]
            import ray.exceptions  # pyright: ignore[reportMissingImports]
        except ModuleNotFoundError:
            raise ClusterError("this needs ray, which is not installed; pip install 'gridsum[cluster]'") from None
        self._ray: Any = ray
        address = None if where == LOCAL else where
        if address is not None:
            _check_reachable(address)
        options: dict[str, Any] = {"num_cpus": cpus} if address is None and cpus else {}
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
        try:
            ray.init(address, **quiet, **options)
        except Exception as error:  # Ray raises plain ones, too
            if address is None:
                raise ClusterError(f"no cluster could be started here: {error}") from None
            raise ClusterError(
                f"there is no cluster of Ray's at {where!r} that lets us in: {error}; if it asks for a token, set "
                "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
            ) from None

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    @property
    def gpus_for_a_piece(self) -> float:
        return 1.0 if self._ray.cluster_resources().get("GPU") else 0.0

    @property
    def described(self) -> str:
        held = self._ray.cluster_resources()
        machines = sum(node["Alive"] for node in self._ray.nodes())
        return f"{machines} machines with {held.get('CPU', 0):.0f} cores and {held.get('GPU', 0):.0f} GPUs"

    def run(
        self,
        pieces: Sequence[Piece],
        folder: Path,
        commit: str | None,
        share: Share,
        note: Callable[[str], None],
        check: Callable[[], None] = lambda: None,
        copy: Copy | None = None,
    ) -> list[Piece]:
        """Do all pieces, each as soon as what it waits for is done; returns those that still wait in the end.

        Where `folder` is a copy of what lies at an address, the pieces work there.
        """
        ray, folder = self._ray, folder.absolute()
        # Ray tries again without end where a worker or a machine dies; an error of the piece itself ends the campaign.
        task = ray.remote(max_retries=-1, retry_exceptions=False)(do_piece)
        waiting: dict[Piece, str] = {}
        running: dict[Any, Piece] = {}

        wants: set[str] = set()

        def look(piece: Piece) -> None:
            """Send a piece off, or keep it with what it waits for; to look costs reading folders."""
            state = piece.state()
            waiting.pop(piece, None)
            if state.finished:
                return
            if state.waits_for:
                waiting[piece] = state.waits_for
                return
            options = {"num_cpus": share.cpus, "num_gpus": share.gpus, "memory": piece.memory()}
            lacking = self._lacking(options)
            if lacking and lacking not in wants:
                wants.add(lacking)
                note(f"{piece.name} waits for a machine with {lacking}; the cluster has none now")
            asked = (piece, folder, commit, copy and copy.address)
            running[task.options(name=piece.name, **options).remote(*asked)] = piece

        with _alone(copy) as renew:
            for piece in pieces:
                look(piece)
            while running:
                done, _ = ray.wait(list(running), num_returns=1, timeout=_LOOK_SECONDS)
                renew()
                check()
                for reference in done:
                    piece = running.pop(reference)
                    machine, seconds = self._result(reference, piece)
                    note(f"{piece.name}: done on {machine} in {seconds:.0f} s")
                    if copy is not None:
                        copy.fetch(_within(folder, piece))
                    for other in [other for other, what in waiting.items() if what.endswith(f" {piece.subject}")]:
                        look(other)
        left = list(waiting)
        for piece in left:
            note(f"{piece.name} is left out: it waits for {piece.state().waits_for}")
        return left

    def _lacking(self, options: dict[str, float]) -> str:
        """What of the options no machine of the cluster has enough of; empty where one has all."""
        names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
        machines = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if any(all(held.get(names[name], 0) >= amount for name, amount in options.items()) for held in machines):
            return ""
        cores, gpus, memory = (options[name] for name in names)
        return f"{cores:g} cores, {gpus:g} GPUs and {told(int(memory))} of memory"

    def _result(self, reference: Any, piece: Piece) -> tuple[str, float]:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, ValueError | RuntimeError) else error from None
        except self._ray.exceptions.RayError as error:
            raise ClusterError(f"{piece.name} could not be done: {error}") from None


def _check_reachable(address: str) -> None:
    """Ray itself would try for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_SECONDS):
            pass
    except (OSError, ValueError, OverflowError) as error:
        raise ClusterError(
            f"there is no cluster of Ray's at {address!r} ({error}); use ray, ray://HOST:10001 or HOST:6379"
        ) from None


@contextmanager
def _alone(copy: Copy | None) -> Iterator[Callable[[], None]]:
    """Be the one driver of what lies at an address; gives what has to be called now and then to stay it.

    A folder has locks instead. A sign that was not renewed for a minute, or whose process on this machine is gone, is
    that of a dead driver.
    """
    if copy is None:
        yield lambda: None
        return
    other = whereabouts(copy.folder).get(DRIVER)
    if other is not None and other.current and not (other.machine == socket.gethostname() and _is_gone(other.process)):
        raise LockedError(
            f"{copy.address} is being worked on by process {other.process} on {other.machine}; stop that one, or wait "
            "for a minute if it is dead"
        )
    with sign(copy.folder, DRIVER) as shown:
        copy.send()

        def renew() -> None:
            shown.tell()
            if copy.is_due:
                copy.send()

        yield renew


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def _within(folder: Path, piece: Piece) -> list[str]:
    """What a piece reads and writes, as it is called in the campaign's folder."""
    return [str(path.absolute().relative_to(folder)) for path in piece.places()]


def do_piece(piece: Piece, folder: Path, commit: str | None, address: str | None = None) -> tuple[str, float]:
    """Do a piece where this runs; returns the machine and the seconds it took."""
    began = time.monotonic()
    if address is None:
        _do(piece, folder, commit, lambda: None)
    else:
        notes = str(epochs_path(folder, piece.name).relative_to(folder))
        with copied(address, file_name(piece.name), [*_within(folder, piece), notes]) as copy:
            try:
                _do(piece.moved(folder, copy.folder), copy.folder, commit, copy.keep)
            finally:
                copy.send()
    return socket.gethostname(), time.monotonic() - began


def _do(piece: Piece, folder: Path, commit: str | None, keep: Callable[[], None]) -> None:
    """What runs somewhere else at that moment is waited for."""
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with sign(folder, piece.name) as shown:

        def epoch(_: str, done: Epoch) -> None:
            shown.epoch(done.number, done.of)
            keep()

        def problems(_: str, done: int, total: int) -> None:
            shown.tell(done, total)
            keep()

        around = Surroundings(device, epoch, problems, lambda _: None, commit, keep)
        end = time.monotonic() + _PATIENCE
        while not piece.state().finished:
            try:
                piece.run(around)
            except LockedError:
                if time.monotonic() > end:
                    raise
                time.sleep(_LOOK_SECONDS)
