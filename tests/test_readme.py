"""What the README shows is run."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gridsum.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_solving_prints_what_the_readme_prints(capsys):
    shown = "".join(blocks("console"))
    commands = re.split(r"^\$ ", shown, flags=re.MULTILINE)[1:]
    assert len(commands) == 2
    for command in commands:
        line, printed = command.split("\n", 1)
        program, *arguments = shlex.split(line)
        assert program == "gridsum"
        assert main(arguments) == 0
        found = capsys.readouterr().out
        if "--json" in arguments:
            assert json.loads(found) == json.loads(printed)
        else:
            assert found == printed


@pytest.mark.parametrize("example", blocks("python"))
def test_the_python_examples_run(example):
    exec(compile(example, "README.md", "exec"), {})


def test_training_commands_work(tmp_path, monkeypatch, capsys):
    """At toy size: fewer epochs and samples, otherwise as written."""
    monkeypatch.chdir(tmp_path)
    lines = [line.split("#")[0].split() for block in blocks("sh") for line in block.splitlines()]
    commands = [line[1:] for line in lines if line[:1] == ["gridsum"] and line[1] != "reproduce"]
    assert [command[0] for command in commands] == ["train", "train", "evaluate", "table", "evaluate"]
    small = {"training.epochs": 1, "training.steps_per_epoch": 1, "training.batch": 4, "model.step_hidden": 16}
    tiny = [part for name, value in small.items() for part in (f"--{name}", str(value))]
    first, again, evaluate, table, solver = commands
    assert main([*first, *tiny]) == 0
    assert main(again) == 0
    assert main([*evaluate, "--samples", "1", "--suite", "[5,6]x[1,10]"]) == 0
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "my_module.py").write_text(
        "def add(text):\n    return str(sum(map(int, text.strip('=').split('+'))))\n"
    )
    assert main([*solver, "--samples", "2", "--suite", "2x15"]) == 0
    capsys.readouterr()
    assert main(table) == 0
    assert "paper" in capsys.readouterr().out


def test_the_campaigns_commands_work(tmp_path, monkeypatch, capsys):
    """A piece of each, otherwise as written."""
    monkeypatch.chdir(tmp_path)
    lines = [line.split("#")[0].split() for block in blocks("sh") for line in block.splitlines()]
    planned, quick, whole = (line[1:] for line in lines if line[:2] == ["gridsum", "reproduce"])
    assert main(planned) == 0
    assert "0 of 510 epochs" in capsys.readouterr().out
    assert main([*quick, "--variants", "fixedTime", "--seeds", "0", "--only", "train", "report"]) == 0
    assert (tmp_path / "out" / "quick" / "results.md").exists()
    assert main([*whole, "--dry-run"]) == 0


@pytest.mark.parametrize("target", ["demo", "test"])
def test_make_knows_what_the_readme_names(target):
    assert f"make {target}" in README
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    result = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "gridsum" in result.stdout or "pytest" in result.stdout


@pytest.mark.parametrize("table", ["comparison", "examples"])
def test_tables_are_made_of_the_shipped_records(table, capsys):
    assert main(["table", table, "--format", "markdown"]) == 0
    assert capsys.readouterr().out in README


def test_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target


def test_the_picture_is_drawn_by_its_command(tmp_path):
    trace = tmp_path / "trace.json"
    assert main(["trace", "58+67", "--halting", "median", "--json", str(trace)]) == 0
    with trace.open() as source:
        drawn = subprocess.run(
            [sys.executable, ROOT / "docs" / "draw_grid.py"], stdin=source, capture_output=True, text=True, check=True
        ).stdout
    assert drawn.startswith("<svg")
    assert "58+67=125" in drawn
