import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from gridsum.data.symbols import FIRST_DIGIT
from gridsum.evaluation.metrics import Counts, count, count_text, wilson


def row(text: str, width: int = 5) -> list[int]:
    return [0 if character == " " else FIRST_DIGIT + int(character) for character in text.rjust(width)]


def numbers(counts: Counts) -> tuple[list[int] | int, ...]:
    return (
        counts.chars_right.tolist(),
        counts.chars_valid.tolist(),
        counts.sequences_right.tolist(),
        counts.sequences.tolist(),
    )


@pytest.mark.parametrize(
    ("predicted", "target", "right", "valid", "whole"),
    [
        ("123", "123", 3, 3, 1),
        ("124", "123", 2, 3, 0),
        ("23", "123", 2, 3, 0),
        ("1123", "123", 3, 4, 0),
        ("0123", "123", 3, 4, 0),
        ("", "123", 0, 3, 0),
        ("0", "0", 1, 1, 1),
        ("1230 ", "123", 0, 5, 0),
    ],
)
def test_one_problem(predicted: str, target: str, right: int, valid: int, whole: int) -> None:
    counts = count(torch.tensor([row(predicted)]), torch.tensor([row(target)])).total()
    assert numbers(counts) == (right, valid, whole, 1)


def test_a_blank_inside_the_answer_is_a_wrong_valid_position() -> None:
    counts = count(torch.tensor([row("1 3")]), torch.tensor([row("123")])).total()
    assert numbers(counts) == (2, 3, 0, 1)


def test_runs_and_problems_are_kept_apart() -> None:
    target = torch.tensor([[row("12"), row("345")]])
    predicted = torch.tensor([[row("12"), row("345")], [row("12"), row("305")], [row("2"), row("12345")]])
    counts = count(predicted, target)
    assert numbers(counts)[:3] == (
        [[2, 3], [2, 2], [1, 3]],
        [[2, 3], [2, 3], [2, 5]],
        [[1, 1], [1, 0], [0, 0]],
    )
    assert numbers(counts.total()) == ([5, 4, 4], [5, 5, 7], [2, 1, 0], [2, 2, 2])
    assert all(tensor.dtype == torch.int64 for tensor in vars(counts).values())


def test_a_prediction_of_another_width_is_refused() -> None:
    with pytest.raises(AssertionError):
        count(torch.zeros(1, 4), torch.zeros(1, 1))


def test_counts_add_up() -> None:
    parts = count_text(["12"], ["12"]) + count_text(["9", "77"], ["8", "777"])
    assert numbers(parts) == numbers(count_text(["12", "9", "77"], ["12", "8", "777"])) == (4, 6, 1, 3)


@pytest.mark.parametrize(
    ("answer", "right", "valid", "whole"),
    [
        ("507", 3, 3, 1),
        ("0507", 3, 4, 0),
        ("", 0, 3, 0),
        ("5O7", 2, 3, 0),
        ("507.", 0, 4, 0),
        ("07", 2, 3, 0),
    ],
)
def test_text(answer: str, right: int, valid: int, whole: int) -> None:
    assert numbers(count_text([answer], ["507"])) == (right, valid, whole, 1)


def test_text_needs_an_answer_for_every_truth() -> None:
    with pytest.raises(ValueError, match="longer"):
        count_text(["1"], ["1", "2"])


digits = st.text("0123456789", max_size=8)


@settings(deadline=None)
@given(st.lists(st.tuples(digits, digits.filter(bool)), min_size=1, max_size=5))
def test_text_counts_as_symbols_do(pairs: list[tuple[str, str]]) -> None:
    answers, truths = [answer for answer, _ in pairs], [truth for _, truth in pairs]
    predicted = torch.tensor([row(answer, 8) for answer in answers])
    target = torch.tensor([row(truth, 8) for truth in truths])
    assert numbers(count_text(answers, truths)) == numbers(count(predicted, target).total())


shares = st.integers(1, 10**7).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@settings(deadline=None)
@given(shares, st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_wilson_agrees_with_scipy(share: tuple[int, int], confidence: float) -> None:
    expected = binomtest(*share).proportion_ci(confidence, method="wilson")
    assert wilson(*share, confidence) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-12)


@given(shares)
def test_wilson_contains_the_estimate(share: tuple[int, int]) -> None:
    low, high = wilson(*share)
    assert 0 <= low <= share[0] / share[1] <= high <= 1
    assert low < high


def test_wilson_of_nothing_and_at_the_ends() -> None:
    assert wilson(0, 0) == (0, 1)
    assert wilson(0, 640)[0] == 0
    assert wilson(640, 640)[1] == 1
    assert wilson(1, 640)[0] > 0
    assert wilson(639, 640)[1] < 1
