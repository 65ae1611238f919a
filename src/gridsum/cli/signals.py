"""Signals that ask a command to stop: it saves what it has, as on Ctrl+C, and ends."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# SIGTERM ends a service, SIGHUP comes from a terminal that has gone, SIGUSR1 is what batch systems warn with
# (sbatch --signal=USR1@60).
_NAMES = ("SIGTERM", "SIGHUP", "SIGUSR1")


class Stopped(KeyboardInterrupt):
    """A signal has asked the command to stop."""


@contextmanager
def stoppable() -> Iterator[None]:
    """The signals raise `Stopped` in the main thread, once: what is saved then is not interrupted by a second one.

    One that somebody ignores or handles already, as nohup does SIGHUP, is left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    taken = [number for number in wanted if signal.getsignal(number) is signal.SIG_DFL]

    def stop(_number: int, _frame: FrameType | None) -> Any:
        for number in taken:
            signal.signal(number, signal.SIG_IGN)
        raise Stopped

    for number in taken:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
