"""`gridsum evaluate`, `table` and `models`."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

import gridsum.automaton.files
import gridsum.model.store
from gridsum.config.exact import ExactConfig, RuleConfig
from gridsum.evaluation.evaluate import PaperSubject, evaluate
from gridsum.evaluation.records import append, read
from gridsum.evaluation.suites import find
from gridsum.io.names import MODELS
from gridsum.io.version import source_commit
from gridsum.model.rule import RuleNetwork
from gridsum.model.store import load, save_run
from tests.oracles.column_addition import column_addition

Command = Callable[..., tuple[int, str, str]]


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


def test_a_table_is_printed_of_whole_records(command: Command, records: Path, tmp_path: Path):
    for form, mark in {"text": "Scores\n", "markdown": "| suite"}.items():
        status, out, err = command("table", "scores", "--records", str(records), "--format", form)
        assert (status, err) == (0, "")
        assert mark in out
    status, out, err = command("table", "comparison", "--records", str(records))
    assert (status, out) == (2, "")
    assert "evaluate them first" in err
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(records.read_bytes() + records.read_bytes()[:-9])
    assert "torn.jsonl ends within a record, which is left out" in command("table", "scores", "--records", str(torn))[2]


def test_records_are_those_of_a_shipped_model_by_its_name(command: Command):
    status, out, err = command("table", "scores", "--records", "base", "noGroups")
    assert (status, err) == (0, "")
    assert all(f" {name} " in out for name in ("base", "noGroups"))
    by_default = command("table", "comparison")[1]
    assert all(f" {name} " in by_default for name in MODELS)
    ablation = command("table", "ablation")[1]
    counts = [line.split().index("10") for line in ablation.splitlines() if "±" in line and "Mean" not in line]
    assert len(counts) == 5 * 3, "ten seeds of each variant on each suite"


def test_a_rule_is_measured_as_networks_are(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One that adds, and one that reads every digit one too small, whose records say so."""
    config = ExactConfig(rule=RuleConfig(bits=3, width=8, hidden=8, groups=2))
    save_run(tmp_path / "exact.safetensors", RuleNetwork(config.rule, [6]), 0, config, 6)
    monkeypatch.setattr(gridsum.model.store, "SHIPPED", tmp_path)
    monkeypatch.setattr(gridsum.automaton.files, "SHIPPED", tmp_path)
    adds, out = column_addition(), tmp_path / "records.jsonl"
    reading = tuple(max(1, symbol - 1) if symbol else 0 for symbol in adds.outputs)
    for table in (adds, dataclasses.replace(adds, outputs=reading)):
        (tmp_path / "exact.rule.json").write_text(table.to_json())
        arguments = ["evaluate", "--suite", "2x30", "examples", "--samples", "20", "--seed", "3"]
        assert command(*arguments, "--out", str(out))[0] == 0
    first, second, wrong, _ = read([out])
    assert (first.model, first.variant, first.seed, first.halting, first.placement) == (
        "exact", "exact", 6, "fixed-point", "hard"
    )  # fmt: skip
    assert (first.samples, first.sequences_right, first.capped, first.evaluation_seed) == (20, 20, 0, 3)
    assert first.chars_right == first.chars_valid >= 20 * 30
    assert second.answers is not None
    assert second.sequences_right == second.samples == len(second.answers)
    assert wrong.sequences_right == 0
