"""The page as files, the browser that opens them, and Node, which runs their scripts without a browser."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from gridsum.cli import main
from tests.browser import DESKTOP, PHONE, Visit, visiting

_LOAD = """
const fs = require("fs"), vm = require("vm");
const { files, input } = JSON.parse(fs.readFileSync(0, "utf8"));
for (const file of files) vm.runInThisContext(fs.readFileSync(file, "utf8"), { filename: file });
const told = [];
gridsum.ruleOf("add").then(async (rule) => {
"""
_TELL = "\n}).then(() => process.stdout.write(JSON.stringify(told)));"

Node = Callable[..., Any]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, as `gridsum page` writes it."""
    folder = tmp_path_factory.mktemp("site") / "deep" / "site"
    assert main(["page", "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def node(folder: Path) -> Node:
    """Runs a script after the page's own; it finds `input` and tells by `told.push`."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node is not installed here, so the page's scripts are tested in the browser alone")

    def run(script: str, data: Any = None, more: tuple[Path, ...] = ()) -> Any:
        names = ("words", "words/en", "rule", "operations", "symbols", "automaton", "proof", "paper", "learned", "film")
        rules = sorted((folder / "rules").glob("*.js"))
        files = [str(path) for path in (*(folder / f"{name}.js" for name in names), *rules, *more)]
        done = subprocess.run(
            [program, "-e", f"{_LOAD}{script}{_TELL}"],
            input=json.dumps({"files": files, "input": data}),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def address(folder: Path) -> str:
    """The page as a file: no server, no web host."""
    return (folder / "index.html").as_uri()


@pytest.fixture
def desktop(browser: Browser, address: str) -> Iterator[Visit]:
    with visiting(browser, address) as visit:
        yield visit


@pytest.fixture(params=["desktop", "phone"])
def window(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[Visit]:
    """A visit in each of the two window sizes, each in a theme of its own."""
    size, scheme = (DESKTOP, "light") if request.param == "desktop" else (PHONE, "dark")
    with visiting(browser, address, size, color_scheme=scheme) as visit:
        yield visit
