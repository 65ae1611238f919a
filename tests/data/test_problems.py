import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gridsum.data.problems import Batch, Space, batch_of, sample
from gridsum.data.streams import Stream
from gridsum.tasks import FIRST_DIGIT, PAD
from tests.oracles.column_addition import ADD


def intervals(highest: int):
    return st.tuples(st.integers(1, highest), st.integers(1, highest)).map(lambda pair: (min(pair), max(pair)))


spaces = st.builds(Space, intervals(12), intervals(12))


@given(spaces)
def test_space_round_trip(space):
    assert Space.parse(str(space)) == space


def test_spaces_as_people_write_them():
    assert Space.parse("2x602") == Space((2, 2), (602, 602))
    assert Space.parse("[1,4]x[1,10]") == Space.parse("[1,4],[1,10]") == Space((1, 4), (1, 10))
    assert Space.parse(" [ 7 , 10 ] × 5 ") == Space((7, 10), (5, 5))


@pytest.mark.parametrize(
    ("told", "texts"),
    {
        "write one such as": ["", "2", "x", "2x", "[1,4]", "[1,4]x[1]", "2x-3", "2x3x4", "ax2", "[1;4]x2"],
        "terms must be an interval": ["0x3", "[4,1]x2"],
        "digits must be an interval": ["3x0", "1x[3,2]"],
    }.items(),
)
def test_no_space(told, texts):
    for text in texts:
        with pytest.raises(ValueError, match=told):
            Space.parse(text)


def test_problems_are_uniform():
    batch = sample(Space((2, 5), (3, 6)), 4000, Stream.of_seeds([1]))
    problems = [ADD.parse(batch.expression(0, problem)) for problem in range(4000)]
    counts = torch.bincount(torch.tensor([len(terms) for terms in problems]))[2:]
    lengths = torch.bincount(torch.tensor([len(term) for terms in problems for term in terms]))[3:]
    digits = torch.bincount(torch.tensor([int(digit) for terms in problems for term in terms for digit in term]))
    leading = torch.bincount(torch.tensor([int(term[0]) for terms in problems for term in terms]))
    for observed, values in ((counts, 4), (lengths, 4), (digits, 10), (leading, 10)):
        assert len(observed) == values
        assert stats.chisquare(observed.numpy()).pvalue > 1e-3


probabilities = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1))


@given(spaces, st.integers(0, 2**40), probabilities)
def test_sampled_problems_are_of_the_space_and_solved(space, seed, share):
    """With few digits the same terms and lengths as without; at most three digits, or what it would be without."""
    stream = Stream.of_seeds([seed, seed + 1])
    plain, batch = sample(space, 4, stream), sample(space, 4, stream, share)
    assert batch.symbols.shape == (2, 4, space.symbols)
    assert batch.targets.shape == (2, 4, space.columns_of())
    for run in range(2):
        for problem in range(4):
            terms, before = ADD.parse(batch.expression(run, problem)), ADD.parse(plain.expression(run, problem))
            assert [len(term) for term in terms] == [len(term) for term in before]
            assert terms == before or len(set("".join(terms))) <= 3
            assert space.terms[0] <= len(terms) <= space.terms[1]
            assert all(space.digits[0] <= len(term) <= space.digits[1] for term in terms)
            written, result = ADD.encode(terms), [FIRST_DIGIT + int(digit) for digit in str(sum(map(int, terms)))]
            assert batch.symbols[run, problem].tolist() == written + [PAD] * (space.symbols - len(written))
            assert batch.targets[run, problem].tolist() == [PAD] * (space.columns_of() - len(result)) + result


def test_given_problems_have_targets_at_the_right_of_which_a_narrower_grid_loses_padding_alone():
    batch = batch_of([("99", "1"), ("7",)])
    assert batch.expressions() == ["99+1=", "7="]
    assert [batch.task.decode(batch.targets[0, problem].tolist()).strip() for problem in range(2)] == ["100", "7"]
    wide = batch.targets_for(5)
    assert wide[0].tolist() == [[PAD, PAD, 2, 1, 1], [PAD, PAD, PAD, PAD, 8]]
    assert torch.equal(batch.targets_for(3), batch.targets)

    batch = Batch(torch.zeros(1, 1, 1, dtype=torch.int64), torch.tensor([[[PAD, PAD, 3, 4]]]))
    assert batch.targets_for(2).tolist() == [[[3, 4]]]
