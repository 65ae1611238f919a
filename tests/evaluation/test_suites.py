import pytest
import torch

from gridsum.data.problems import Space
from gridsum.evaluation import paper
from gridsum.evaluation.suites import COLLECTIONS, EXAMPLES, SuiteError, find, problems_of
from gridsum.tasks import Addition

ADD = Addition()


def names(collection: str) -> list[str]:
    return [suite.name for suite in COLLECTIONS[collection]]


def test_the_suites_are_those_the_paper_reports() -> None:
    assert names("comparison") == list(paper.COMPARISON["base"]) == list(paper.COMPARISON["noGroups"])
    assert names("long-digits") == list(paper.LONG_DIGITS["noGroups"])
    assert names("long-terms") == list(paper.LONG_TERMS["base"])
    assert all(names("ablation") == list(row) for row in paper.ABLATION.values())
    assert [ADD.render(terms) for terms in EXAMPLES.expressions] == list(paper.EXAMPLES)


def test_a_suite_is_named_by_its_space() -> None:
    for suites in COLLECTIONS.values():
        for suite in suites:
            assert suite.name == "examples" or Space.parse(suite.name.split(":")[-1]) == suite.space
    assert EXAMPLES.space == Space((2, 8), (1, 9))


@pytest.mark.parametrize(
    ("name", "found", "samples"),
    [
        ("2x602", "2x602", 640),
        ("[2,2]x[602,602]", "2x602", 640),
        ("2x999", "2x999", 640),
        ("2x[1,4000]", "2x[1,4000]", 128),
        ("examples", "examples", 8),
        ("nines+1:2x[50,50]", "nines+1:2x50", 640),
        ("one-term:1x10000", "one-term:1x10000", 128),
    ],
)
def test_find_one(name: str, found: str, samples: int) -> None:
    (suite,) = find(name)
    assert (suite.name, suite.samples) == (found, samples)
    assert find("comparison") == COLLECTIONS["comparison"]


def test_an_unknown_name_is_answered_with_the_nearest_and_with_all() -> None:
    with pytest.raises(SuiteError, match=r"unknown suite 'comparision'; did you mean 'comparison'\?") as caught:
        find("comparision")
    assert all(name in str(caught.value) for name in COLLECTIONS)
    assert "2x602" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("0x5", "terms must be an interval"),
        ("2x[9,3]", r"digits must be an interval .* not \[9, 3\]"),
        ("2x", "not a problem space"),
        ("", "unknown suite ''"),
        ("nine+1:2x5", r"unknown family 'nine\+1'; did you mean 'nines\+1'\?"),
        ("nines+1:3x[1,5]", r"nines\+1 is for 2 terms; write nines\+1:2x\[1,5\]"),
        ("zeros:many", "unknown suite 'zeros:many'"),
    ],
)
def test_a_bad_space_or_family_says_what_is_bad_about_it(name: str, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        find(name)


def test_batches_make_up_the_samples() -> None:
    (suite,) = find("2x15")
    assert suite.batches() == [64] * 10
    assert suite.batches(130) == [64, 64, 2]
    assert suite.batches(1) == [1]
    assert EXAMPLES.batches(640) == [8]
    with pytest.raises(SuiteError, match="at least 1"):
        suite.batches(0)


def test_problems_depend_on_suite_batch_and_seed_alone() -> None:
    (suite,) = find("[1,4]x[1,10]")
    first = problems_of(suite, 0, 64, seed=1).symbols
    assert first.shape == (1, 64, suite.space.symbols)
    assert torch.equal(first, problems_of(suite, 0, 64, seed=1).symbols)
    assert torch.equal(first[:, :7], problems_of(suite, 0, 7, seed=1).symbols)
    assert not torch.equal(first, problems_of(suite, 1, 64, seed=1).symbols)
    assert not torch.equal(first, problems_of(suite, 0, 64, seed=2).symbols)


def test_a_seeds_problems_never_change() -> None:
    """Recorded numbers are of these problems; if this fails, old and new records cannot be compared."""
    (suite,) = find("[1,4]x[1,10]")
    batch = problems_of(suite, 1, 2, seed=0)
    assert [batch.expression(0, i) for i in range(2)] == ["7155162099=", "1385134+730732839+08130517="]


def test_the_examples_come_as_they_are() -> None:
    batch = problems_of(EXAMPLES, 0, 3, seed=5)
    assert [batch.expression(0, i) for i in range(8)] == list(paper.EXAMPLES)
    truths = [ADD.decode(row) for row in batch.targets[0].tolist()]
    assert sum(truth == answer for truth, answer in zip(truths, paper.EXAMPLES.values(), strict=True)) == 3
