"""`gridsum evaluate`, `table` and `models`."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import gridsum.automaton.files
import gridsum.model.store
from gridsum.config.exact import ExactConfig, RuleConfig
from gridsum.config.variants import MEANINGS
from gridsum.evaluation.evaluate import PaperSubject, evaluate
from gridsum.evaluation.records import append, read
from gridsum.evaluation.suites import find
from gridsum.evaluation.tables import accuracy_text
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


def test_a_solver_of_ones_own(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own_solver_for_a_test.py").write_text(
        "def add(text):\n    return str(sum(map(int, text.rstrip('=').split('+'))))\n"
        "def fail(text):\n    raise OverflowError('too long')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names = [f"own_solver_for_a_test:{name}" for name in ("add", "fail")]
    out = tmp_path / "records.jsonl"
    status, printed, err = command("evaluate", "--model", *names, "--suite", "3x4", "--samples", "5", "--out", str(out))
    assert status == 0, err
    kept = [(record.model, record.variant, record.sequences_right) for record in read([out])]
    assert kept == [(names[0], "external", 5), (names[1], "external", 0)]
    assert "1.0" in printed
    assert f"{names[1]} gave no answer to 5 of 5 problems of 3x4; the first: " in err
    assert "OverflowError: too long" in err


def test_a_table_is_printed_or_written_and_a_link_stays_a_link(command: Command, records: Path, tmp_path: Path):
    for form, mark in {"text": "Scores\n", "markdown": "| suite"}.items():
        asked = ["table", "scores", "--records", str(records), "--format", form]
        status, out, err = command(*asked)
        assert (status, err) == (0, "")
        assert mark in out
        file, link = tmp_path / form, tmp_path / f"link to {form}"
        link.symlink_to(file)
        assert command(*asked, "--out", str(link))[0] == 0
        assert link.is_symlink()
        assert file.read_text() == out
    status, out, err = command("table", "comparison", "--records", str(records))
    assert (status, out) == (2, "")
    assert "evaluate them first" in err


@pytest.fixture
def shipped(model: str, records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that ships four models, three of them without scores; the rule of `exact` is made by hand."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    for name in ("base", "SASA", "other"):
        shutil.copy(Path(model) / "weights.safetensors", folder / f"{name}.safetensors")
    shutil.copy(records, folder / "base.jsonl")
    config = ExactConfig(rule=RuleConfig(bits=3, width=8, hidden=8, groups=2))
    save_run(folder / "exact.safetensors", RuleNetwork(config.rule, [6]), 0, config, 6)
    (folder / "exact.rule.json").write_text(column_addition().to_json())
    monkeypatch.setattr(gridsum.model.store, "SHIPPED", folder)
    monkeypatch.setattr(gridsum.automaton.files, "_SHIPPED", folder)
    return folder


def test_the_shipped_models_are_listed(command: Command, shipped: Path):
    status, out, err = command("models", "base", "exact", "other")
    assert (status, err) == (0, "")
    first, second, third = re.split(r"\n(?:exact|other): ", out)
    assert re.match(r"base: variant base, seed 0, [\d,]+ parameters, trained for 1 epochs\n", first)
    assert MEANINGS["base"] in first
    assert f"use it for {MODELS['base']}" in first
    assert any(line.split()[:1] == ["2x3"] for line in first.splitlines())
    assert ["where no model is named" in listed for listed in (first, second, third)] == [False, True, False]
    assert second.startswith("variant exact, seed 6, ")
    assert "no scores are kept of it" in third
    exact, base, *others = json.loads(command("models", "--json")[1])
    assert (exact["name"], exact["configuration"]["rule"]["bits"]) == ("exact", 3)
    assert (base["file"], [entry["name"] for entry in others]) == (str(shipped / "base.safetensors"), ["SASA", "other"])
    assert base["parameters"] == sum(tensor.numel() for tensor in load("base").network.parameters())
    assert [entry["suite"] for entry in base["records"]] == ["2x3", "2x3", "examples", "examples"]
    assert others[0]["records"] == []
    status, out, err = command("models", "sassa")
    assert (status, out) == (2, "")
    assert "did you mean 'SASA'? The shipped models are exact, base, SASA, other" in err


def test_the_overview_has_the_scores_of_the_records(command: Command):
    out = command("models")[1]
    header = next(line for line in out.splitlines() if line.startswith("model "))
    rows = {line.split()[0]: line for line in out.splitlines() if line[:1].isalpha()}
    for name in ("base", "noGroups", "SASA"):
        for record in read([gridsum.model.store.shipped_records(name)]):
            if record.suite in header.split():
                start = header.index(record.suite)
                assert rows[name][start:].split()[0] == accuracy_text(record.seq)


def test_records_are_those_of_a_shipped_model_by_its_name(command: Command):
    status, out, err = command("table", "scores", "--records", "base", "noGroups")
    assert (status, err) == (0, "")
    assert all(f" {name} " in out for name in ("base", "noGroups"))
    by_default = command("table", "comparison")[1]
    assert all(f" {name} " in by_default for name in MODELS)
    ablation = command("table", "ablation")[1]
    counts = [line.split().index("10") for line in ablation.splitlines() if "±" in line and "Mean" not in line]
    assert len(counts) == 5 * 3, "ten seeds of each variant on each suite"


def test_a_rule_is_measured_as_networks_are(command: Command, shipped: Path, tmp_path: Path):
    out = tmp_path / "records.jsonl"
    arguments = ["evaluate", "--suite", "2x30", "examples", "--samples", "20", "--seed", "3"]
    assert command(*arguments, "--out", str(out))[0] == 0
    first, second = read([out])
    assert (first.model, first.variant, first.seed, first.halting, first.placement) == (
        "exact", "exact", 6, "fixed-point", "hard"
    )  # fmt: skip
    assert (first.samples, first.sequences_right, first.capped, first.evaluation_seed) == (20, 20, 0, 3)
    assert first.chars_right == first.chars_valid >= 20 * 30
    assert second.answers is not None
    assert second.sequences_right == second.samples == len(second.answers)
    # A rule that reads every digit one too small is wrong, and its records say so.
    table = json.loads(column_addition().to_json())
    steps, reading = column_addition().steps, tuple(max(1, symbol - 1) if symbol else 0 for symbol in table["outputs"])
    wrong = type(column_addition())(table["bits"], tuple(table["states"]), steps, reading, tuple(table["actions"]))
    (shipped / "exact.rule.json").write_text(wrong.to_json())
    assert command(*arguments, "--out", str(out))[0] == 0
    assert read([out])[2].sequences_right == 0


def test_nothing_is_shipped(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gridsum.model.store, "SHIPPED", tmp_path)
    assert command("models")[:2] == (
        0, "no models come with this gridsum; train one: gridsum train --variant base --out runs/base\n"
    )  # fmt: skip
    assert json.loads(command("models", "--json")[1]) == []
    status, _, err = command("table", "scores")
    assert status == 2
    assert "--records" in err
