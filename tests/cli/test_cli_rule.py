"""`gridsum rule` and `gridsum prove`: a rule as text, file and picture; a theorem, or what fails and a sum to try."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gridsum.automaton.certify import NO_AXIOMS, Certified
from gridsum.automaton.construct import construct
from gridsum.automaton.rounding import Certainty
from gridsum.automaton.rule import Agreement
from gridsum.automaton.table import RuleTable
from gridsum.cli.prove import _of_coq, _of_rounding
from gridsum.figures.rule import plot_rule
from gridsum.tasks import find
from tests.cli.conftest import Command
from tests.oracles.column_addition import OUTSIDE, carry_of, changed, code, column_addition, random_table

Write = Callable[[RuleTable], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(table: RuleTable) -> str:
        path = tmp_path / "rule.json"
        path.write_text(table.to_json())
        return str(path)

    return written


def test_a_person_sees_column_addition(write: Write, command: Command):
    status, out, err = command("rule", "--model", write(column_addition()))
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines()[1:])) <= 80
    assert "21 states of 6 bits" in out
    assert "Bit 5 is the carry" in out
    assert "This is column addition" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["blank", "000000"] in lines
    for x, carry in itertools.product(range(10), (0, 1)):
        meaning = ["digit", f"{x},", "carry", "1"] if carry else ["digit", str(x)]
        assert [*meaning, f"{carry}1{x:04b}"] in lines
        assert [str(number) for number in (x, x + carry, *(x + below + carry for below in range(10)))] in lines
    assert ["+", "the", "start", "of", "a", "new", "top", "row"] in lines


@pytest.mark.parametrize("seed", range(3))
def test_a_rule_that_does_not_add_is_not_called_addition(seed: int, write: Write, command: Command):
    status, out, _ = command("rule", "--model", write(random_table(3, seed)))
    assert status == 0
    assert "This is not column addition" in out
    assert "is the carry" not in out
    assert "gridsum prove" not in out


@pytest.mark.parametrize(
    ("task", "problem", "cells"),
    [
        ("subtract:base=4", "320-1-13", ["3", "0", "0", "3", "1", "3", "3", "2", "0"]),
        ("times:base=3", "12*2*2", ["2", "0", "2", "1", "0", "1", "1", "2"]),
        ("max:base=3", "12^21", ["2", "1", "1", "2"]),
    ],
)
def test_a_rule_by_hand_is_drawn(task: str, problem: str, cells: list[str]):
    """Of the picture, the grid at rest: each row's digits, those of the answer first."""
    found = find(task)
    picture = plot_rule(construct(found), found.parse(problem))
    rest = [text for text in picture.axes[0].texts if text.get_fontsize() == 10]
    assert [text.get_text() for text in rest if text.get_text()] == cells


def test_a_picture_is_written_and_what_is_too_large_is_told(command: Command, tmp_path: Path):
    status, _, err = command("rule", "--task", "max:base=2", "--out", str(tmp_path / "max.png"))
    assert (status, err) == (0, f"gridsum: wrote {tmp_path / 'max.png'}\n")
    assert (tmp_path / "max.png").read_bytes().startswith(b"\x89PNG")
    status, _, err = command("rule", "--task", "max:base=2", "1" * 600, "--out", str(tmp_path / "max.png"))
    assert (status, "choose a shorter problem" in " ".join(err.split())) == (2, True)
    status, _, err = command("rule", "--task", "times")
    assert (status, "times takes more than 255 states" in " ".join(err.split())) == (2, True)


def test_what_is_no_rule_as_it_was_written_is_refused(command: Command, tmp_path: Path):
    path = tmp_path / "rule.json"
    for content in (b"", b"\xff\xfe", b"{}"):
        path.write_bytes(content)
        status, out, err = command("prove", "--model", str(path))
        assert (status, out) == (2, "")
        assert f"{path}: " in err
        assert "gridsum export --to json" in err


def test_a_table_that_adds_is_proved(write: Write, command: Command):
    table = write(column_addition())
    status, out, err = command("prove", "--model", table)
    assert (status, err) == (0, "")
    assert "The rule: every condition holds" in out
    assert "Theorem. For any number of terms N of at most D digits" in out
    assert "(21 states of 6 bits) comes to rest" in out
    assert "fail" not in out
    assert re.search(r"in [\d,]+ contexts and [\d,]+ evaluations; 21 of its 21 states", out)


def test_a_table_that_does_not_add_is_not_proved(write: Write, command: Command):
    """It forgets the carry of 7 + 5."""
    rights = tuple(right for right in range(OUTSIDE + 1) if not carry_of(right))
    table = changed(column_addition(), {(7, None, rights, code(5, 0)): code(2, 0)})
    status, out, err = command("prove", "--model", write(table))
    assert (status, err) == (1, "")
    assert "Theorem" not in out
    assert "Not proved. The first conditions that fail:" in out
    assert re.search(r"^  digits: a cell with 7, .* below 6 goes to state 3, not to 2 with carry 1", out, re.MULTILINE)


def test_the_shipped_rule_is_proved_with_its_network(command: Command):
    status, out, err = command("prove")
    assert (status, err) == (0, "")
    assert "The rule: every condition holds" in out
    assert "Theorem." in out
    margins = re.findall(r"The network in float(?:32|64) does the same .* ([0-9.]+) from 0", out)
    assert len(margins) == 2
    assert all(float(margin) > 1 for margin in margins)


def test_a_network_that_does_otherwise_is_not_proved(command: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gridsum.automaton.rule.agreement", lambda *_: Agreement(146_004, 3, 1.57))
    status, out, _ = command("prove")
    assert status == 1
    assert "The network in float32 differs from it in 3 of its 146,004 entries." in out
    assert "Not proved: every condition holds of the rule, but the rest, said above, does not." in out


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (_of_coq(Certified(True, NO_AXIOMS)), "that this rule passes them. The theorem rests on no axiom."),
        (_of_coq(Certified(True, "Axioms: classic")), "The theorem rests on these axioms: Axioms: classic."),
        (_of_coq(Certified(False, "Unable to unify")), "Coq does not accept that the rule passes its checks: Unable"),
        (_of_rounding(Certainty(9, 0, 0.5, 1.25)), "every entry is certain: logits are off by 0.50 at most, and each"),
        (_of_rounding(Certainty(9, 3, 0.5, 1.25)), "3 entries are not certain: logits are off by 0.50 at most."),
    ],
)
def test_what_was_found_is_told(said: str, line: str):
    assert line in said


def test_without_coq_the_way_to_install_it_is_told(write: Write, command: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    status, out, err = command("prove", "--model", write(column_addition()), "--certify")
    assert (status, out) == (1, "")
    assert "apt-get install coq. Without it, gridsum prove makes the same checks in Python" in " ".join(err.split())
