"""A function called in a process of its own: threads of one would wait for each other."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch

_CHILD = f"from {__name__} import _answer; _answer()"


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """What `function` of a module returns or raises; the last of its arguments is whom it tells news.

    This is no worker of `multiprocessing`: that would run a script again that trains without a guard.
    """
    *given, report = arguments
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _CHILD]
    with subprocess.Popen(command, env=found, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        with process.stdin as asked:
            pickle.dump((function, given), asked)
        try:
            while isinstance(news := pickle.load(process.stdout), str):
                report(news)
        except EOFError:
            raise RuntimeError(
                "a process that searched has ended without an answer: was there too little memory?"
            ) from None
    done, result = news
    if not done:
        raise result
    return result


def _answer() -> None:
    """The other side."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # who asked is interrupted, too, and says so
    torch.set_num_threads(1)
    function, arguments = pickle.load(sys.stdin.buffer)

    def say(news: Any) -> None:
        pickle.dump(news, sys.stdout.buffer)
        sys.stdout.flush()

    try:
        said = True, function(*arguments, say)
    except Exception as error:  # it is raised where it was asked
        said = False, error
    say(said)
