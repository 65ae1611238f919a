"""The theorem is about plain steps. Here the short cuts that sums really take are compared with Python's integers."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

import gridsum
from gridsum.automaton.files import shipped_rule
from gridsum.automaton.solve import solve_many
from gridsum.cli import main
from tests.page.conftest import Node

Terms = tuple[str, ...]


def numbers(letters: str, longest: int) -> list[str]:
    """All of up to so many of these digits, with leading zeros."""
    return ["".join(digits) for length in range(1, longest + 1) for digits in product(letters, repeat=length)]


@cache
def families() -> dict[str, list[Terms]]:
    """All sums of a kind that random digits hardly ever make."""
    every, hundreds = "0123456789", [f"{number:03}" for number in range(1000)]
    nines = ["9" * length for length in range(1, 41)]
    return {
        "one term": [(number,) for number in numbers(every, 5)],
        "two terms of up to two digits": list(product(numbers(every, 2), repeat=2)),
        "three digits and two": list(product(hundreds, hundreds[:100])),
        "three digits and some of five": list(product(hundreds, numbers("01589", 3))),
        "some of five and three digits": list(product(numbers("01589", 3), hundreds)),
        "two terms of zeros, ones and nines": list(product(numbers("019", 5), repeat=2)),
        "two terms of zeros and nines": list(product(numbers("09", 7), repeat=2)),
        "two terms of zeros and ones": list(product(numbers("01", 7), repeat=2)),
        "two terms of ones and eights": list(product(numbers("18", 7), repeat=2)),
        "three terms of zeros, ones and nines": list(product(numbers("019", 3), repeat=3)),
        "four terms of zeros, fives and nines": list(product(numbers("059", 2), repeat=4)),
        "five digits": list(product(every, repeat=5)),
        "twelve terms of zeros and nines": list(product("09", repeat=12)),
        "nines, and nines, zero or a digit": [*product(nines, [*nines, *every]), *product(every, nines)],
        "powers of ten": list(product(["1" + nine.replace("9", "0") for nine in nines], repeat=2)),
        "zeros alone": [("0" * length,) * count for length in range(1, 30) for count in range(1, 20)],
        "grids of many cells": [("9" * length, *["1"] * count) for length in (90, 700) for count in (1, 2, 30)],
    }


def each(every: int) -> Iterator[Terms]:
    """Some of all families: the first of each, and then one of so many."""
    for sums in families().values():
        yield from sums[::every]


def wrong(sums: list[Terms], answers: list[str]) -> list[str]:
    return [
        "+".join(terms) for terms, answer in zip(sums, answers, strict=True) if answer != str(sum(map(int, terms)))
    ][:5]


@pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.slow)])
def test_a_million_sums_by_file_list_and_one_by_one(every: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    table, path, counted = shipped_rule("exact"), tmp_path / "sums.txt", 0
    assert table is not None
    for family in families().values():
        sums = family[::every]
        listed, by_file = sums[::4], [terms for number, terms in enumerate(sums) if number % 4]
        path.write_text("".join(f"{'+'.join(terms)}\n" for terms in by_file))
        assert not by_file or main(["solve", "--file", str(path)]) == 0
        assert wrong(by_file, capsys.readouterr().out.split()) == []
        assert wrong(listed, [found.answer for found in solve_many(table, listed)]) == []
        counted += len(sums)
    assert counted > 10**6 / every
    some, few = list(each(200)), list(each(5000))
    assert wrong(some, [found.answer for found in gridsum.solve(["+".join(terms) for terms in some])]) == []
    assert wrong(few, [str(gridsum.solve("+".join(terms))) for terms in few]) == []


def test_the_page_s_scripts(node: Node):
    some = list(each(200))
    script = """
      for (const sum of input) told.push(new gridsum.RuleComputation(rule, gridsum.parse(sum)).completeNow().answer);"""
    assert wrong(some, node(script, ["+".join(terms) for terms in some])) == []
