"""The page's scripts without a browser: Node runs them, and tells what they compute as JSON."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gridsum.page.site import WEB, static_files

_LOAD = """
const fs = require("fs"), vm = require("vm");
const { files, input } = JSON.parse(fs.readFileSync(0, "utf8"));
for (const file of files) vm.runInThisContext(fs.readFileSync(file, "utf8"), { filename: file });
const rule = gridsum.makeRule(gridsum.data.rule);
const told = [];
"""

Node = Callable[..., Any]


@pytest.fixture(scope="session")
def rule_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "rule.js"
    path.write_bytes(static_files([])["rule.js"])
    return path


@pytest.fixture(scope="session")
def node(rule_file: Path) -> Node:
    """Runs a script after the page's own; it finds `input` and tells by `told.push`."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node is not installed here, so the page's scripts are tested in the browser alone")

    def run(script: str, data: Any = None, more: tuple[Path, ...] = ()) -> Any:
        names = ("symbols", "automaton", "proof", "paper")
        files = [str(path) for path in (rule_file, *(WEB / f"{name}.js" for name in names), *more)]
        done = subprocess.run(
            [program, "-e", f"{_LOAD}{script}\nprocess.stdout.write(JSON.stringify(told));"],
            input=json.dumps({"files": files, "input": data}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
