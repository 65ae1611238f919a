import sys
from pathlib import Path

import pytest

from gridsum.evaluation.records import append, read
from gridsum.evaluation.solvers import SolverError, evaluate_solver, load_solver
from gridsum.evaluation.suites import EXAMPLES, Suite, find, problems_of
from gridsum.symbols import decode, exact_sum, parse
from gridsum.version import __version__

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
    return exact_sum(parse(expression))


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
        ("my_solver:", "write package.module:function"),
        (":solve", "write package.module:function"),
        ("./my_solver.py:solve", "write package.module:function"),
        ("no_such_module:solve", "no module 'no_such_module'; install it, or start in the folder"),
        ("my_solver.inner:solve", "no module 'my_solver.inner'"),
        ("my_solver:solv", "my_solver has no 'solv'; did you mean 'solve'?"),
        ("my_solver:ANSWER", "not a function but int"),
        ("my_broken:solve", "my_broken cannot be imported: ZeroDivisionError: division by zero"),
        ("my_needy:solve", "my_needy cannot be imported: it needs 'a_module_that_is_not_there'"),
    ],
)
def test_a_solver_that_cannot_be_loaded(name: str, message: str) -> None:
    with pytest.raises(SolverError) as caught:
        load_solver(name)
    assert message in str(caught.value)


def test_an_exact_solver_is_right_everywhere(tmp_path: Path) -> None:
    for suite in (*find("[1,4]x[1,10]"), *find("2x602")):
        record = evaluate_solver("exact", right, suite, 70, seed=1, commit="abc")
        assert (record.char, record.seq, record.samples) == (1, 1, 70)
        assert (record.model, record.variant, record.suite) == ("exact", "external", suite.name)
        assert (record.halting, record.placement, record.seed) == ("–", "–", None)
        assert (record.evaluation_seed, record.version, record.commit) == (1, __version__, "abc")
        append(tmp_path / "records.jsonl", [record])
    assert len(read([tmp_path / "records.jsonl"])) == 2


def test_errors_are_counted() -> None:
    (suite,) = find("2x3")
    seen: list[str] = []

    def forgetful(expression: str) -> str:
        """Blanks around the answer; every fourth answer lacks its first digit."""
        seen.append(expression)
        answer = right(expression)
        return f" {answer[1:] if len(seen) % 4 == 0 else answer}\n"

    record = evaluate_solver("forgetful", forgetful, suite, 64, seed=0)
    valid = sum(len(right(expression)) for expression in seen)
    assert (record.sequences_right, record.samples) == (48, 64)
    assert (record.chars_right, record.chars_valid) == (valid - 16, valid)


def test_solvers_see_the_problems_of_the_suite() -> None:
    (suite,) = find("[1,4]x[1,10]")
    seen: list[str] = []
    evaluate_solver("listener", lambda expression: seen.append(expression) or "", suite, 66, seed=4)
    batches = [problems_of(suite, 0, 64, seed=4), problems_of(suite, 1, 64, seed=4)]
    assert seen == [batches[i // 64].expression(0, i % 64) for i in range(66)]
    assert right(seen[65]) == decode(batches[1].targets[0, 1].tolist())


def test_answers_are_kept_for_the_examples_alone() -> None:
    record = evaluate_solver("exact", right, EXAMPLES, 640, seed=0)
    assert record.samples == 8
    assert record.answers == tuple(exact_sum(terms) for terms in EXAMPLES.expressions)
    assert evaluate_solver("exact", right, find("2x3")[0], 2, seed=0).answers is None


def test_a_solver_that_raises_is_told_with_its_problem() -> None:
    def fails(_: str) -> str:
        raise KeyError("weights")

    suite = Suite.of_expressions("one", ["12+34"])
    with pytest.raises(SolverError, match=r"solver weak failed on 12\+34=: KeyError: 'weights'") as caught:
        evaluate_solver("weak", fails, suite, None, seed=0)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(SolverError) as caught:
        evaluate_solver("weak", fails, find("2x602")[0], 1, seed=0)
    assert len(str(caught.value)) < 200


def test_a_solver_must_return_text() -> None:
    with pytest.raises(SolverError, match=r"returned int for .*; it must return text"):
        evaluate_solver("numeric", lambda _: 46, find("2x3")[0], 1, seed=0)  # pyright: ignore[reportArgumentType]
