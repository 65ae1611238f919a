"""What is shown in a terminal is no wider than it is; into a file or a pipe, a row stays on its line."""

import io
import os
import re
import shutil

import pytest

from gridsum.cli import main

COMMANDS = [
    "table comparison",
    "table examples",
    "table ablation",
    "table scores",
    "models",
    "rule",
    "prove",
    "solve --show 523+102+9416",
    "evaluate --suite 2x3 --samples 2",
]


@pytest.mark.usefixtures("network_follows_its_rule")
@pytest.mark.parametrize("command", COMMANDS)
def test_it_fits_the_terminal(command: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: os.terminal_size((40, 40)))
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", terminal)
    assert main(command.split()) == 0
    lines = re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue()).split("\n")
    assert len(lines) > 5
    assert max(map(len, lines)) <= 40


def test_into_a_pipe_a_row_stays_on_its_line(capsys: pytest.CaptureFixture[str]):
    assert main(["table", "comparison"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert max(map(len, lines)) > 100
    assert sum(line.startswith("2x15 ") for line in lines) == 1
