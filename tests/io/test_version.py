"""Which commit records name."""

import subprocess
from pathlib import Path

import pytest

from gridsum.io import version


def test_the_commit_is_that_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    package = tmp_path / "package"
    package.mkdir()
    (package / "version.py").touch()
    monkeypatch.setattr(version, "__file__", str(package / "version.py"))

    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", *identity, *arguments], cwd=package, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    assert version.source_commit() is None, "no repository"
    git("init", "--quiet")
    (package / "other.txt").touch()
    git("add", "other.txt")
    git("commit", "--quiet", "-m", "something else")
    assert version.source_commit() is None, "a repository, but not of this code"
    git("add", ".")
    git("commit", "--quiet", "-m", "the code")
    commit = git("rev-parse", "--short", "HEAD")
    (package / "records.jsonl").touch()
    assert version.source_commit() == commit
    (package / "version.py").write_text("changed = True\n")
    assert version.source_commit() == f"{commit}-dirty"
    monkeypatch.setenv("PATH", "")
    assert version.source_commit() is None, "no git"
