"""Every Python block of the documents runs, and every command of theirs exists with its options."""

import importlib.metadata
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gridsum.cli import COMMANDS, main, parser_of
from gridsum.config import registry
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.model import paper
from gridsum.tasks import registry as tasks
from tests.oracles.sizes import TINY, TINY_EXACT, as_options

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_IN_PYTHON = [
    pytest.param(code, id=f"{path.name}-{number}")
    for path in DOCUMENTS
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("code", _IN_PYTHON)
def test_python_runs(code: str, monkeypatch: pytest.MonkeyPatch):
    for place, names in ((registry, ["_registered"]), (paper, ["STEPS"]), (tasks, ["_registered"])):
        for name in names:  # what a document adds is added for itself
            monkeypatch.setattr(place, name, dict(getattr(place, name)))
    exec(compile(code, "document", "exec"), {})
    tasks.find.cache_clear()


def names_of(words: str) -> dict[str, Any]:
    """What the block of Python that has these words makes, run here."""
    (code,) = (str(block.values[0]) for block in _IN_PYTHON if words in str(block.values[0]))
    made: dict[str, Any] = {}
    exec(code, made)
    return made


def test_the_slurm_job_of_research_md_goes_on(here: Path):
    (script,) = re.findall(r"```sbatch\n(.*?)```", (ROOT / "docs" / "research.md").read_text(), re.DOTALL)
    (here / "gridsum").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (here / "gridsum").chmod(0o755)
    around = {**os.environ, "PATH": f"{here}:{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": "1"}
    for more in ([], ["--resume"]):
        told = subprocess.run(["bash", "-e"], input=script, env=around, capture_output=True, text=True, check=True)
        command = told.stdout.split()
        assert command == ["train", "--variant", "base", "--seeds", "10-19", "--out", "runs/base-1", *more]
        assert main([*small(command), "--training.epochs", "2" if more else "1"]) == 0


def commands(path: Path) -> list[list[str]]:
    text = "".join(re.findall(r"```sh\n(.*?)```", path.read_text(), re.DOTALL))
    text = re.sub(r" +#.*", "", text).replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("gridsum ")]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_exist_with_their_options(path: Path):
    for command, *arguments in commands(path):
        assert command in COMMANDS
        known = parser_of(command, arguments)._option_string_actions
        for argument in arguments:
            if argument.startswith("--"):
                assert argument.split("=")[0] in known, f"{path.name}: gridsum {command} {argument}"


def test_the_site_is_built_without_a_warning(tmp_path: Path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "RUN_TUTORIAL": "false"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    assert "discovers column addition" in (tmp_path / "index.html").read_text()
    reference = (tmp_path / "api" / "index.html").read_text()
    for name in ("loading.load", "models.Model.trace", "training.train", "scores.evaluate"):
        assert f'id="gridsum.api.{name}"' in reference


def test_the_notebook_runs_and_is_kept_without_outputs():
    cells = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)


def small(command: list[str]) -> list[str]:
    """The same command with less to do."""
    if command[0] == "train":
        less = {"seeds": (0, 7), **TINY_EXACT} if "exact" in command else {"seeds": 0, "task.digits": (1, 2), **TINY}
        if "--variant" not in command:  # what is there says what it is
            less = {"training.epochs": 1 + ("--resume" in command), "training.steps_per_epoch": 1, "training.batch": 4}
        return [*command, "--device", "cpu", *as_options(less)]
    if command[0] == "evaluate":
        return [*command, "--samples", "1"]
    return command


@pytest.mark.usefixtures("network_follows_its_rule", "here")
@pytest.mark.parametrize("name", ["../README.md", "exact.md", "tasks.md", "comparison.md", "research.md"])
def test_commands_of_the_documents_run(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """At toy size, one after the other in one folder. Those of `clusters.md` need a cluster (tests of reproduction)."""
    monkeypatch.setitem(COLLECTIONS, "comparison", COLLECTIONS["comparison"][:1])
    others = importlib.metadata.entry_points
    nim = SimpleNamespace(name="nim", load=lambda: names_of("class Nim")["Nim"])  # of docs/tasks.md
    offered = lambda **chosen: [nim] if chosen == {"group": "gridsum.tasks"} else others(**chosen)  # noqa: E731
    monkeypatch.setattr(importlib.metadata, "entry_points", offered)
    if name == "research.md":
        names_of("mine.jsonl")  # which makes what the commands read
    for command in commands(ROOT / "docs" / name):
        if command[0] == "reproduce":
            continue  # a campaign of hours, with tests of its own
        status = main(small(command))
        # A rule of random weights proves nothing, and may place what no cell can hold, which is said.
        learned_nothing = command[0] in ("solve", "prove") and any(part.startswith("runs/") for part in command)
        assert status in ((0, 1, 2) if learned_nothing else (0,)), command
        assert "no such folder" not in capsys.readouterr().err
