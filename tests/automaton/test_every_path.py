"""The theorem is about plain steps. Here the short cuts that sums really take are compared with Python's integers."""

from itertools import product
from pathlib import Path

import pytest

import gridsum
from gridsum.automaton.solve import solve_many
from gridsum.cli import main
from tests.oracles.column_addition import shipped

FAMILIES = [("0123456789", 5, 1), ("0123456789", 2, 2), ("01589", 4, 2), ("019", 5, 2), ("09", 7, 2), ("01", 7, 2),
            ("18", 7, 2), ("019", 3, 3), ("059", 2, 4), ("9", 60, 2)]  # fmt: skip
"""Which digits, of how many at most a term is made, and how many terms there are. Random digits hardly ever do that."""


def wrong(sums: list[str], answers: list[str]) -> list[str]:
    return [text for text, answer in zip(sums, answers, strict=True) if answer != str(sum(map(int, text.split("+"))))]


@pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.slow)])
def test_a_million_sums_by_file_list_and_one_by_one(every: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, counted = tmp_path / "sums.txt", 0
    for letters, longest, count in FAMILIES:
        lengths = range(1, longest + 1)
        terms = ["".join(digits) for length in lengths for digits in product(letters, repeat=length)]
        sums = ["+".join(some) for some in product(terms, repeat=count)][::every]
        listed, by_file, one_by_one = sums[::4], [text for number, text in enumerate(sums) if number % 4], sums[::300]
        path.write_text("\n".join(by_file))
        assert main(["solve", "--file", str(path)]) == 0
        assert wrong(by_file, capsys.readouterr().out.split()) == []
        assert (
            wrong(listed, [found.answer for found in solve_many(shipped(), [text.split("+") for text in listed])]) == []
        )
        assert wrong(one_by_one, [str(gridsum.solve(text)) for text in one_by_one]) == []
        counted += len(sums)
    assert counted > 10**6 / every
