"""Solvers that are not ours: any function from `12+34=` to `46` can be measured on the same problems.

A function may take a list instead and return a list: it then gets a whole batch of problems at once. It says so by the
type of its first parameter (`def solve(problems: list[str]) -> list[str]`), or by an attribute `batched = True`. What
fails, exits or takes too long is a wrong answer, and the reason is kept.
"""

import importlib
import inspect
import operator
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from gridsum.data.answers import shortened
from gridsum.evaluation.metrics import count_text
from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import Suite, problems_of
from gridsum.io.names import did_you_mean
from gridsum.io.version import __version__
from gridsum.tasks import Task

Solver = Callable[[Any], Any]
"""From `12+34=` to `46`, or from a list of such problems to the list of their answers."""

EXTERNAL = "external"
"""The variant of what is not a network of ours."""
NOTHING = "–"
"""Stands for the halting and placement that only our networks have."""


class SolverError(ValueError):
    """A solver that cannot be loaded or asked; the message says why."""


class _TooSlow(BaseException):
    """Raised within a solver whose time is up; not an `Exception`, which it may catch."""


def load_solver(name: str) -> Solver:
    """The function that `package.module:function` names; the working directory can be imported from."""
    module_name, colon, attribute = name.partition(":")
    identifiers = [*module_name.split("."), *attribute.split(".")]
    if not colon or not all(part.isidentifier() for part in identifiers):
        raise SolverError(f"{name!r} does not name a function; write package.module:function")
    here = os.getcwd()
    if here not in sys.path:
        # It stays there: a solver may import what lies beside it only when it is first called.
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module_name}.".startswith(f"{error.name}."):
            raise SolverError(
                f"there is no module {error.name!r}; install it, or start in the folder that holds it "
                f"(now {here} is searched)"
            ) from error
        raise SolverError(f"{module_name} cannot be imported: it needs {error.name!r}; install that") from error
    except Exception as error:
        raise SolverError(f"{module_name} cannot be imported: {_told(error)}") from error
    try:
        solver = operator.attrgetter(attribute)(module)
    except AttributeError as error:
        mend = did_you_mean(attribute, dir(module), "check its spelling")
        raise SolverError(f"{module_name} has no {attribute!r}; {mend}") from error
    if not callable(solver):
        raise SolverError(
            f"{name} is not a function but {type(solver).__name__}; it must take '12+34=' and return '46'"
        )
    return cast(Solver, solver)


def takes_list(solver: Solver) -> bool:
    """Whether a solver is given a list of problems."""
    said = getattr(solver, "batched", None)
    if said is not None:
        return bool(said)
    try:
        first = next(iter(inspect.signature(solver).parameters.values()), None)
    except (TypeError, ValueError):  # built in, and silent about its parameters
        return False
    kind = "" if first is None or first.annotation is inspect.Parameter.empty else str(first.annotation)
    return kind.split(".")[-1].split("[")[0].lower() in ("list", "sequence") or kind == str(list)


def evaluate_solver(
    name: str,
    solver: Solver,
    suite: Suite,
    samples: int | None,
    seed: int,
    commit: str | None = None,
    timeout: float | None = None,
    report: Callable[[int, int], None] | None = None,
    task: Task | None = None,
) -> Record:
    """Ask the solver for every problem of the suite; blanks around an answer are no part of it.

    `timeout` is how many seconds it may take for a problem, or for a batch if it takes lists.
    """
    answers: list[str] = []
    truths: list[str] = []
    failures: list[str] = []
    batched, batches = takes_list(solver), suite.batches(samples)
    for index, problems in enumerate(batches):
        batch = problems_of(suite, index, problems, seed, task=task)
        expressions = [batch.expression(0, problem) for problem in range(batch.symbols.shape[1])]
        for group in [expressions] if batched else [[expression] for expression in expressions]:
            try:
                answers += _ask(solver, group, batched, timeout)
            except _Failure as failure:
                answers += [""] * len(group)
                failures += [f"{shortened(group[0], 80)} {failure}"] * len(group)
        truths += [batch.answer(0, problem) for problem in range(len(expressions))]
        if report is not None:
            report(sum(batches[: index + 1]), sum(batches))
    counts = count_text(answers, truths)
    return Record(
        model=name,
        variant=EXTERNAL,
        seed=None,
        suite=suite.name,
        halting=NOTHING,
        placement=NOTHING,
        samples=len(truths),
        chars_right=int(counts.chars_right),
        chars_valid=int(counts.chars_valid),
        sequences_right=int(counts.sequences_right),
        steps_mean=None,
        steps_max=None,
        evaluation_seed=seed,
        version=__version__,
        commit=commit,
        answers=tuple(answers) if suite.expressions else None,
        failed=len(failures),
        failure=failures[0] if failures else None,
    )


class _Failure(Exception):
    """Why there is no answer."""


def _ask(solver: Solver, group: Sequence[str], batched: bool, timeout: float | None) -> list[str]:
    try:
        with _limited(timeout):
            given = solver(list(group)) if batched else [solver(group[0])]
    except _TooSlow:
        raise _Failure(f"took longer than {timeout:g} s") from None
    except KeyboardInterrupt:
        raise
    except SystemExit as stop:
        raise _Failure(f"called sys.exit({stop.code!r})") from None
    except Exception as error:
        raise _Failure(_told(error)) from None
    if not isinstance(given, list | tuple) or len(given) != len(group):
        raise _Failure(f"gave no list of {len(group)} answers")
    for answer in given:
        if not isinstance(answer, str | int):
            raise _Failure(f"gave {type(answer).__name__}, not text such as '46'")
    return [str(answer).strip() for answer in given]


@contextmanager
def _limited(seconds: float | None) -> Iterator[None]:
    """What takes longer than this is interrupted."""
    if seconds is None:
        yield
        return
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        raise SolverError("a time limit works in the main thread of a Unix process alone; leave it out")

    def stop(*_: object) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
