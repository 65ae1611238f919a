"""A command that is stopped at a chosen moment, however busy the machine is: the process stops itself."""

import sys
from collections.abc import Sequence

# Python tells of every file that is opened, before it is.
_CODE = """
import os, pathlib, signal, sys

{prelude}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND
waiting = True

def stop(event, arguments):
    global waiting
    if waiting and event == "open" and str(arguments[0]).endswith({file!r}) and (arguments[2] or 0) & WRITING:
        path = pathlib.Path(arguments[0])
        if path.exists() and len(path.read_bytes().splitlines()) >= {lines}:
            waiting = False
            os.kill(os.getpid(), {signal})

sys.addaudithook(stop)
from gridsum.cli import main
sys.exit(main())
"""


def stopped(arguments: Sequence[str], signal: int, file: str, lines: int, prelude: str = "") -> list[str]:
    """`gridsum` with these arguments, sent a signal when it is about to write to a file that has so many lines."""
    return [
        sys.executable,
        "-c",
        _CODE.format(prelude=prelude, file=file, lines=lines, signal=int(signal)),
        *arguments,
    ]
