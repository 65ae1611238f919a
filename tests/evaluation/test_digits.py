"""Nothing outside `tasks/` knows the ten digits: what is read, drawn, solved and shown is as the task has it."""

import ast
import re
from pathlib import Path

import pytest

import gridsum

SOURCE = Path(gridsum.__file__).parent
PAGE = "page/web"
"""The page tells the story of the one rule that ships, which adds decimal numbers; it reads and draws those alone."""
SEEDS = {"cli/reproduce.py", "cli/proved.py"}
"""Of a campaign there are ten, as in the paper."""


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] != "tasks"]


def names_of_digits(text: str, seeds: bool = False) -> list[str]:
    """Where a module spells the digits out, counts to ten, or asks Python what a digit is."""
    found = []
    for node in ast.walk(ast.parse(text)):
        told = ast.unparse(node) if _tells(node) else ""
        text_in_it = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        spelt = "123456789" in text_in_it and "+" not in text_in_it  # with a plus, an example of a sum
        counted = re.fullmatch(r"range\((0, )?10\)|divmod\(.*, 10\)|.* (%|//) 10", told) is not None
        named = told == "string.digits"
        taken = isinstance(node, ast.Assign) and ast.unparse(node) in ("DIGITS = 10", "TEN = 10", "BASE = 10")
        if spelt or (counted and not seeds) or named or taken:
            found.append(f"line {getattr(node, 'lineno', 0)}: {ast.unparse(node)[:60]}")
    return found


def _tells(node: ast.AST) -> bool:
    """Whether it may count to ten or ask Python: to write a whole module out again takes seconds."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("range", "divmod")
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Mod | ast.FloorDiv)
    return isinstance(node, ast.Attribute) and node.attr == "digits"


def test_no_module_knows_the_ten_digits():
    found = {}
    for path in modules():
        place = path.relative_to(SOURCE).as_posix()
        found[place] = names_of_digits(path.read_text(encoding="utf-8"), place in SEEDS)
    assert len(found) > 100
    assert {place: lines for place, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "text",
    ["letters = '0123456789'", "for d in range(10): pass", "x = value % 10", "a, b = divmod(v, 10)", "TEN = 10",
     "import string; all(c in string.digits for c in t)"],
)  # fmt: skip
def test_it_would_be_noticed(text: str):
    assert names_of_digits(text)


def test_the_page_is_the_only_script_that_does():
    assert [path for path in SOURCE.rglob("*.js") if PAGE not in path.as_posix()] == []
