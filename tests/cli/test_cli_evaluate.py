"""`gridsum evaluate`, `table` and `models`."""

from pathlib import Path

import pytest

from gridsum.evaluation.evaluate import PaperSubject, evaluate
from gridsum.evaluation.records import append, read
from gridsum.evaluation.suites import find
from gridsum.io.names import MODELS
from gridsum.io.version import source_commit
from gridsum.model.store import load
from tests.cli.conftest import Command


@pytest.fixture(scope="module")
def records(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("records") / "records.jsonl"
    for suite in (*find("2x3"), *find("examples")):
        append(path, evaluate(PaperSubject(load(str(trained))), suite, samples=4))
    return path


def test_a_training_folder_is_measured_with_all_its_seeds(command: Command, trained: Path, tmp_path: Path):
    out = tmp_path / "deep" / "records.jsonl"
    arguments = ["--model", str(trained), "--suite", "2x3", "[1,2]x[1,2]", "--samples", "70", "--seed", "5"]
    status, printed, err = command("evaluate", *arguments, "--out", str(out), "--halting", "median")
    assert status == 0
    kept = read([out])
    assert [(record.suite, record.seed) for record in kept] == [
        ("2x3", 0), ("2x3", 7), ("[1,2]x[1,2]", 0), ("[1,2]x[1,2]", 7)
    ]  # fmt: skip
    expected = evaluate(PaperSubject(load(str(trained)), "median"), find("2x3")[0], 70, 5, source_commit())
    assert kept[:2] == expected
    assert printed.startswith("Scores\n")
    assert "Halting median" in printed
    assert f"gridsum: added 4 records to {out}" in err
    assert f"{trained} on 2x3: 70 of 70 problems" in err


def test_a_table_is_printed_as_text_and_as_markdown(command: Command, records: Path):
    for form, mark in {"text": "Scores\n", "markdown": "| suite"}.items():
        status, out, err = command("table", "scores", "--records", str(records), "--format", form)
        assert (status, err) == (0, "")
        assert mark in out
    status, out, err = command("table", "comparison", "--records", str(records))
    assert (status, out) == (2, "")
    assert "evaluate them first" in err


def test_records_are_those_of_a_shipped_model_by_its_name(command: Command):
    status, out, err = command("table", "scores", "--records", "base", "noGroups")
    assert (status, err) == (0, "")
    assert all(f" {name} " in out for name in ("base", "noGroups"))
    by_default = command("table", "comparison")[1]
    assert all(f" {name} " in by_default for name in MODELS)
    ablation = command("table", "ablation")[1]
    counts = [line.split().index("10") for line in ablation.splitlines() if "±" in line and "Mean" not in line]
    assert len(counts) == 5 * 3, "ten seeds of each variant on each suite"
