"""Families of problems: each is what its name says, whatever the space, and sums are exact."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.cli.evaluate import FAMILIES as TOLD
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.evaluation.families import FAMILIES

# A carry through few columns, and through more than some terms have, stand for those of other lengths.
SHOWN = [name for name in FAMILIES if not name.startswith("carry-") or name in ("carry-1", "carry-7")]


@st.composite
def spaces(draw_from: st.DrawFn) -> Space:
    shortest = draw_from(st.integers(1, 30))
    return Space((2, 2), (shortest, draw_from(st.integers(shortest, 40))))


def drawn(family: str, space: Space, seed: int, problems: int = 8) -> list[tuple[list[str], str]]:
    """The terms and the sum of each problem."""
    batch = sample(space, problems, Stream.of_seeds([seed]), change=FAMILIES[family])
    return [
        (text.removesuffix("=").split("+"), batch.task.decode(batch.targets[0, i].tolist()))
        for i, text in enumerate(batch.expressions())
    ]


def crossed(terms: list[str]) -> list[int]:
    """How many columns each carry crosses, counted column by column from the units."""
    found: list[int] = []
    carry = 0
    for total in (int(a) + int(b) for a, b in zip(*(term[::-1] for term in terms), strict=True)):
        if total + carry >= 10:
            found.append(1) if total >= 10 else found.append(found.pop() + 1)
        carry = int(total + carry >= 10)
    return found


def one_carry_is_handed_on(columns: int, terms: list[str]) -> bool:
    lengths = crossed(terms)
    return max(lengths) == min(columns, len(terms[0])) and sum(length > 1 for length in lengths) <= 1


def nines_beside(space: Space, terms: list[str], other: str) -> bool:
    small, nines = sorted(terms, key=int)
    return (small, {*nines}) == (other, {"9"}) and space.digits[0] <= len(nines) <= space.digits[1]


CHECKS: dict[str, Callable[[Space, list[str], str], bool]] = {
    "nines+1": lambda space, terms, total: nines_beside(space, terms, "1") and set(total[1:]) == {"0"},
    "0+nines": lambda space, terms, total: nines_beside(space, terms, "0") and total in terms,
    "carry-1": lambda _, terms, __: one_carry_is_handed_on(1, terms),
    "carry-7": lambda _, terms, __: one_carry_is_handed_on(7, terms),
}


@pytest.mark.parametrize("family", SHOWN)
@given(space=spaces(), seed=st.integers(0, 2**32))
def test_problems_are_what_the_name_says_and_sums_are_exact(family: str, space: Space, seed: int) -> None:
    for terms, total in drawn(family, space, seed):
        assert len(terms) == 2
        assert all(1 <= len(term) <= space.digits[1] for term in terms)
        assert total == str(sum(map(int, terms)))
        assert family not in CHECKS or CHECKS[family](space, terms, total)


def test_terms_come_in_any_order() -> None:
    firsts = {terms[0] == "1" for terms, _ in drawn("nines+1", Space((2, 2), (5, 5)), 0, 64)}
    assert firsts == {True, False}


def test_broken_carries_are_broken_about_every_fifth_column() -> None:
    problems = [terms for terms, _ in drawn("broken", Space((2, 2), (40, 40)), 0, 64)]
    sums = [int(a) + int(b) for terms in problems for a, b in zip(*terms, strict=True)]
    assert 0.75 < sum(total == 9 for total in sums) / len(sums) < 0.85
    assert 0.07 < sum(total > 9 for total in sums) / len(sums) < 0.13


def test_the_help_tells_every_family() -> None:
    assert list(TOLD) == [name for name in SHOWN if name != "carry-7"]
