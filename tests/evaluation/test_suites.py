"""Which problems a suite has: they depend on its name and the seed alone."""

from itertools import pairwise

import pytest
import torch

from gridsum.data.problems import Space
from gridsum.evaluation import paper
from gridsum.evaluation.families import FAMILIES
from gridsum.evaluation.suites import COLLECTIONS, EXAMPLES, SuiteError, find
from tests.oracles.column_addition import ADD


def test_the_suites_are_those_the_paper_reports() -> None:
    """And all rows of a table are of the same ones."""
    published = {
        "comparison": paper.COMPARISON,
        "long-digits": paper.LONG_DIGITS,
        "long-terms": paper.LONG_TERMS,
        "ablation": paper.ABLATION,
    }
    for name, rows in published.items():
        assert all(list(row) == [suite.name for suite in COLLECTIONS[name]] for row in rows.values())
    for suite in (suite for suites in COLLECTIONS.values() for suite in suites):
        assert suite.name == "examples" or Space.parse(suite.name.split(":")[-1]) == suite.space
    assert EXAMPLES.space == Space((2, 8), (1, 9))


@pytest.mark.parametrize(
    ("name", "found", "samples"),
    [
        ("[2,2]x[602,602]", "2x602", 640),
        ("2x999", "2x999", 640),
        ("2x[1,4000]", "2x[1,4000]", 128),
        ("examples", "examples", 8),
        ("nines+1:2x[50,50]", "nines+1:2x50", 640),
        ("broken:2x10000", "broken:2x10000", 128),
    ],
)
def test_find_one(name: str, found: str, samples: int) -> None:
    (suite,) = find(name)
    assert (suite.name, suite.size()) == (found, samples)
    assert suite.size(130) == (8 if name == "examples" else 130), "worked examples are given whole"
    with pytest.raises(SuiteError, match="at least 1"):
        suite.size(0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("0x5", "terms must be an interval"),
        ("2x[9,3]", r"digits must be an interval .* not \[9, 3\]"),
        ("2x", "not a problem set"),
        ("", "unknown suite ''"),
        ("comparision", r"unknown suite 'comparision'; did you mean 'comparison'\?.*ablation.*2x602"),
        ("nine+1:2x5", r"unknown family 'nine\+1'; did you mean 'nines\+1'\?"),
        ("nines+1:3x[1,5]", r"nines\+1 is for 2 terms; write nines\+1:2x\[1,5\]"),
        ("broken:many", "unknown suite 'broken:many'"),
    ],
)
def test_a_bad_name_is_answered_with_what_to_write(name: str, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        find(name)


@pytest.mark.parametrize("family", ["", *(f"{family}:" for family in FAMILIES)])
def test_problems_are_the_same_however_they_are_divided(family: str) -> None:
    (suite,) = find(f"{family}2x[1,9]")
    whole = suite.problems(0, 130, seed=1)
    assert whole.symbols.shape == (1, 130, suite.space.symbols)
    for cuts in ((0, 130), (0, 64, 128, 130), (0, 1, 101, 130), (0, 63, 65)):
        for first, last in pairwise(cuts):
            part = suite.problems(first, last, seed=1)
            assert torch.equal(part.symbols, whole.symbols[:, first:last])
            assert torch.equal(part.targets, whole.targets[:, first:last])
    assert not torch.equal(whole.symbols[:, :64], whole.symbols[:, 64:128])
    assert not torch.equal(whole.symbols, suite.problems(0, 130, seed=2).symbols)


def test_a_seeds_problems_never_change() -> None:
    """Recorded numbers are of these problems; if this fails, old and new records cannot be compared."""
    (suite,) = find("[1,4]x[1,10]")
    assert suite.problems(64, 66, seed=0).expressions() == ["7155162099=", "1385134+730732839+08130517="]
    (hard,) = find("carry-3:2x[1,10]")
    assert hard.problems(3, 5, seed=0).expressions() == ["21856243+18150867=", "716523715+483687627="]


def test_the_examples_come_as_they_are() -> None:
    batch = EXAMPLES.problems(0, 8, seed=5)
    assert batch.expressions() == list(paper.EXAMPLES)
    truths = [ADD.decode(row) for row in batch.targets[0].tolist()]
    assert sum(truth == answer for truth, answer in zip(truths, paper.EXAMPLES.values(), strict=True)) == 3
