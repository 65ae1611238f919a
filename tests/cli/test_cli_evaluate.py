"""`gridsum evaluate`, `table`, `models` and `solve --trace`."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import gridsum.automaton.files
import gridsum.model.store
from gridsum.cli import evaluate as evaluate_command
from gridsum.config.exact import ExactConfig, RuleConfig
from gridsum.config.variants import MEANINGS
from gridsum.evaluation.evaluate import PaperSubject, evaluate
from gridsum.evaluation.records import append, read
from gridsum.evaluation.solving import solve, trace_expression
from gridsum.evaluation.suites import find
from gridsum.evaluation.tables import accuracy_text
from gridsum.io.names import MODELS
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
    commit = evaluate_command.source_commit()
    expected = evaluate(PaperSubject(load(str(trained)), "median"), find("2x3")[0], 70, 5, commit)
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
    out = tmp_path / "records.jsonl"
    name = "own_solver_for_a_test"
    arguments = ["--suite", "3x4", "--samples", "5", "--out", str(out)]
    status, printed, err = command("evaluate", "--solver", f"{name}:add", *arguments)
    assert status == 0, err
    (record,) = read([out])
    assert (record.model, record.variant, record.sequences_right) == (f"{name}:add", "external", 5)
    assert "1.0" in printed
    status, _, err = command("evaluate", "--solver", f"{name}:fail", *arguments)
    assert status == 0
    assert f"{name}:fail gave no answer to 5 of 5 problems of 3x4; the first: " in err
    assert "OverflowError: too long" in err
    assert [record.sequences_right for record in read([out])] == [5, 0]


def test_the_commit_is_that_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.setattr(evaluate_command.gridsum, "__file__", str(package / "__init__.py"))

    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", *identity, *arguments], cwd=package, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    assert evaluate_command.source_commit() is None, "no repository"
    git("init", "--quiet")
    (package / "other.txt").touch()
    git("add", "other.txt")
    git("commit", "--quiet", "-m", "something else")
    assert evaluate_command.source_commit() is None, "a repository, but not of this code"
    git("add", ".")
    git("commit", "--quiet", "-m", "the code")
    commit = git("rev-parse", "--short", "HEAD")
    assert evaluate_command.source_commit() == commit
    (package / "records.jsonl").touch()
    assert evaluate_command.source_commit() == commit
    (package / "__init__.py").write_text("changed = True\n")
    assert evaluate_command.source_commit() == f"{commit}-dirty"
    monkeypatch.setenv("PATH", "")
    assert evaluate_command.source_commit() is None, "no git"


def test_tables_in_every_form(command: Command, records: Path, tmp_path: Path):
    forms = {"text": "Scores\n", "markdown": "| suite"}
    for form, mark in forms.items():
        status, out, err = command("table", "scores", "--records", str(records), "--format", form)
        assert (status, err) == (0, "")
        assert mark in out
        file = tmp_path / f"table.{form}"
        assert command("table", "scores", "--records", str(records), "--format", form, "--out", str(file))[0] == 0
        assert file.read_text() == out


def test_a_table_without_its_records(command: Command, records: Path):
    status, out, err = command("table", "comparison", "--records", str(records))
    assert (status, out) == (2, "")
    assert "evaluate them first" in err
    assert command("table", "examples", "--records", str(records))[0] == 0


def test_a_link_stays_a_link(command: Command, records: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert command("table", "scores", "--records", str(records), "--out", str(tmp_path / "link"))[0] == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text().startswith("Scores")


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
    status, out, err = command("table", "scores", "--records", "basee")
    assert (status, out) == (2, "")
    assert "there is no file 'basee', and no shipped model of that name has records; did you mean 'base'?" in err
    by_default = command("table", "comparison")[1]
    assert all(f" {name} " in by_default for name in MODELS)


def test_the_table_of_seeds_is_made_of_ten_of_each_variant(command: Command):
    status, out, err = command("table", "ablation")
    assert (status, err) == (0, "")
    counts = [line.split().index("10") for line in out.splitlines() if "±" in line and "Mean" not in line]
    assert len(counts) == 5 * 3


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
    status, _, err = command(*arguments, "--halting", "median")
    assert status == 2
    assert "exact always halts at a fixed point" in err
    # A rule that reads every digit one too small is wrong, and its records say so.
    table = json.loads(column_addition().to_json())
    steps, reading = column_addition().steps, tuple(max(1, symbol - 1) if symbol else 0 for symbol in table["outputs"])
    wrong = type(column_addition())(table["bits"], tuple(table["states"]), steps, reading, tuple(table["actions"]))
    (shipped / "exact.rule.json").write_text(wrong.to_json())
    assert command(*arguments, "--out", str(out))[0] == 0
    assert read([out])[2].sequences_right == 0


def test_nothing_is_shipped(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gridsum.model.store, "SHIPPED", tmp_path)
    status, out, _ = command("models")
    assert status == 0
    assert "no models come with this gridsum" in out
    assert json.loads(command("models", "--json")[1]) == []
    status, _, err = command("table", "scores")
    assert status == 2
    assert "--records" in err


def test_a_trace_is_the_whole_computation(command: Command, model: str):
    status, out, err = command("solve", "--trace", "523+102", "--model", model, "--seed", "5")
    assert (status, err) == (0, "")
    content = json.loads(out)
    loaded, terms = load(model), ("523", "102")
    (answer,) = solve(loaded, [terms], seed=5)
    trace = trace_expression(loaded, terms, answer.steps)
    assert answer.steps > 1
    assert (content["answer"], content["steps"], content["expected"]) == (answer.answer, answer.steps, "625")
    assert content["symbols"] == list("523+102=")
    assert content["action_names"] == ["TLU", "NLP", "NOP"]
    assert content["actions"] == pytest.approx(trace.actions.numpy(), abs=1e-6)
    assert [frame["n"] for frame in content["frames"]] == list(range(answer.steps + 1))
    total = 0.0
    for n, frame in enumerate(content["frames"]):
        assert trace.halting is not None
        assert trace.probability is not None
        total += float(trace.probability[n])
        assert frame["lambda"] == pytest.approx(float(trace.halting[n]))
        assert (frame["p"], frame["cumulated"]) == pytest.approx((float(trace.probability[n]), total))
        confidence, codes = trace.decoded[n].max(-1)
        assert [[content["alphabet"].index(s) for s in row] for row in frame["symbols"]] == codes.tolist()
        assert frame["confidence"] == pytest.approx(confidence.numpy(), abs=1e-6)


def test_a_trace_under_fixed_halting_has_no_probabilities(command: Command, tiny_options: list[str], tmp_path: Path):
    folder = tmp_path / "run"
    options = ["--variant", "fixedTime", "--training.epochs", "1", "--model.fixed_steps", "2", *tiny_options]
    assert command("train", "--out", str(folder), *options)[0] == 0
    model = ["--model", str(folder)]  # one seed: its training folder will do
    content = json.loads(command("solve", "--trace", "1+1", *model)[1])
    assert (content["halting"], content["steps"]) == ("fixed", 2)
    assert [frame["lambda"] for frame in content["frames"]] == [None] * 3
    drawn = command("solve", "1+1", *model, "--show")[1]
    assert re.search(r"^step 2   (reads|no symbol)", drawn, re.MULTILINE)
    assert "λ" not in drawn
