"""`gridsum evaluate`, `table` and `models`."""

from pathlib import Path

from gridsum.evaluation.evaluate import evaluate, paper_subject
from gridsum.evaluation.records import read
from gridsum.evaluation.suites import find
from gridsum.io.names import MODELS
from gridsum.io.version import source_commit
from gridsum.model.store import load
from tests.cli.conftest import Command


def test_a_training_folder_is_measured_with_all_its_seeds(command: Command, trained: Path, tmp_path: Path):
    out = tmp_path / "deep" / "records.jsonl"
    arguments = ["--model", str(trained), "--suite", "2x3", "[1,2]x[1,2]", "--samples", "70", "--seed", "5"]
    status, printed, err = command("evaluate", *arguments, "--out", str(out), "--halting", "median")
    assert status == 0
    kept = read([out])
    assert [(record.suite, record.seed) for record in kept] == [
        ("2x3", 0), ("2x3", 7), ("[1,2]x[1,2]", 0), ("[1,2]x[1,2]", 7)
    ]  # fmt: skip
    expected = evaluate(paper_subject(load(str(trained)), "median"), find("2x3")[0], 70, 5, source_commit())
    assert kept[:2] == expected
    assert printed.startswith("Scores\n")
    assert "Halting median" in printed
    assert f"gridsum: added 4 records to {out}" in err
    assert f"{trained} on 2x3: 70 of 70 problems" in err
    for form, mark in {"text": "Scores\n", "markdown": "| suite"}.items():
        status, printed, err = command("table", "scores", "--records", str(out), "--format", form)
        assert (status, err) == (0, "")
        assert mark in printed
    status, printed, err = command("table", "comparison", "--records", str(out))
    assert (status, printed) == (2, "")
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
