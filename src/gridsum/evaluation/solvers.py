"""Solvers that are not ours: any function from `12+34=` to `46` can be measured on the same problems.

A function may take a list instead and return a list: it then gets a whole batch of problems at once. It says so by the
type of its first parameter: `def solve(problems: list[str]) -> list[str]`. What fails or exits is a wrong answer, and
the reason is kept.
"""

import inspect
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

Solver = Callable[[Any], Any]
"""From `12+34=` to `46`, or from a list of such problems to the list of their answers."""


class NoAnswer(Exception):
    """Why a solver gave none."""


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
        with redirect_stdout(sys.stderr):  # what a solver prints is not a result of ours
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
