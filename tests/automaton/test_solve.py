"""Many short sums at once: the answers, the steps and the limits are those of working them out one by one."""

import math
import random
import tracemalloc
from itertools import product
from pathlib import Path

import pytest

import gridsum
from gridsum.automaton.construct import construct
from gridsum.automaton.run import LARGE, size_of
from gridsum.automaton.solve import answer_lines, solve, solve_many
from gridsum.automaton.table import RuleTable
from gridsum.cli import main
from gridsum.data.answers import Answer
from gridsum.tasks import find
from tests.oracles.column_addition import column_addition, random_table, shipped

Terms = tuple[str, ...]


def drawn(table: RuleTable, count: int, seed: int = 0) -> list[Terms]:
    """Sums of all shapes, many with long carries; of a task's most terms at most."""
    chance, digits = random.Random(seed), table.task.alphabet.digits
    found = []
    for _ in range(count):
        letters = chance.choice((digits, digits[0] + digits[-1], digits[-1]))
        terms = chance.randint(1, table.task.most_terms or 6)
        found.append(tuple("".join(chance.choices(letters, k=chance.randint(1, 12))) for _ in range(terms)))
    return found


def check(table: RuleTable, expressions: list[Terms]) -> list[Answer]:
    """Together as alone."""
    found = list(solve_many(table, expressions))
    assert found == [solve(table, terms) for terms in expressions]
    return found


@pytest.mark.parametrize("name", ["add", "add:base=2", "add:base=16", "subtract"])
def test_together_as_alone(name: str):
    table = construct(find(name))
    found = check(table, drawn(table, 150))
    assert all(answer.correct for answer in found if name.startswith("add"))


def test_the_shipped_rule_together_as_alone():
    table = shipped()
    check(table, [*drawn(table, 200), ("9" * 300, "1"), ("7" * 2000, "5"), *drawn(table, 50, 1)])


@pytest.mark.parametrize("seed", range(4))
def test_rules_that_never_rest_end_at_their_own_limit(seed: int):
    table = random_table(5, seed)
    limits = {answer.steps for answer in check(table, drawn(table, 60, seed)) if answer.capped}
    assert len(limits) != 1


@pytest.mark.parametrize("actions", [(2, 2, *[0] * 8, 1, 1, 2), (2, *[0] * 4, *[1] * 6, 0, 2)])
def test_placements_of_any_kind(actions: tuple[int, ...]):
    """Also of digits that open rows or are skipped, so that rows are longer or more than the grid's."""
    table = random_table(4, 0, actions)
    sums = drawn(table, 40)
    said = "".join(f"{answer}\n" for answer in check(table, sums))
    assert answer_lines(table, ["+".join(terms).encode() for terms in sums]) == said.encode()


def test_grids_of_all_sizes_take_little_more_than_their_own_memory():
    """Wide ones, tall ones and many small ones, of which none is as large as the widest and tallest would be."""
    table = column_addition()
    sums = [("12" * 30_000, "1"), *[("7", "5")] * 500, ("1",) * 500, *[("1" * 300, "5")] * 100, ("12" * 20_000,) * 3]
    assert 4 * sum(map(math.prod, map(size_of, sums))) > LARGE, "not too few to lie together"
    tracemalloc.start()
    check(table, sums)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 60 * LARGE


def test_lines_of_a_file():
    table = column_addition()
    assert answer_lines(table, [b"1+2", b"0+9999", b"7", b"99+1"]) == b"3\n9999\n7\n100\n"
    for line in (b"", b"1 + 2", b"1+2=", b"a+1", b"1+", b"+1", b"1\r", b"9" * LARGE, b"9" * 498 + b"+1" * 2000):
        assert answer_lines(table, [b"1+2", line]) is None
    assert answer_lines(construct(find("subtract")), [b"3-1"]) is None, "what may not be asked is told line by line"


# The theorem is about plain steps. Here the short cuts that sums really take are compared with Python's integers.

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
