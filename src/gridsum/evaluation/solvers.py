"""Solvers that are not ours: any function from `12+34=` to `46` can be measured on the same problems.

A function may take a list instead and return a list: it then gets a whole batch of problems at once. It says so by the
type of its first parameter: `def solve(problems: list[str]) -> list[str]`. What fails, exits or takes too long is a
wrong answer, and the reason is kept.

A function that is given by its name works in a process of its own: whatever it does there, it can be ended.
"""

import importlib
import inspect
import operator
import os
import re
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, cast

from gridsum.io.names import did_you_mean

Solver = Callable[[Any], Any]
"""From `12+34=` to `46`, or from a list of such problems to the list of their answers."""


class SolverError(ValueError):
    """A solver that cannot be loaded or asked; the message says why."""


class NoAnswer(Exception):
    """Why a solver gave none."""


def load_solver(name: str) -> Solver:
    """The function that `package.module:function` names; the working directory can be imported from."""
    if not re.fullmatch(r"[\w.]+:[\w.]+", name):
        raise SolverError(f"{name!r} does not name a function; write package.module:function")
    module_name, attribute = name.split(":")
    here = os.getcwd()
    if here not in sys.path:
        # It stays there: a solver may import what lies beside it only when it is first called.
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        mend = f"install it, or start in the folder that holds it (now {here} is searched)"
        hint = f"; {mend}" if isinstance(error, ModuleNotFoundError) else ""
        raise SolverError(f"{module_name} cannot be imported: {_told(error)}{hint}") from error
    try:
        solver = operator.attrgetter(attribute)(module)
    except AttributeError as error:
        hint = did_you_mean(attribute, dir(module), "check its spelling")
        raise SolverError(f"{module_name} has no {attribute!r}; {hint}") from error
    if not callable(solver):
        kind = type(solver).__name__
        raise SolverError(f"{name} is not a function but {kind}; it must take '12+34=' and return '46'")
    return cast(Solver, solver)


def takes_list(solver: Solver) -> bool:
    """Whether a solver is given a list of problems."""
    try:
        first = next(iter(inspect.signature(solver).parameters.values()))
    except (TypeError, ValueError, StopIteration):  # built in, and silent about its parameters; or it has none
        return False
    return re.match(r"(<class ')?([\w.]+\.)?(list|sequence)\b", str(first.annotation), re.IGNORECASE) is not None


def ask(solver: Solver, problems: list[str], batched: bool) -> list[str]:
    """The answers to a list of problems, or to one if it is not `batched`; blanks around them are no part of them."""
    try:
        given = solver(problems) if batched else [solver(problems[0])]
        if not isinstance(given, list | tuple) or len(given) != len(problems):
            raise NoAnswer(f"gave no list of {len(problems)} answers")
        for answer in given:
            if not isinstance(answer, str | int):
                raise NoAnswer(f"gave {type(answer).__name__}, not text such as '46'")
        return [str(answer).strip() for answer in given]
    except (KeyboardInterrupt, NoAnswer):
        raise
    except SystemExit as stop:
        raise NoAnswer(f"called sys.exit({stop.code!r})") from None
    except BaseException as error:
        raise NoAnswer(_told(error)) from None


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


class SolverProcess:
    """A function by its name, asked in a process of its own.

    A process that has taken longer than `timeout` seconds for a problem (or for a list of them), or has ended, is
    followed by another for the next one.
    """

    def __init__(self, name: str, timeout: float | None = None) -> None:
        self.name, self.timeout = name, timeout
        self._start()

    def _start(self) -> None:
        self.connection, theirs = Pipe()
        command = f"from {__name__} import serve; serve({theirs.fileno()})"
        process = subprocess.Popen(
            [sys.executable, "-c", command],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        theirs.close()
        self.end = weakref.finalize(self, _end, process, self.connection)
        self.connection.send(self.name)
        try:
            told = self.connection.recv()
        except EOFError:
            self.end()
            raise SolverError(f"{self.name} ended its process while it was imported") from None
        if isinstance(told, str):
            self.end()
            raise SolverError(told)
        self.batched: bool = told

    def ask(self, problems: list[str]) -> list[str]:
        if not self.end.alive:
            self._start()
        try:
            self.connection.send(problems)
            if not self.connection.poll(self.timeout):
                self.end()
                raise NoAnswer(f"took longer than {self.timeout:g} s")
            answers, reason = self.connection.recv()
        except (EOFError, OSError):
            self.end()
            raise NoAnswer("ended its process") from None
        if reason:
            raise NoAnswer(reason)
        return answers


def _end(process: subprocess.Popen[bytes], connection: Connection) -> None:
    connection.close()
    process.kill()
    process.wait()


def serve(descriptor: int) -> None:
    """The other end of a `SolverProcess`: say whether the function takes lists, then answer until nobody asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks is interrupted, and then ends this process
    sys.set_int_max_str_digits(0)
    os.dup2(2, 1)  # what a solver prints is no result of ours
    connection, process = Connection(descriptor), os.getpid()
    try:
        solver = load_solver(connection.recv())
        batched = takes_list(solver)
        connection.send(batched)
    except SolverError as error:
        connection.send(str(error))
        return
    while True:
        try:
            problems = connection.recv()
        except EOFError:
            return
        try:
            said = ask(solver, problems, batched), ""
        except NoAnswer as error:
            said = [], str(error)
        if os.getpid() != process:
            os._exit(0)  # a copy that the solver made of this process
        connection.send(said)
