"""Pieces on many machines, as tasks of Ray.

A piece keeps what it has done in a folder that all machines see, or at an address. Ray does it again elsewhere if its
worker or machine dies.
"""

import logging
import socket
from collections.abc import Callable, Sequence
from typing import Any

from gridsum.ops.sizes import told
from gridsum.study.pieces import Piece
from gridsum.study.workers import LOOK_SECONDS, Workers, WorkersError, do_piece

LOCAL = "ray"
_REACH_SECONDS = 10.0


class Cluster(Workers):
    """A cluster of Ray's: that at an address, or one on this machine that ends with it.

    A piece asks it for `gpus_per_piece`, by default one where there are any, and for the memory that it takes.
    """

    def __init__(
        self,
        where: str,
        cpus: int | None = None,
        gpus_per_piece: float | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        try:
            import ray  # pyright: ignore[reportMissingImports]
            import ray.exceptions  # pyright: ignore[reportMissingImports]
        except ModuleNotFoundError:
            raise WorkersError("this needs ray, which is not installed; pip install 'gridsum[cluster]'") from None
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
                raise WorkersError(f"no cluster could be started here: {error}") from None
            raise WorkersError(
                f"there is no cluster of Ray's at {where!r} that lets us in: {error}; if it asks for a token, set "
                "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
            ) from None
        held = ray.cluster_resources()
        self._gpus = (1.0 if held.get("GPU") else 0.0) if gpus_per_piece is None else gpus_per_piece
        machines = sum(node["Alive"] for node in ray.nodes())
        self.described = f"{machines} machines with {held.get('CPU', 0):.0f} cores and {held.get('GPU', 0):.0f} GPUs"
        # Ray tries again without end where a worker or a machine dies; an error of the piece itself ends the campaign.
        self._task = ray.remote(max_retries=-1, retry_exceptions=False)(do_piece)
        self._running: list[Any] = []
        self._wants: set[str] = set()
        self._note = note

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def parts(self, pieces: Sequence[Piece]) -> list[Piece]:
        return [part for piece in pieces for part in piece.parts()]

    def begin(self, piece: Piece, asked: tuple[Any, ...]) -> Any:
        options = {"num_cpus": 1.0, "num_gpus": self._gpus, "memory": piece.memory()}
        lacking = self._lacking(options)
        if lacking and lacking not in self._wants:
            self._wants.add(lacking)
            self._note(f"{piece.name} waits for a machine with {lacking}; the cluster has none now")
        self._running.append(self._task.options(name=piece.name, **options).remote(*asked))
        return self._running[-1]

    def ended(self) -> list[Any]:
        done, self._running = self._ray.wait(self._running, num_returns=1, timeout=LOOK_SECONDS)
        return done

    def _lacking(self, options: dict[str, float]) -> str:
        """What of the options no machine of the cluster has enough of; empty where one has all."""
        names = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
        machines = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if any(all(held.get(names[name], 0) >= amount for name, amount in options.items()) for held in machines):
            return ""
        cores, gpus, memory = (options[name] for name in names)
        return f"{cores:g} cores, {gpus:g} GPUs and {told(int(memory))} of memory"

    def result(self, begun: Any, piece: Piece) -> tuple[str, float]:
        try:
            return self._ray.get(begun)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, ValueError | RuntimeError) else error from None
        except self._ray.exceptions.RayError as error:
            raise WorkersError(f"{piece.name} could not be done: {error}") from None


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
