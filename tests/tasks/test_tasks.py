"""Tasks: what is parsed is what was written, and samplers make what Python's own integers say."""

import dataclasses
import importlib.metadata
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gridsum
from gridsum.api.rules import RuleModel
from gridsum.automaton.construct import construct
from gridsum.automaton.files import shipped_rule, shipped_rules
from gridsum.automaton.meaning import meaning_of
from gridsum.automaton.proof import prove
from gridsum.automaton.rule import LearnedRule
from gridsum.automaton.solve import solve, solve_many
from gridsum.automaton.table import RuleTable
from gridsum.cli import main
from gridsum.config.exact import RuleConfig
from gridsum.config.fields import override
from gridsum.config.paper import ConfigError, TaskConfig
from gridsum.config.registry import find as find_entry
from gridsum.config.variants import variant
from gridsum.data.answers import SolveOptions
from gridsum.data.problems import Space, sample
from gridsum.data.streams import Stream
from gridsum.evaluation.families import FAMILIES
from gridsum.model.rule import RuleNetwork
from gridsum.tasks import (
    Addition,
    Alphabet,
    ExpressionError,
    Subtraction,
    Task,
    TaskError,
    find,
    known_as,
)
from gridsum.tasks.alphabet import LETTERS
from tests.oracles.column_addition import by_columns
from tests.oracles.sizes import TINY, TINY_EXACT

bases = st.integers(2, 36)


@st.composite
def sums(draw: st.DrawFn) -> tuple[Addition, tuple[str, ...]]:
    task = Addition(draw(bases))
    terms = st.text(task.alphabet.digits, min_size=1, max_size=30)
    return task, tuple(draw(st.lists(terms, min_size=1, max_size=6)))


@given(sums())
def test_what_is_rendered_is_parsed_again(problem: tuple[Addition, tuple[str, ...]]):
    task, terms = problem
    assert task.parse(task.render(terms)) == terms
    assert task.decode(task.encode(terms)) == task.render(terms)


@given(sums())
def test_sums_are_those_of_python(problem: tuple[Addition, tuple[str, ...]]):
    task, terms = problem
    base = task.alphabet.base
    total = sum(int(term, base) for term in terms)
    answer = task.answer(terms)
    assert int(answer, base) == total
    assert answer == task.alphabet.write(total)
    assert len(answer) <= task.columns(len(terms), max(map(len, terms)))


@given(bases, st.integers(1, 60), st.integers(1, 12))
def test_no_more_columns_than_the_largest_sum(base: int, terms: int, digits: int):
    largest = terms * (base**digits - 1)
    assert Addition(base).columns(terms, digits) == len(Alphabet(base, "+").write(largest))


def by_python(task: Task, terms: tuple[str, ...]) -> str:
    """The answer by Python's integers, from left to right; an error where it is below 0 on the way."""
    base, (first, *others) = task.alphabet.base, terms
    value = int(first, base)
    for term in others:
        sign, digits = (task.alphabet.signs, term) if len(task.alphabet.signs) == 1 else (term[0], term[1:])
        other = int(digits, base)
        value = {"+": value + other, "-": value - other, "*": value * other, "^": max(value, other)}[sign]
        assert value >= 0
    return task.alphabet.write(value)


NAMES = ["add", "add:base=2", "add:base=36", "subtract", "subtract:base=2", "subtract:base=7", "mixed", "mixed:base=2",
         "times", "times:base=2", "times:base=4", "max", "max:base=3"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("few", [0.0, 1.0])
def test_what_is_drawn_has_the_exact_answer(name: str, few: float):
    task = find(name)
    space = Space((1, 4), (1, 6))
    batch = sample(space, 60, Stream.of_seeds([0, 5]), few, task)
    seen = set()
    for run in range(2):
        for problem in range(60):
            terms = task.parse(batch.expression(run, problem))  # a problem that is refused would be an error
            seen.add(len(terms))
            told = task.decode(batch.targets[run, problem].tolist())
            assert told == task.answer(terms) == by_python(task, terms)
            assert len(task.answer(terms)) <= task.columns(len(terms), task.longest(terms))
    assert seen == set(range(1, space.terms[1] + 1))


def test_few_products_are_the_number_again():
    """Else copying it would answer many problems."""
    task = find("times:base=3")
    batch = sample(Space((2, 2), (3, 3)), 500, Stream.of_seeds([0]), 0.0, task)
    assert sum(batch.expression(0, number)[-2] == "1" for number in range(500)) < 150


def test_digits_of_every_value_are_drawn():
    batch = sample(Space((2, 2), (9, 9)), 40, Stream.of_seeds([1]), task=find("add:base=36"))
    assert set("".join(batch.expression(0, problem) for problem in range(40))) == {*LETTERS, "+", "="}


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in map("carry-{}".format, range(2, 11))])
def test_families_in_another_base(family: str):
    task = find("add:base=3")
    batch = sample(Space((2, 2), (1, 5)), 12, Stream.of_seeds([0]), task=task, change=FAMILIES[family])
    for problem in range(12):
        told = task.decode(batch.targets[0, problem].tolist())
        assert told == task.answer(task.parse(batch.expression(0, problem)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ad", "did you mean 'add'"),
        ("add:base=1", "between 2 and 36"),
        ("add:base=37", "between 2 and 36"),
        ("add:bass=2", "takes no 'bass'; did you mean 'base'"),
        ("add:2", "is not a parameter"),
    ],
)
def test_tasks_that_do_not_exist(name: str, message: str):
    with pytest.raises(TaskError, match=message):
        find(name)


def test_names_are_the_same_for_the_same_task():
    assert find("add:base=10").name == find().name == "add"
    assert find("subtract:base=10").name == "subtract"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("add", "5-3", "task subtract"),
        ("add:base=2", "12+1", "'2' is not a digit in base 2; write numbers with the digits 0-1"),
        ("add:base=16", "ff+g", r"holds only the digits 0-9 a-f, '\+' and one '='"),
        ("prefix", "1+1", "takes at most 1 terms, and these are 2"),
        ("subtract", "5-3-3-0", "5-3-3 is less than 0"),
        ("mixed", "2+3-6+8", r"2\+3-6 is less than 0"),
        ("mixed", "2-+6", r"empty between '-' and '\+'"),
        ("times", "5*12", "12 has more than one digit"),
        *(
            ("add", text, "such as 1000 or 1,000")
            for text in ("1,00+2", "1,0000", "10,00,000+1", ",100+1", "1000,000+1")
        ),
    ],
)
def test_mistakes_are_told_in_the_tasks_own_terms(name: str, text: str, said: str):
    with pytest.raises(ExpressionError, match=said):
        find(name).parse(text)


OWN = """
from gridsum.tasks import RowRule, Task

class Nim(Task):
    kind, signs, asks = "nim", "+", "sums without carries"
    def columns(self, terms, digits):
        return digits
    def result(self, digits, columns):
        return [digits.sum(-2)[..., column] % self.alphabet.base for column in range(columns)]
    @property
    def row(self):
        return RowRule(lambda own, below, carry: (((own or 0) + (below or 0)) % self.alphabet.base, 0))
"""


@pytest.fixture
def nim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A task in one file outside the package, found by an entry point."""
    (tmp_path / "task_of_ones_own.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint("nim", "task_of_ones_own:Nim", "gridsum.tasks")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [point] if group == "gridsum.tasks" else [])
    find.cache_clear()
    yield "nim:base=4"
    find.cache_clear()
    sys.modules.pop("task_of_ones_own", None)


def test_a_task_of_ones_own_is_drawn_and_its_rule_by_hand_is_proved_and_right(nim: str):
    table = construct(find(nim))
    assert prove(table).proved
    batch = sample(Space((1, 4), (1, 5)), 20, Stream.of_seeds([0]), task=table.task)
    for problem in range(20):
        terms = table.task.parse(batch.expression(0, problem))
        columns = zip(*(map(int, term.zfill(5)) for term in terms), strict=True)
        right = "".join(str(sum(column) % 4) for column in columns).lstrip("0") or "0"
        assert solve(table, terms).answer == table.task.decode(batch.targets[0, problem].tolist()) == right


def test_a_task_of_ones_own_is_trained_and_solved(nim: str, tmp_path: Path):
    (model,) = gridsum.train("base", 0, tmp_path, TINY, task=nim, device="cpu", quiet=True)
    assert model.task.name == nim
    assert model.network.embedding.weight.shape[1] == 4 + 3
    answer = model.solve("123+311")
    assert answer.expected == "30"
    assert set(answer.answer) <= set("0123+=")
    assert gridsum.evaluate(model, "2x3", samples=4, device="cpu")[0].samples == 4
    with pytest.raises(ExpressionError, match="'7' is not a digit in base 4"):
        model.solve("7+1")


class Pairs(Addition):
    most_terms, kind = 2, "pairs"


def test_training_has_no_more_terms_than_a_task_takes():
    name = known_as(Pairs())
    config = variant("base", task=name)
    assert (config.task.terms, config.task.bucket_bounds) == ((1, 2), (1,))
    phases = find_entry("exact").configure(task=name).phases
    assert {phases.soft.terms, phases.long.terms} == {(1, 2)}
    with pytest.raises(ConfigError, match="takes at most 2 terms"):
        TaskConfig(name=name)
    with pytest.raises(ValueError, match="unknown task"):
        override(variant("base"), {"task.name": "multiply"})


def test_a_rule_in_another_base_is_a_table_of_that_base():
    network = RuleNetwork(RuleConfig(bits=3, width=8, hidden=8, placement_hidden=8, groups=2), [0], find("add:base=3"))
    with torch.no_grad():  # placed as it should be; the rest is as it was drawn
        last = network.placement.encoder.layers[-1]
        last.weight.zero_()
        network.decided.fill_(True)
    table = LearnedRule(network).table()
    assert table.steps.shape[0] == 3 + 2
    again = RuleTable.from_json(table.to_json())
    assert again.task.name == "add:base=3"
    assert again.steps.tolist() == table.steps.tolist()
    assert solve(again, ("12", "1")).expected == "20"
    assert max(below or 0 for _, below, _ in meaning_of(again).cases) == 2


BY_HAND = {"add": 21, "add:base=16": 33, "subtract": 22, "subtract:base=2": 6, "times:base=2": 5, "times:base=3": 13,
           "times:base=4": 29, "max:base=4": 14, "max:base=2": 8, "mixed:base=2": 13, "mixed:base=3": 17}  # fmt: skip
"""Tasks, and how many states a rule by hand has."""


@pytest.mark.parametrize(("name", "states"), BY_HAND.items())
def test_what_columns_do_makes_a_rule_that_is_proved_and_right(name: str, states: int):
    """A rule by hand, from the row rule alone; and a changed row rule is refused where it is wrong."""
    task = find(name)
    table = construct(task)
    assert len(table.states) == states
    proof = prove(table)
    assert proof.proved, proof.failures[:3]
    assert not meaning_of(table).wrong
    fuzz(table, 600)
    digit = int(table.steps[1, 0, table.outside, 0])
    assert not prove(dataclasses.replace(table, steps=np.where(table.steps == digit, 0, table.steps))).proved


def test_the_command_line_knows_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "rule.json").write_text(by_columns(Addition(2)).to_json())
    assert main(["rule", "--model", str(tmp_path / "rule.json")]) == 0
    assert "This is column addition in all 12 cases" in capsys.readouterr().out
    (tmp_path / "less.json").write_text(construct(Subtraction(2)).to_json())
    assert main(["prove", "--model", str(tmp_path / "less.json")]) == 0
    assert main(["prove", "--certify", "--model", str(tmp_path / "less.json")]) == 2
    assert "Coq's theorems are not about the task subtract:base=2" in capsys.readouterr().err
    (tmp_path / "more.json").write_text(dataclasses.replace(construct(Addition(2)), task=find("prefix")).to_json())
    assert main(["prove", "--model", str(tmp_path / "more.json")]) == 2
    assert "its task, prefix, has no row rule" in capsys.readouterr().err
    assert main(["train", "--task", "ad", "--out", str(tmp_path / "run")]) == 2
    assert "did you mean 'add'" in capsys.readouterr().err


def test_exact_is_trained_for_a_task(tmp_path: Path):
    consolidated = {"consolidation.rounds": 1, "consolidation.problems": 40, "consolidation.steps": 1}
    settings = TINY_EXACT | consolidated
    training = gridsum.train("exact", 0, tmp_path, settings, task="add:base=2", device="cpu", quiet=True)
    assert training.proved == ()
    model = training[0]
    assert model.task.name == "add:base=2"
    assert model.network.embedding.weight.shape[1] == 5
    assert model.solve("101+11", network=True).expected == "1000"


def test_a_rule_in_another_base_is_served_in_that_base():
    model = RuleModel("binary", None, by_columns(Addition(2)))
    terms = model.task.parse("1111+1111+1111+1111+1")
    assert model.size(terms) == (6, 8)
    trace = model.traced(terms, SolveOptions())
    assert trace.answer == "111101"
    assert trace.text[-1][0].strip("·") == "111101"


@pytest.mark.parametrize(
    "text",
    [
        "1,000+2+12,345,678",
        "1,000\n2\n12,345,678",
        "  1,000\n+     2\n+ 12345678\n-----------\n",
        "1000 +\n2 + 12345678 =",
    ],
)
def test_numbers_are_read_as_people_write_them(text: str):
    assert find("add").parse(text) == ("1000", "2", "12345678")
    assert find("add:base=16").parse("FF+1") == ("ff", "1")


def fuzz(table: RuleTable, count: int) -> None:
    """A rule against Python's integers."""
    for part, space in enumerate((Space((1, 4), (1, 8)), Space((2, 2), (1, 40)), Space((1, 9), (1, 4)))):
        batch = sample(space, count // 3, Stream.of_seeds([part]), 0.5, table.task)
        expressions = [table.task.parse(text) for text in batch.expressions()]
        for terms, found in zip(expressions, solve_many(table, expressions), strict=True):
            assert found.answer == by_python(table.task, terms)


@pytest.mark.parametrize("name", shipped_rules())
def test_shipped_rules_are_small_proved_and_right(name: str):
    table = shipped_rule(name)
    assert table is not None
    assert len(table.to_json()) <= (3_000 if table.task.alphabet.base < 16 else 7_000)
    assert prove(table).proved
    fuzz(table, 600)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*shipped_rules(), *BY_HAND])
def test_rules_in_many_problems(name: str):
    fuzz(shipped_rule(name) or construct(find(name)), 102_000)


def test_a_task_is_solved_by_the_rule_that_ships_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["solve", "--task", "add:base=12", "bb+1"]) == 0
    assert capsys.readouterr().out == "100\n"
    assert main(["prove", "--model", "add-base2"]) == 0
    assert "the result (add:base=2, base 2)" in capsys.readouterr().out
    assert main(["export", "add-base2", "--to", "json", "--out", str(tmp_path / "rule.json")]) == 0
    assert main(["prove", "--model", str(tmp_path / "rule.json")]) == 0
    assert main(["solve", "--task", "subtract", "900-1-23"]) == 0
    assert capsys.readouterr().out.endswith("\n876\n")
    assert main(["evaluate", "--model", "add-base8", "subtract", "--suite", "2x5", "--samples", "8"]) == 0
    assert capsys.readouterr().out.count("1.0 (0.675–1.000)") == 2
    assert main(["solve", "--task", "max", "5^3"]) == 0
    assert capsys.readouterr().out == "5\n"
    assert main(["solve", "--task", "times:base=3", "1202*2*2"]) == 0
    assert capsys.readouterr().out == "20222\n"
    assert main(["solve", "--task", "mixed", "5-3"]) == 2
    assert "no rule for the task mixed comes with gridsum" in capsys.readouterr().err
    assert main(["rule", "--task", "subtract:base=2"]) == 0
    assert "This is what a column of subtract:base=2 does in all 9 cases" in capsys.readouterr().out
