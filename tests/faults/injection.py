"""A process that is killed, or told that the disk is full, at a chosen file operation."""

import builtins
import errno
import os
import sys
import traceback
from collections.abc import Callable, Generator
from typing import Any

from tests import children

Tries = Generator[str | None, None, None]
"""What was lost in each try; None where nothing was."""
KILLED, FAILED, UNTOLD = 137, 3, 4
"""How a child ends that was killed, that was told of an error, and that has raised what no user should see."""
_OPERATIONS = ("open", "replace", "rename", "unlink", "remove", "mkdir", "rmdir", "fsync", "ftruncate", "write")


_RAISED = {"full": errno.ENOSPC, "once": errno.ENOSPC, "read-only": errno.EROFS}
How = str | Callable[[], object]


class Injector:
    """Counts file operations of this process, and at number `at` does what is asked: kill, torn, full, once, read-only.

    `torn` lets a write reach the file in half before the kill; `full` and `read-only` raise what such disks do, from
    then on, and `once` what a full one does that has room again. What can be called is called, and the work goes on.
    """

    def __init__(self, at: int | None, how: How = "kill") -> None:
        self.at, self.how, self.count, self.raised = at, how, 0, 0

    def install(self) -> None:
        for name in _OPERATIONS:
            setattr(os, name, self._wrapped(name, getattr(os, name)))
        opened = builtins.open

        def open_(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            if any(letter in mode for letter in "wax+"):
                self._pass(None, ())
            return opened(file, mode, *arguments, **options)

        builtins.open = open_  # type: ignore[assignment]

    def _wrapped(self, name: str, does: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any, **options: Any) -> Any:
            if name != "open" or (arguments[1] & (os.O_WRONLY | os.O_RDWR)):
                self._pass(does if name == "write" else None, arguments)
            return does(*arguments, **options)

        return operation

    def _pass(self, write: Callable[..., Any] | None, arguments: tuple[Any, ...]) -> None:
        self.count += 1
        if self.raised:
            raise OSError(self.raised, os.strerror(self.raised))
        if self.count != self.at:
            return
        if not isinstance(self.how, str):
            self.how()
            return
        if write is not None and self.how == "torn":
            write(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
        if self.how in _RAISED:
            error = _RAISED[self.how]
            self.raised = 0 if self.how == "once" else error
            raise OSError(error, os.strerror(error))
        os._exit(KILLED)


def in_child(work: Callable[[], object], at: int | None = None, how: How = "kill") -> tuple[int, str]:
    """Do the work in a process of its own, with a fault; returns how it ended and what it said."""

    def faulty() -> int:
        try:
            injector = Injector(at, how)
            injector.install()
            work()
            said, status = str(injector.count), 0
        except BaseException as error:
            told = isinstance(error, OSError) or type(error).__module__.split(".")[0] == "gridsum"
            said, status = (f"{type(error).__name__}: {error}", FAILED) if told else (traceback.format_exc(), UNTOLD)
        sys.stdout.write(said)
        return status

    ended = children.in_child(faulty)
    return ended.status, ended.out
