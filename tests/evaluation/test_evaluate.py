"""What is right is counted once, for symbols and texts alike; anything that answers can be measured, grid by grid."""

import dataclasses
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from gridsum.config.fields import override
from gridsum.config.variants import variant
from gridsum.data.problems import batch_of
from gridsum.evaluation.evaluate import PUBLISHED, Answers, count, evaluate, function_subject, paper_subject
from gridsum.evaluation.records import RecordError, append, read
from gridsum.evaluation.suites import EXAMPLES, find
from gridsum.io.version import __version__
from gridsum.model.rollout import Network
from gridsum.model.store import Model
from gridsum.tasks import FIRST_DIGIT
from gridsum.tasks import find as find_task
from tests.oracles.sizes import SMALLEST


def row(text: str, width: int = 5) -> list[int]:
    return [0 if character == " " else FIRST_DIGIT + int(character) for character in text.rjust(width)]


def test_runs_and_problems_are_kept_apart() -> None:
    target = torch.tensor([[row("12"), row("345")]])
    predicted = torch.tensor([[row("12"), row("345")], [row("12"), row("3 5")], [row("2"), row("12345")]])
    assert [part.tolist() for part in count(predicted, target)] == [
        [[2, 3], [2, 2], [1, 3]],
        [[2, 3], [2, 3], [2, 5]],
        [[1, 1], [1, 0], [0, 0]],
    ]


@given(st.text("0123456789O.", max_size=8), st.integers(0, 10**8 - 1).map(str))
@example("5O7", "507")
@example("507.", "507")
def test_what_is_written_counts_as_symbols_do_from_the_units(answer: str, truth: str) -> None:
    batch = batch_of([(truth,)])
    predicted = Answers.written([answer], batch).predicted
    found = [int(part.sum()) for part in count(predicted, batch.targets_for(predicted.shape[-1]))]
    pairs = list(zip(answer.rjust(8), truth.rjust(8), strict=True))
    assert found == [sum(a == b != " " for a, b in pairs), max(len(answer), len(truth)), int(answer == truth)]
    if answer.isdecimal():
        symbols = count(torch.tensor([row(answer, 8)]), torch.tensor([row(truth, 8)]))
        assert found == [int(part.sum()) for part in symbols]


def test_a_function_gets_the_problems_of_the_suite() -> None:
    (suite,), add, seen, heard = find("[1,4]x[1,10]"), find_task(), list[str](), list[tuple[int, int]]()

    def solver(expression: str) -> str:
        seen.append(expression)
        return add.answer(add.parse(expression))

    (record,) = evaluate(function_subject("listener", solver), suite, 70, 4, "abc", lambda *done: heard.append(done))
    assert heard == [(64, 70), (70, 70)]
    assert seen == suite.problems(0, 70, seed=4).expressions()
    assert (record.char, record.seq, record.samples, record.answers) == (1, 1, 70, None)
    assert (record.steps_mean, record.batches) == (None, None)
    assert (record.model, record.variant, record.suite) == ("listener", "external", suite.name)
    assert (record.halting, record.placement, record.grids, record.seed) == ("–", "–", "–", None)
    assert (record.evaluation_seed, record.version, record.commit) == (4, __version__, "abc")
    with pytest.raises(TypeError, match="weak gave float; it must return text such as '46'"):
        evaluate(function_subject("weak", lambda _: 4.5), suite, 1)


@pytest.fixture(scope="module")
def model() -> Model:
    config = override(variant("base"), SMALLEST | {"model.max_evaluation_steps": 3})
    return Model("tiny", config, (4, 5), Network(config.model, (4, 5)).requires_grad_(False))


def test_every_size_gets_equally_many_problems(model: Model) -> None:
    (suite,) = find("2x15")
    subject = paper_subject(model)
    parts = subject.parts(suite, 640)
    assert Counter(drawn for _, drawn in parts) == {(r, c): 1 for r in range(4) for c in range(4)}
    assert {problems for problems, _ in parts} == {40}
    few = subject.parts(suite, 4)
    assert [problems for problems, _ in few] == [1] * 4
    assert {rows for _, (rows, _) in few} == {columns for _, (_, columns) in few} == set(range(4))
    assert sum(problems for problems, _ in subject.parts(suite, 130)) == 130
    assert subject.parts(EXAMPLES, 8) == [(8, (0, 0))], "worked examples stand on one grid"


def test_the_published_sizes_are_what_the_published_test_code_draws(model: Model) -> None:
    """It seeds Python's `random` with 0 and asks it once for each of 128 problems, then for rows and columns."""
    chance, drawn = random.Random(0), []
    for _ in range(5):
        for _ in range(128):
            chance.random()
        drawn.append((chance.randint(0, 3), chance.randint(0, 3)))
    assert tuple(drawn) == PUBLISHED
    parts = paper_subject(model, grids="published").parts(find("2x15")[0], 640)
    assert parts == [(128, size) for size in PUBLISHED]


def test_a_record_keeps_its_counts_grid_by_grid(model: Model, tmp_path: Path) -> None:
    records = evaluate(paper_subject(model), find("2x3")[0], 32)
    for record in records:
        assert (record.grids, record.way, record.samples) == ("every", ("every", "soft"), 32)
        assert {batch.problems for batch in record.batches} == {2}
        assert {(b.rows, b.columns) for b in record.batches} == {(r, c) for r in range(3, 7) for c in range(6, 10)}
        assert sum(batch.chars_valid for batch in record.batches) == record.chars_valid
    append(tmp_path / "records.jsonl", records)
    assert read([tmp_path / "records.jsonl"]) == records
    with pytest.raises(RecordError, match=r"chars_valid \d+ is not the sum of the batches"):
        dataclasses.replace(records[0], chars_valid=records[0].chars_valid + 1)


@pytest.mark.parametrize("grids", ["every", "published"])
def test_a_part_can_be_measured_again_alone(model: Model, grids: Any) -> None:
    (suite,) = find("2x3")
    subject = paper_subject(model, grids=grids)
    whole = evaluate(subject, suite, 70)
    for number in (0, len(whole[0].batches or ()) - 1):
        again = evaluate(subject, suite, 70, only=[number])
        for record, part in zip(whole, again, strict=True):
            assert part.batches == (record.batches[number],)  # pyright: ignore[reportOptionalSubscript]
