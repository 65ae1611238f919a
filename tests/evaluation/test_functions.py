"""Functions of the user: asked, and measured whatever they do."""

import sys
from typing import Any

import pytest

import gridsum
from gridsum.evaluation.evaluate import FunctionSubject, evaluate
from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import Suite, find
from gridsum.io.version import __version__
from gridsum.tasks import Addition

ADD = Addition()


def right(expression: str) -> str:
    return ADD.answer(ADD.parse(expression))


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


class Own(BaseException):
    pass


def hostile(expression: str) -> Any:
    """Fails in a way of its own, by the first term of a sum."""
    sys.stdout.write("a word of its own")
    match int(expression.split("+")[0]):
        case 1:
            raise SystemExit(3)
        case 2:
            return {}["weights"]
        case 3:
            return 4.5
        case 4:
            raise Own("mine" * 100)
        case 5:
            raise KeyboardInterrupt
    return right(expression)


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (1, "SystemExit: 3"),
        (2, "KeyError: 'weights'"),
        (3, "TypeError: gave float, not text such as '46'"),
        (4, "Own: minemine"),
    ],
)
def test_whatever_a_function_does_the_others_get_their_answers(
    number: int, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = Suite.of_expressions("three", ["12+34", f"{number}+1", "22+2"])
    (record,) = gridsum.evaluate(hostile, suite)
    assert (record.sequences_right, record.failed, record.answers) == (2, 1, ("46", "", "24"))
    assert (record.failure or "").startswith(f"{number}+1= {reason}")
    printed = capsys.readouterr()
    assert printed.out == "", "what it prints is not a result of ours"
    assert f"hostile gave no answer to 1 of 3 problems of three; the first: {number}+1= {reason}" in printed.err
    with pytest.raises(KeyboardInterrupt):
        measured("hostile", hostile, Suite.of_expressions("interrupted", ["5+3"]))


def test_a_long_problem_is_told_in_short() -> None:
    long = measured("weak", lambda _: 4.5, find("2x602")[0], 1)
    assert long.answers is None, "they are kept of fixed expressions alone"
    assert len(long.failure or "") < 200
