"""Functions of the user: found, asked, and ended where they do not end."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gridsum.evaluation.evaluate import FunctionSubject, evaluate
from gridsum.evaluation.records import Record
from gridsum.evaluation.solvers import NoAnswer, SolverError, ask, load_solver, takes_list
from gridsum.evaluation.suites import Suite, find
from gridsum.io.version import __version__
from gridsum.tasks import Addition

ADD = Addition()

SOURCE = """
ANSWER = 46
def solve(expression):
    return str(sum(int(term) for term in expression.rstrip("=").split("+")))
class Adder:
    @staticmethod
    def add(expression):
        return "7"
"""


def right(expression: str) -> str:
    return ADD.answer(ADD.parse(expression))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory to import from; what it leaves in the interpreter is taken back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != ""])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("my_solver", "my_broken", "my_needy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "my_solver.py").write_text(SOURCE)
    (tmp_path / "my_broken.py").write_text("1 / 0")
    (tmp_path / "my_needy.py").write_text("import a_module_that_is_not_there")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_solver_beside_the_user_is_found() -> None:
    assert load_solver("my_solver:solve")("12+34=") == "46"
    assert load_solver("my_solver:Adder.add")("12+34=") == "7"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("my_solver", "write package.module:function"),
        ("./my_solver.py:solve", "write package.module:function"),
        ("no_such_module:solve", "No module named 'no_such_module'; install it, or start in the folder"),
        ("my_solver.inner:solve", "No module named 'my_solver.inner'"),
        ("my_solver:solv", "my_solver has no 'solv'; did you mean 'solve'?"),
        ("my_solver:ANSWER", "not a function but int"),
        ("my_broken:solve", "my_broken cannot be imported: ZeroDivisionError: division by zero"),
        ("my_needy:solve", "my_needy cannot be imported: ModuleNotFoundError: No module named 'a_module_that_is_not"),
    ],
)
def test_a_solver_that_cannot_be_loaded(name: str, message: str) -> None:
    with pytest.raises(SolverError) as caught:
        load_solver(name)
    assert message in str(caught.value)


def measured(name: str, solver: Any, suite: Suite, samples: int | None = None, seed: int = 0) -> Record:
    (record,) = evaluate(FunctionSubject(name, solver), suite, samples, seed, commit="abc")
    return record


def test_a_function_gets_the_problems_of_the_suite() -> None:
    (suite,) = find("[1,4]x[1,10]")
    seen: list[str] = []
    record = measured("listener", lambda expression: seen.append(expression) or right(expression), suite, 70, seed=4)
    assert seen == suite.problems(0, 70, seed=4).expressions()
    assert (record.char, record.seq, record.samples, record.failed) == (1, 1, 70, 0)
    assert (record.model, record.variant, record.suite) == ("listener", "external", suite.name)
    assert (record.halting, record.placement, record.grids, record.seed) == ("–", "–", "–", None)
    assert (record.evaluation_seed, record.version, record.commit) == (4, __version__, "abc")


def test_what_comes_after_a_failure_counts() -> None:
    suite = Suite.of_expressions("three", ["12+34", "1+1", "2+2"])

    def weak(expression: str) -> str:
        if expression == "3+3=":
            raise KeyboardInterrupt
        return right(expression) if expression != "1+1=" else {}["weights"]

    record = measured("weak", weak, suite)
    assert (record.sequences_right, record.failed, record.answers) == (2, 1, ("46", "", "4"))
    long = measured("weak", lambda _: 4.5, find("2x602")[0], 1)
    assert long.answers is None, "they are kept of fixed expressions alone"
    assert len(long.failure or "") < 200
    with pytest.raises(KeyboardInterrupt):
        measured("weak", weak, Suite.of_expressions("interrupted", ["3+3"]))


def test_a_solver_may_take_lists() -> None:
    sizes: list[int] = []

    def typed(problems: list[str]) -> list[int]:
        sizes.append(len(problems))
        return [int(right(problem)) for problem in problems][len(problems) == 6 :]

    record = measured("list", typed, find("2x3")[0], 70)
    assert (record.sequences_right, record.samples, record.failed, sizes) == (64, 70, 6, [64, 6])
    assert "gave no list of 6 answers" in str(record.failure)


@pytest.mark.parametrize(
    ("kind", "takes"), [(list, True), ("list[str]", True), (Sequence[str], True), (str, False), ("Listener", False)]
)
def test_a_solver_says_by_its_type_what_it_takes(kind: Any, takes: bool) -> None:
    def solver(problems): ...  # type: ignore[no-untyped-def]

    solver.__annotations__["problems"] = kind
    assert takes_list(solver) == takes
    assert not takes_list(dict), "it is silent about its parameters"


HOSTILE = """
import sys
def solve(problem):
    print("a word of its own")
    terms = [int(term) for term in problem.rstrip("=").split("+")]
    number = terms[0]
    if number == 1:
        sys.exit(3)
    if number == 2:
        raise KeyError("weights")
    if number == 3:
        return 4.5
    if number == 4:
        class Own(BaseException): pass
        raise Own("mine")
    return 10 ** 5000 if number == 5 else sum(terms)
"""
REASONS = {1: "called sys.exit(3)", 2: "KeyError: 'weights'", 3: "gave float, not text such as '46'", 4: "Own: mine"}


def test_whatever_a_solver_does_the_others_get_their_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "my_solver.py").write_text(HOSTILE)
    solver = load_solver("my_solver:solve")
    for number in range(1, 7):
        if number in REASONS:
            with pytest.raises(NoAnswer) as caught:
                ask(solver, [f"{number}+1="], batched=False)
            assert str(caught.value) == REASONS[number]
        else:
            said = "1" + "0" * 5000 if number == 5 else "7"
            assert ask(solver, [f"{number}+1="], batched=False) == [said]
    assert capsys.readouterr().out == "", "what it prints is not a result of ours"
