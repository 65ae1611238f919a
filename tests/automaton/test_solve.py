"""Many short sums at once: the answers, the steps and the limits are those of working them out one by one."""

import random
import tracemalloc

import pytest

from gridsum.automaton.construct import construct
from gridsum.automaton.files import shipped_rule
from gridsum.automaton.run import size_of
from gridsum.automaton.solve import _SMALL, TOGETHER, answer_lines, solve, solve_many
from gridsum.automaton.table import RuleTable
from gridsum.data.answers import Answer
from gridsum.tasks import find
from tests.oracles.column_addition import column_addition, random_table

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
    table = shipped_rule("exact")
    assert table is not None
    check(table, [*drawn(table, 200), ("9" * 300, "1"), ("7" * 2000, "5"), *drawn(table, 50, 1)])


@pytest.mark.parametrize("seed", range(4))
def test_rules_that_never_rest_end_at_their_own_limit(seed: int):
    table = random_table(5, seed)
    limits = {answer.steps for answer in check(table, drawn(table, 60, seed)) if answer.capped}
    assert len(limits) != 1


def test_other_placements_are_worked_out_one_by_one():
    table = random_table(4, 0, (2, 2, *[0] * 9, 1, 2))
    check(table, drawn(table, 20))
    assert answer_lines(table, [b"1+2"]) is None


def test_more_than_are_worked_out_at_once():
    table, numbers = column_addition(), range(TOGETHER + 5)
    found = solve_many(table, [(str(number), str(7 * number)) for number in numbers])
    assert [answer.answer for answer in found] == [str(8 * number) for number in numbers]
    assert list(solve_many(table, [])) == []


def test_a_grid_of_many_cells_is_worked_out_by_itself(monkeypatch: pytest.MonkeyPatch):
    """Also where its line is short: all cells at every step would be several times the work, and as much memory."""
    table, alone = column_addition(), list[int]()

    def watched(table: RuleTable, terms: Terms):
        alone.append(len(terms))
        return solve(table, terms)

    monkeypatch.setattr("gridsum.automaton.solve.solve", watched)
    terms = ("9" * 498, *["1"] * 250)
    found = list(solve_many(table, [("1", "2"), terms, ("3", "4")]))
    assert [answer.answer for answer in found] == ["3", str(10**498 + 249), "7"]
    assert alone == [251]


def test_memory_has_a_limit_however_many_sums_there_are(monkeypatch: pytest.MonkeyPatch):
    """As many as are worked on at once, of the largest grids that are: a tenth of them takes a tenth of the memory."""
    table, terms = column_addition(), ("9" * 30,) * 29
    height, width = size_of(terms)
    assert 0.9 * _SMALL < height * width <= _SMALL
    monkeypatch.setattr("gridsum.automaton.solve.TOGETHER", TOGETHER // 10)
    tracemalloc.start()
    found = [answer.answer for answer in solve_many(table, [terms] * (3 * TOGETHER // 10))]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(found) == {str(29 * (10**30 - 1))}
    assert 10 * most < 300e6


def test_lines_of_a_file():
    table = column_addition()
    assert answer_lines(table, [b"1+2", b"0+9999", b"7", b"99+1"]) == b"3\n9999\n7\n100\n"
    for line in (b"", b"1 + 2", b"1+2=", b"a+1", b"1+", b"+1", b"1\r", b"12" * 1000, b"9" * 498 + b"+1" * 250):
        assert answer_lines(table, [b"1+2", line]) is None
    assert answer_lines(construct(find("subtract")), [b"3-1"]) is None, "what may not be asked is told line by line"
