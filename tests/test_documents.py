"""Every Python block of the documents runs, and every command of theirs exists with its options."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gridsum.cli import COMMANDS
from gridsum.cli.completion import options_of

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_IN_PYTHON = [
    pytest.param(code, id=f"{path.name}-{number}")
    for path in DOCUMENTS
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("code", _IN_PYTHON)
def test_python_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "document", "exec"), {})


def commands(path: Path) -> list[list[str]]:
    text = "".join(re.findall(r"```sh\n(.*?)```", path.read_text(), re.DOTALL))
    text = re.sub(r" +#.*", "", text).replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("gridsum ")]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_exist_with_their_options(path: Path):
    for command, *arguments in commands(path):
        assert command in COMMANDS
        known = options_of(command)
        for argument in arguments:
            if argument.startswith("--"):
                assert argument.split("=")[0] in known, f"{path.name}: gridsum {command} {argument}"


def test_the_site_is_built_without_a_warning(tmp_path: Path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    assert "discovers column addition" in (tmp_path / "index.html").read_text()
    reference = (tmp_path / "api" / "index.html").read_text()
    for name in ("loading.load", "models.Model.trace", "fleets.train", "scores.evaluate"):
        assert f'id="gridsum.api.{name}"' in reference
