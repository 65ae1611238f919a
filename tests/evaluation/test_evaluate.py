"""What is right is counted once, for symbols and texts alike; anything that answers can be measured."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gridsum.data.problems import Space, batch_of
from gridsum.evaluation.evaluate import Answers, Asked, Counts, Subject, count, evaluate
from gridsum.evaluation.suites import Suite
from gridsum.tasks import FIRST_DIGIT
from gridsum.tasks import find as find_task


def row(text: str, width: int = 5) -> list[int]:
    return [0 if character == " " else FIRST_DIGIT + int(character) for character in text.rjust(width)]


def numbers(counts: Counts) -> list[int]:
    return [int(part.sum()) for part in counts]


def text(answer: str, truth: str) -> list[int]:
    batch = batch_of([(truth,)])
    predicted = Answers.written([answer], batch).predicted
    return numbers(count(predicted, batch.targets_for(predicted.shape[-1])))


def test_a_blank_inside_the_answer_is_a_wrong_valid_position() -> None:
    assert numbers(count(torch.tensor([row("1 3")]), torch.tensor([row("123")]))) == [2, 3, 0]


def test_runs_and_problems_are_kept_apart() -> None:
    target = torch.tensor([[row("12"), row("345")]])
    predicted = torch.tensor([[row("12"), row("345")], [row("12"), row("305")], [row("2"), row("12345")]])
    counts = count(predicted, target)
    assert [part.tolist() for part in counts] == [
        [[2, 3], [2, 2], [1, 3]],
        [[2, 3], [2, 3], [2, 5]],
        [[1, 1], [1, 0], [0, 0]],
    ]
    assert all(part.dtype == torch.int64 for part in counts)


@pytest.mark.parametrize(
    ("answer", "right", "valid", "whole"),
    [
        ("507", 3, 3, 1),
        ("0507", 3, 4, 0),
        ("", 0, 3, 0),
        ("5O7", 2, 3, 0),
        ("507.", 0, 4, 0),
        ("07", 2, 3, 0),
        ("5 7", 2, 3, 0),
    ],
)
def test_text(answer: str, right: int, valid: int, whole: int) -> None:
    assert text(answer, "507") == [right, valid, whole]


digits = st.text("0123456789", max_size=8)


@settings(deadline=None)
@given(digits, st.integers(0, 10**8 - 1).map(str))
def test_text_counts_as_symbols_do(answer: str, truth: str) -> None:
    symbols = count(torch.tensor([row(answer, 8)]), torch.tensor([row(truth, 8)]))
    pairs = list(zip(answer.rjust(8), truth.rjust(8), strict=True))
    by_hand = [sum(a == b != " " for a, b in pairs), max(len(answer), len(truth)), int(answer == truth)]
    assert text(answer, truth) == numbers(symbols) == by_hand


class Half(Subject):
    """Two runs: one that knows the answers, one that says nothing; neither has grids or steps."""

    name, variant, seeds, task = "half", "own", (7, 8), find_task()

    def answer(self, asked: Asked) -> Answers:
        truths = asked.batch.targets
        return Answers(torch.cat((truths, torch.zeros_like(truths))))

    def fits(self, space: Space) -> bool:
        return space.terms[1] < 5

    def about(self, run: int) -> dict[str, Any]:
        return {"given": "the answers" if run == 0 else "nothing"}


def test_whatever_answers_can_be_measured() -> None:
    heard: list[tuple[int, int]] = []
    right, wrong = evaluate(Half(), Suite.parse("[1,4]x[1,10]"), 70, seed=3, report=lambda *done: heard.append(done))
    assert heard == [(64, 70), (70, 70)]
    assert (right.seed, right.seq, right.char, right.given) == (7, 1, 1, "the answers")
    assert (wrong.seed, wrong.seq, wrong.char, wrong.given) == (8, 0, 0, "nothing")
    assert (right.samples, right.steps_mean, right.capped, right.batches, right.failed) == (70, None, None, None, None)
    assert evaluate(Half(), Suite.parse("5x5"), 8) == []
