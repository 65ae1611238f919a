"""What the command line says about itself, and what it loads for that."""

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from gridsum.cli import COMMANDS, GROUPS
from gridsum.cli.figure import FIGURES
from gridsum.cli.table import TABLES as DESCRIBED_TABLES
from gridsum.config.fields import fields_of
from gridsum.config.paper import Config
from gridsum.config.variants import VARIANTS
from gridsum.data.answers import HALTING_RULES, PLACEMENT_RULES
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import TABLES
from gridsum.io.version import __version__
from tests.cli.conftest import Command
from tests.oracles.column_addition import column_addition


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_help_fits_a_terminal_and_shows_examples(name: str, command: Command):
    status, out, err = command(*name.split(), "--help")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert f"examples:\n  gridsum {name}".rstrip() in out
    words = " ".join(out.split())
    if not name:
        assert len(out.splitlines()) <= 40, "one screen"
        assert len(GROUPS) == 4
        assert all(f"  {command}" in out and summary in out for command, summary in COMMANDS.items())
    if name in ("solve", "evaluate"):
        assert all(f"{rule}:" in words for rule in (*chain(*HALTING_RULES.values()), *PLACEMENT_RULES))
    told = {"evaluate": COLLECTIONS, "table": TABLES, "figure": FIGURES}.get(name, ())
    assert all(f"\n  {known} " in out for known in told)
    assert list(DESCRIBED_TABLES) == list(TABLES)


def test_the_version_and_what_is_said_without_a_command(command: Command, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("MIMALLOC_PURGE_DELAY", raising=False)
    assert command("--version") == (0, f"gridsum {__version__}\n", "")
    assert os.environ["MIMALLOC_PURGE_DELAY"] == "1000", "torch's allocator is told before torch is loaded"
    monkeypatch.setenv("MIMALLOC_PURGE_DELAY", "5")
    assert (command("--version")[0], os.environ["MIMALLOC_PURGE_DELAY"]) == (0, "5"), "what a user says stays"
    status, out, err = command()
    assert (status, out) == (2, "")
    assert "use trained networks:" in err


def test_training_help_has_every_field_with_what_it_is_and_its_default(command: Command):
    words = " ".join(command("train", "--help")[1].split())
    for path in fields_of(Config()):
        assert path in ("variant", "task.name") or f"--{path} " in words
    assert "--model.kernel N k, the side of the neighbourhood a cell attends to; a whole number (default: 3)" in words
    assert "--task.terms N,N " in words
    assert "two whole numbers, such as 1,4 (default: 1,4)" in words
    assert "one of explore-reinforce, kl, none (default: explore-reinforce)" in words
    assert "The network's shape." in words
    assert all(f" {name} " in words for name in VARIANTS)
    assert "SASA --model.heads 8, --model.query_encoding false" in words


def test_only_what_is_needed_is_loaded(environment: dict[str, str], tmp_path: Path):
    (tmp_path / "sums.txt").write_text("58+67\n1+1\n")
    (tmp_path / "rule.json").write_text(column_addition().to_json())
    light = ["--help", "solve --help", "serve --help", "table --help"]
    numbers = ["solve 99+1", "solve --json --file sums.txt", "solve --file sums.txt", "rule --model rule.json"]
    code = f"""
import sys
import gridsum
from gridsum.cli import main
for line in {light!r}:
    assert main(line.split()) == 0
assert not {{"torch", "numpy", "rich"}} & set(sys.modules)
for line in {[*numbers, "prove --model rule.json"]!r}:
    assert main(line.split()) == 0
    assert not {{"torch", "rich"}} & set(sys.modules), line
assert gridsum.load("exact").solve("58+67") == "125"
assert "torch" not in sys.modules
assert main(["solve", "12+34", "--model", "base"]) == 0
assert "gridsum.evaluation.solving" in sys.modules
assert not {{"rich", "gridsum.evaluation.evaluate", "gridsum.training.loop"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, env=environment, check=True, cwd=tmp_path)
