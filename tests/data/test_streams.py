from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gridsum.data.streams import Stream, lane_index
from tests.oracles import splitmix

words = st.integers(-(2**63), 2**63 - 1)


def unsigned(numbers: torch.Tensor) -> list[int]:
    return [number % 2**64 for number in numbers.flatten().tolist()]


def test_published_numbers():
    """The values that implementations of SplitMix64 are checked with, for the state 1234567."""
    bits = Stream(torch.tensor([1234567])).bits(5)
    assert unsigned(bits) == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@given(words)
def test_bits_are_splitmix(key):
    bits = Stream(torch.tensor([key])).bits(3, 2)
    assert bits.shape == (1, 3, 2)
    assert unsigned(bits) == list(islice(splitmix.outputs(key % 2**64), 6))


@given(words, words)
def test_a_label_may_be_a_number_or_a_tensor(key, label):
    stream = Stream(torch.tensor([key]))
    assert torch.equal(stream.fold(label).key, stream.fold(torch.tensor(label)).key)


@pytest.mark.parametrize(
    "pair",
    [
        lambda: (Stream.of_seeds([0]), Stream.of_seeds([1])),
        lambda: (Stream.of_seeds([0]), Stream.of_seeds([0]).fold(0)),
        lambda: (Stream.of_seeds([0]).fold(0), Stream.of_seeds([0]).fold(1)),
        lambda: (Stream.of_seeds([0]).fold(1).fold(2), Stream.of_seeds([0]).fold(2).fold(1)),
        lambda: Stream.of_seeds([0]).children(2),
    ],
    ids=["seeds", "parent-child", "labels", "order", "children"],
)
def test_streams_are_independent(pair):
    """Pairs of digits from two streams fill the 10 × 10 table evenly."""
    one, other = (stream.integers(0, 9, 20000)[0] for stream in pair())
    counts = torch.bincount(one * 10 + other, minlength=100)
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3


@given(words, st.integers(-5, 5), st.integers(0, 20))
def test_integers_are_the_upper_63_bits_modulo_the_range(key, low, extent):
    drawn = Stream(torch.tensor([key])).integers(low, low + extent, 6)
    expected = [(number >> 1) % (extent + 1) + low for number in islice(splitmix.outputs(key % 2**64), 6)]
    assert drawn.flatten().tolist() == expected


@given(words)
def test_uniform_is_the_upper_24_bits(key):
    drawn = Stream(torch.tensor([key])).uniform(6)
    assert [number * 2**24 for number in drawn[0].tolist()] == [
        number >> 40 for number in islice(splitmix.outputs(key % 2**64), 6)
    ]


@given(words, st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)))
def test_chance_is_how_often_a_uniform_number_lies_below(key, probability):
    """Below the probability, that is, as 24 bits hold it; none at 0 and all at 1."""
    stream = Stream(torch.tensor([key]))
    threshold = round(probability * 2**24)
    expected = [output >> 40 < threshold for output in islice(splitmix.outputs(key % 2**64), 20)]
    drawn = stream.chance(probability, 4, 5)
    assert drawn.shape == (1, 4, 5)
    assert drawn.flatten().tolist() == expected
    assert probability not in (0, 1) or set(expected) == {probability == 1}


def test_lanes_are_the_quarters_of_the_hashes():
    """Cell c with w words of lanes reads the hashes c·w + 1, …, c·w + w, lowest 16 bits first."""
    stream = Stream.of_seeds([6, 7])
    cells = torch.tensor([[0, 2], [5, 1]])
    lanes = stream.lanes(lane_index(cells, 8))
    assert lanes.dtype == torch.int16
    assert lanes.shape == (2, 2, 2, 8)
    for run, key in enumerate(unsigned(stream.key)):
        hashes = list(islice(splitmix.outputs(key), 20))
        for place, cell in ((place, int(cells[place])) for place in [(0, 0), (0, 1), (1, 0), (1, 1)]):
            expected = [hashes[cell * 2 + word] >> 16 * lane & 0xFFFF for word in range(2) for lane in range(4)]
            assert [number % 2**16 for number in lanes[run, *place].tolist()] == expected
