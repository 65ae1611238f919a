"""Pieces done by several workers at once: what any of them does with a piece, and who does which when.

A piece keeps what it has done in its folder, or at an address, and goes on from there. So a piece whose worker dies is
simply done again; and a driver that dies is started again by the same command.
"""

import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from gridsum.io.disk import LockedError
from gridsum.study.pieces import Piece, Surroundings
from gridsum.study.storage import Copy, copied
from gridsum.study.whereabouts import epochs_path, file_name, sign, whereabouts
from gridsum.training.loop import Epoch

DRIVER = "driver"
_PATIENCE = 120.0
"""How long a piece waits for a folder that a dying process has not let go of, in seconds."""
LOOK_SECONDS = 1.0


class WorkersError(RuntimeError):
    """Workers that cannot be reached or used; the message says what to do."""


class Workers(ABC):
    """Those who do pieces, several at once."""

    described: str

    def __enter__(self) -> Self:
        return self

    @abstractmethod
    def __exit__(self, *_: object) -> None:
        """Stop what still runs."""

    def parts(self, pieces: Sequence[Piece]) -> list[Piece]:
        """The pieces, in parts as small as it pays to do apart."""
        return list(pieces)

    @abstractmethod
    def begin(self, piece: Piece, asked: tuple[Any, ...]) -> Any:
        """Let a worker call `do_piece` with what is `asked`; returns what stands for it."""

    @abstractmethod
    def ended(self) -> list[Any]:
        """What has ended since the last call, after a moment at most."""

    @abstractmethod
    def result(self, begun: Any, piece: Piece) -> tuple[str, float]:
        """The machine, and the seconds it took; or the error that it ended with."""

    def run(
        self,
        pieces: Sequence[Piece],
        folder: Path,
        commit: str | None,
        note: Callable[[str], None],
        check: Callable[[], None] = lambda: None,
        copy: Copy | None = None,
    ) -> list[Piece]:
        """Do all pieces, each as soon as what it waits for is done; returns those that still wait in the end.

        Where `folder` is a copy of what lies at an address, the pieces work there.
        """
        folder = folder.absolute()
        waiting: dict[Piece, str] = {}
        running: dict[Any, Piece] = {}

        def look(piece: Piece) -> None:
            """Send a piece off, or keep it with what it waits for; to look costs reading folders."""
            state = piece.state()
            waiting.pop(piece, None)
            if state.finished:
                return
            if state.waits_for:
                waiting[piece] = state.waits_for
                return
            running[self.begin(piece, (piece, folder, commit, copy and copy.address))] = piece

        with _alone(copy) as renew:
            for piece in pieces:
                look(piece)
            while running:
                done = self.ended()
                renew()
                check()
                for begun in done:
                    piece = running.pop(begun)
                    machine, seconds = self.result(begun, piece)
                    note(f"{piece.name}: done on {machine} in {seconds:.0f} s")
                    if copy is not None:
                        copy.fetch(_within(folder, piece))
                    for other in [other for other, what in waiting.items() if what.endswith(f" {piece.subject}")]:
                        look(other)
        left = list(waiting)
        for piece in left:
            note(f"{piece.name} is left out: it waits for {piece.state().waits_for}")
        return left


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

        keep()  # whoever asks is told that the work goes on
        around = Surroundings(device, epoch, problems, lambda _: None, commit, keep)
        end = time.monotonic() + _PATIENCE
        while not piece.state().finished:
            try:
                piece.run(around)
            except LockedError:
                if time.monotonic() > end:
                    raise
                time.sleep(LOOK_SECONDS)
