"""Solvers that are not ours: any function from `12+34=` to `46` can be measured on the same problems."""

import importlib
import operator
import os
import sys
from collections.abc import Callable
from typing import cast

from gridsum.evaluation.metrics import count_text
from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import Suite, problems_of
from gridsum.names import did_you_mean
from gridsum.symbols import exact_sum
from gridsum.version import __version__

Solver = Callable[[str], str]

EXTERNAL = "external"
"""The variant of what is not a network of ours."""
NOTHING = "–"
"""Stands for the halting and placement that only our networks have."""


class SolverError(ValueError):
    """A solver that cannot be loaded or that failed; the message says where."""


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


def evaluate_solver(
    name: str, solver: Solver, suite: Suite, samples: int | None, seed: int, commit: str | None = None
) -> Record:
    """Ask the solver for every problem of the suite; blanks around an answer are no part of it."""
    answers: list[str] = []
    truths: list[str] = []
    for index, problems in enumerate(suite.batches(samples)):
        batch = problems_of(suite, index, problems, seed)
        for problem in range(batch.symbols.shape[1]):
            expression = batch.expression(0, problem)
            answers.append(_answer(name, solver, expression))
            truths.append(exact_sum(expression.removesuffix("=").split("+")))
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
    )


def _answer(name: str, solver: Solver, expression: str) -> str:
    try:
        answer = solver(expression)
    except Exception as error:
        raise SolverError(f"the solver {name} failed on {_short(expression)}: {_told(error)}") from error
    if not isinstance(answer, str):
        raise SolverError(
            f"the solver {name} returned {type(answer).__name__} for {_short(expression)}; "
            "it must return text, such as '46'"
        )
    return answer.strip()


def _short(expression: str) -> str:
    """Long problems by their two ends, so that a message stays readable."""
    if len(expression) <= 80:
        return expression
    return f"{expression[:30]}…{expression[-30:]} ({len(expression)} symbols)"


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
