"""The theorem in Coq: what it rests on, that it speaks of gridsum's grids, and its checks beside those of `prove`."""

import itertools
import json
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from gridsum.automaton import certify
from gridsum.automaton.files import shipped_rules
from gridsum.automaton.proof import Cell, Certificate, Shape, prove
from gridsum.automaton.run import Run, frames
from gridsum.automaton.table import RuleTable
from gridsum.tasks import find
from tests.oracles.altered import some_tables
from tests.oracles.column_addition import by_columns, shipped

ROOT = Path(__file__).parents[2]
needs_coq = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="Coq is not installed (apt-get install coq); its theorem is not checked here"
)


@pytest.fixture(scope="module")
def theorem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the theorem, as Coq accepted it."""
    folder = tmp_path_factory.mktemp("proof")
    certify.compile_theorem(folder)
    return folder


def test_every_file_is_checked_and_leaves_nothing_unproved():
    assert {path.stem for path in (ROOT / "proof").glob("*.v")} == set(certify.THEOREM)
    assert re.findall(r"(\w+)\.v", (ROOT / "proof" / "_CoqProject").read_text()) == list(certify.THEOREM)
    for path in (ROOT / "proof").glob("*.v"):
        words = set(re.findall(r"\w+", path.read_text()))
        assert not words & {"Admitted", "admit", "Axiom", "Axioms", "Parameter", "Parameters", "Conjecture"}, path


ADDING = [
    pytest.param(
        table, marks=[pytest.mark.slow] if table.task.alphabet.base >= 10 else []
    )  # `make certify` has base 10
    for table in shipped_rules().values()
    if table.task.kind == "add"
]


@needs_coq
@pytest.mark.parametrize("table", ADDING, ids=lambda table: table.task.name)
def test_a_rule_that_adds_is_certified_without_axioms(table: RuleTable, theorem: Path):
    found = certify.compile_file(theorem, "Certificate", certify.as_coq(table, prove(table).certificate))
    assert found.holds, found.said
    assert found.said == certify.NO_AXIOMS


@needs_coq
def test_a_wrong_certificate_is_refused(theorem: Path):
    table = by_columns(find("add:base=3"))
    certificate = prove(table).certificate
    assert certify.compile_file(theorem, "Right", certify.as_coq(table, certificate)).holds
    known = certificate.meaning_of[Cell(low=False, holds=Shape.DIGIT)]
    code = next(code for code, meaning in known.items() if meaning == (1, 0))
    known[code] = (2, 0)
    assert not certify.compile_file(theorem, "Wrong", certify.as_coq(table, certificate)).holds
    del known[code]
    assert not certify.compile_file(theorem, "Wrong", certify.as_coq(table, certificate)).holds


def test_the_table_is_written_as_it_is():
    """Read back, by plain text."""
    table, lists = shipped(), certify.Lists()
    rule = certify.table_text(table, lists)
    read: dict = {"None": None, "Write": 0, "Open": 1, "Skip": 2}
    for name, items in re.findall(r"Definition (\w+) : .* := (.*)\.", lists.text()):
        read[name] = eval(items.replace("Some ", "").replace(";", ","), read)
    word, base, outside, steps, readings, actions = rule.split()
    assert (word, base, outside) == ("table_of", "10", str(len(table.states)))
    assert (np.array(read[steps]).transpose(0, 3, 1, 2) == table.steps).all()
    assert tuple(0 if digit is None else 1 + digit for digit in read[readings]) == table.outputs
    assert tuple(read[actions]) == table.actions


# The theorem speaks of the grids that gridsum makes


def told(theorem: Path, text: str) -> list:
    """What Coq computes, one list for each `Eval`."""
    done = certify.compile_file(theorem, "Told", text)
    assert done.holds, done.said
    values = re.findall(r"= (.*?)\s+: ", done.said, re.DOTALL)
    return [json.loads(value.replace(";", ",")) for value in values]


def of_codes(grid: np.ndarray) -> str:
    """A state as Coq has it: rows from the lowest, columns from the last."""
    rows = ["[" + "; ".join(map(str, row[::-1])) + "]" for row in grid[::-1].tolist()]
    return f"(fun i j => nth j (nth i [{'; '.join(rows)}] []) 0)"


@needs_coq
def test_grids_steps_and_reading_are_those_of_gridsum(theorem: Path):
    table = shipped()
    text, wanted = [certify.as_coq(table, prove(table).certificate).split("Lemma")[0]], []
    for terms in (("0",), ("99", "1"), ("007", "46", "950"), ("5", "5", "0", "12")):
        run = Run.of(table, terms)
        height, width = run.symbols.shape
        digits = "; ".join("[" + "; ".join(term) + "]" for term in terms)
        cells = f"symbols the_rule {height} {width} (render [{digits}])"
        grid = f"map (fun i => map (%s i) (rev (seq 0 {width}))) (rev (seq 0 {height}))"
        numbers = f"(fun i j => symbol_number 10 ({cells} i j))"
        text.append(f"Eval vm_compute in {grid % numbers}.")
        wanted.append(run.symbols.tolist())
        found = [state.copy() for state in frames(table, terms)]
        for before, after in itertools.pairwise([*found, found[-1]]):
            step = f"(step the_rule {width} ({cells}) {of_codes(before)})"
            text.append(f"Eval vm_compute in {grid % step}.")
            wanted.append(after.tolist())
        text.append(
            f"Eval vm_compute in flat_map (fun d => match d with Some d => [d] | None => [] end) "
            f"(reading the_rule {width} {of_codes(found[-1])} {height - 1})."
        )
        text.append(f"Eval vm_compute in numeral 10 (sum 10 [{digits}]).")
        wanted += [[int(digit) for digit in str(sum(map(int, terms)))]] * 2
    text[0] = text[0].replace("Addition Data", "Addition Numbers Data")
    assert told(theorem, "\n".join(text)) == wanted


# Coq's checks and those of `prove`


def verdicts(theorem: Path, rules: Sequence[tuple[RuleTable, Certificate]]) -> list[bool]:
    """Of Coq, in one run."""
    lists, checks = certify.Lists(), []
    for table, certificate in rules:
        rule, given = certify.table_text(table, lists), certify.certificate_text(table, certificate, lists)
        checks.append(f"check (adding {table.task.alphabet.base}) ({rule}) ({given})")
    (found,) = told(theorem, f"{certify.HEAD}\n{lists.text()}\nEval vm_compute in [{'; '.join(checks)}].")
    return found


@needs_coq
@pytest.mark.parametrize("count", [120, pytest.param(600, marks=pytest.mark.slow)])
def test_prove_says_what_coq_says(theorem: Path, count: int):
    tables = some_tables(count, np.random.default_rng(0))
    proofs = [prove(table) for table in tables]
    assert [proof.proved for proof in proofs] == verdicts(
        theorem, [(table, proof.certificate) for table, proof in zip(tables, proofs, strict=True)]
    )
    seen = Counter(proof.failures[0].condition if proof.failures else "proved" for proof in proofs)
    assert min(seen[verdict] for verdict in ("digits", "rest", "reading", "proved")) > count / 30, seen
