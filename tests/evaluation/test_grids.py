"""On which grids problems are measured, and how sure the scores are."""

import dataclasses
import random
from collections import Counter
from collections.abc import Callable

import pytest
import torch

from gridsum.config.fields import override
from gridsum.config.paper import TaskConfig
from gridsum.config.variants import variant
from gridsum.evaluation.evaluate import PaperSubject, evaluate
from gridsum.evaluation.grids import PUBLISHED, parts_of
from gridsum.evaluation.records import OnGrid, Record, RecordError, append, read
from gridsum.evaluation.suites import EXAMPLES, find, in_parts, problems_of
from gridsum.model.rollout import Network
from gridsum.model.store import Model
from tests.oracles.sizes import SMALLEST

Make = Callable[..., Record]
TASK = TaskConfig()


def test_every_size_gets_equally_many_problems():
    (suite,) = find("2x15")
    parts = parts_of("every", suite, None, TASK)
    assert Counter(part.drawn for part in parts) == {(r, c): 1 for r in range(4) for c in range(4)}
    assert {part.problems for part in parts} == {40}
    few = parts_of("every", suite, 4, TASK)
    assert [part.problems for part in few] == [1] * 4
    assert {part.drawn[0] for part in few} == {part.drawn[1] for part in few} == set(range(4))
    assert sum(part.problems for part in parts_of("every", suite, 130, TASK)) == 130


def test_the_published_sizes_are_what_the_published_test_code_draws():
    """It seeds Python's `random` with 0 and asks it once for each of 128 problems, then for rows and columns."""
    chance = random.Random(0)
    drawn = []
    for _ in range(5):
        for _ in range(128):
            chance.random()
        drawn.append((chance.randint(0, 3), chance.randint(0, 3)))
    assert tuple(drawn) == PUBLISHED
    (suite,) = find("2x15")
    assert [(part.problems, part.drawn) for part in parts_of("published", suite, None, TASK)] == [
        (128, size) for size in PUBLISHED
    ]


def test_worked_examples_stand_on_one_grid():
    for grids in ("every", "published"):
        assert parts_of(grids, EXAMPLES, None, TASK) == [(8, (0, 0))]


@pytest.mark.parametrize("sizes", [[130], [64, 64, 2], [1, 100, 29], [26] * 5])
def test_problems_are_the_same_however_they_are_divided(sizes: list[int]):
    (suite,) = find("[1,4]x[1,10]")
    whole = torch.cat([problems_of(suite, index, n, 3).symbols for index, n in enumerate((64, 64, 2))], 1)
    found = [batch.symbols for batch in in_parts(suite, sizes, 3)]
    assert [part.shape[1] for part in found] == sizes
    assert torch.equal(torch.cat(found, 1), whole)


@pytest.fixture(scope="module")
def model() -> Model:
    config = override(variant("base"), SMALLEST | {"model.max_evaluation_steps": 3})
    return Model("tiny", config, (4, 5), Network(config.model, (4, 5)).requires_grad_(False))


def test_a_record_keeps_its_counts_grid_by_grid(model: Model, tmp_path):
    (suite,) = find("2x3")
    records = evaluate(PaperSubject(model), suite, 32)
    for record in records:
        assert (record.grids, record.way, record.samples) == ("every", ("every", "soft"), 32)
        assert record.batches is not None
        assert {batch.problems for batch in record.batches} == {2}
        assert {(b.rows, b.columns) for b in record.batches} == {(r, c) for r in range(3, 7) for c in range(6, 10)}
        assert sum(batch.chars_valid for batch in record.batches) == record.chars_valid
    append(tmp_path / "records.jsonl", records)
    assert read([tmp_path / "records.jsonl"]) == records


@pytest.mark.parametrize("grids", ["every", "published"])
def test_a_part_can_be_measured_again_alone(model: Model, grids):
    (suite,) = find("2x3")
    subject = PaperSubject(model, grids=grids)
    whole = evaluate(subject, suite, 70)
    for number in (0, len(whole[0].batches or ()) - 1):
        again = evaluate(subject, suite, 70, only=[number])
        for record, part in zip(whole, again, strict=True):
            assert record.batches is not None
            assert part.batches == (record.batches[number],)


def test_a_record_whose_batches_do_not_add_up_is_refused(make_record: Make):
    batch = OnGrid(3, 6, 2, 1, 5, 6, 13, 15, 18)
    whole = make_record(samples=2, sequences_right=1, chars_right=5, chars_valid=6, batches=(batch,))
    with pytest.raises(RecordError, match="chars_right 4 is not the sum of the batches"):
        dataclasses.replace(whole, chars_right=4)
