"""Families of problems: each is what its name says, whatever the space, and sums are exact."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.cli.evaluate import FAMILIES as TOLD
from gridsum.data.problems import Space
from gridsum.data.streams import Stream
from gridsum.evaluation.families import FAMILIES, draw

# A carry through few columns, and through more than some terms have, stand for those of other lengths.
SHOWN = [name for name in FAMILIES if not name.startswith("carry-") or name in ("carry-1", "carry-7")]


@st.composite
def spaces(draw_from: st.DrawFn, family: str) -> Space:
    fewest, shortest = draw_from(st.integers(1, 6)), draw_from(st.integers(1, 30))
    terms = FAMILIES[family].terms
    return Space(
        (fewest, draw_from(st.integers(fewest, 8))) if terms is None else (terms, terms),
        (shortest, draw_from(st.integers(shortest, 40))),
    )


def drawn(family: str, space: Space, seed: int, problems: int = 8) -> list[tuple[list[str], str]]:
    """The terms and the sum of each problem."""
    batch = draw(family, space, problems, Stream.of_seeds([seed]))
    return [(text.removesuffix("=").split("+"), batch.answer(0, i)) for i, text in enumerate(batch.expressions())]


def nines_and_one(space: Space, terms: list[str], total: str) -> None:
    """One carry through all columns."""
    one, nines = sorted(terms, key=int)
    assert (one, set(nines)) == ("1", {"9"})
    assert space.digits[0] <= len(nines) <= space.digits[1]
    assert total == "1" + "0" * len(nines)


def nines(_: Space, terms: list[str], __: str) -> None:
    assert (len(set(terms)), set(terms[0])) == (1, {"9"})


def alternating(_: Space, terms: list[str], __: str) -> None:
    sums = [int(a) + int(b) for a, b in zip(*terms, strict=True)]
    assert 9 not in sums, "no column hands on a carry that it does not make"
    assert all((left >= 10) != (right >= 10) for left, right in pairwise(sums))


def zero_and_nines(space: Space, terms: list[str], total: str) -> None:
    zero, nines = sorted(terms, key=int)
    assert (zero, set(nines), nines) == ("0", {"9"}, total)
    assert space.digits[0] <= len(nines) <= space.digits[1]


def crossed(terms: list[str]) -> list[int]:
    """How many columns each carry crosses, counted column by column from the units."""
    found: list[int] = []
    carry = 0
    for total in (int(a) + int(b) for a, b in zip(*(term[::-1] for term in terms), strict=True)):
        if total + carry >= 10:
            found.append(1) if total >= 10 else found.append(found.pop() + 1)
        carry = int(total + carry >= 10)
    return found


def carry_through(columns: int, terms: list[str]) -> None:
    assert max(crossed(terms)) == min(columns, len(terms[0]))
    assert sum(length > 1 for length in crossed(terms)) <= 1, "no other carry is handed on"


def leading_zeros(space: Space, terms: list[str], _: str) -> None:
    assert all(term.startswith("0") and len(term) >= space.digits[0] for term in terms)


def zeros(_: Space, terms: list[str], total: str) -> None:
    assert (set("".join(terms)), total) == ({"0"}, "0")


def permuted(space: Space, terms: list[str], _: str) -> None:
    *short, long = sorted(map(len, terms))
    assert long == space.digits[1]
    assert set(short) <= {1}


CHECKS = {
    "nines+1": nines_and_one,
    "0+nines": zero_and_nines,
    "carry-1": lambda _, terms, __: carry_through(1, terms),
    "carry-7": lambda _, terms, __: carry_through(7, terms),
    "nines": nines,
    "alternating": alternating,
    "leading-zeros": leading_zeros,
    "zeros": zeros,
    "permuted": permuted,
}


@pytest.mark.parametrize("family", SHOWN)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_problems_are_what_the_name_says_and_sums_are_exact(family: str, data: st.DataObject, seed: int) -> None:
    space = data.draw(spaces(family))
    found = drawn(family, space, seed)
    for terms, total in found:
        assert space.terms[0] <= len(terms) <= space.terms[1]
        assert all(1 <= len(term) <= space.digits[1] for term in terms)
        assert total == str(sum(map(int, terms)))
        if family in CHECKS:
            CHECKS[family](space, terms, total)
    if family == "permuted":
        for low in (0, 4):
            assert len({tuple(sorted(terms)) for terms, _ in found[low : low + 4]}) == 1, "the same terms in fours"


def test_terms_come_in_any_order() -> None:
    firsts = {terms[0] == "1" for terms, _ in drawn("nines+1", Space((2, 2), (5, 5)), 0, 64)}
    assert firsts == {True, False}
    places = {terms.index(max(terms, key=len)) for terms, _ in drawn("permuted", Space((5, 5), (9, 9)), 0, 64)}
    assert places == set(range(5))


def test_broken_carries_are_broken_about_every_fifth_column() -> None:
    problems = [terms for terms, _ in drawn("broken", Space((2, 2), (40, 40)), 0, 64)]
    sums = [int(a) + int(b) for terms in problems for a, b in zip(*terms, strict=True)]
    assert 0.75 < sum(total == 9 for total in sums) / len(sums) < 0.85
    assert 0.07 < sum(total > 9 for total in sums) / len(sums) < 0.13


def test_the_help_tells_every_family() -> None:
    assert list(TOLD) == [name for name in SHOWN if name != "carry-7"]
