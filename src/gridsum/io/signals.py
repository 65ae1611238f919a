"""Signals that ask a command to stop: it saves what it has, as on Ctrl+C, and ends."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# SIGTERM ends a service, SIGHUP comes from a terminal that has gone, SIGUSR1 is what batch systems warn with
# (sbatch --signal=USR1@60).
_NUMBERS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name)]


class Stopped(KeyboardInterrupt):
    """A signal has asked the command to stop."""


@contextmanager
def stoppable() -> Iterator[None]:
    """The signals raise `Stopped` in the main thread, once: what is saved then is not interrupted by a second one. One
    that somebody ignores or handles already, as nohup does SIGHUP, is left alone."""
    here = threading.current_thread() is threading.main_thread()  # the only one that may
    taken = [number for number in _NUMBERS if here and signal.getsignal(number) is signal.SIG_DFL]

    def stop(*_: object) -> None:
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
