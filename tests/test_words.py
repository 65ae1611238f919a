"""Habits of language that a machine can see, in documents and messages; CONTRIBUTING.md has the style sheet."""

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "results").glob("*.md")),
]
LONGEST, GENERATED = 160, ("results.md", "comparison.md")
_MAY_FOLLOW = "run|step|folder|job|log|seed|set|config|space|data|epoch"
HABITS = {
    "a link that does not say what it leads to": r"\[(?:record|records|here|link|this)\]\(",
    "a number without a leading zero": r"(?<![\w.\]`/…])\.\d",
    "'is no' for 'is not a'": r"(?<![tT]here )\bis no (?!longer\b|more\b|matter\b)",
    "'a training' for 'a training run'": rf"\b(?:a training|trainings)\b(?! (?:{_MAY_FOLLOW})s?\b)",
    "a space before the per cent sign": r"\d %",
}


BUDGETS = dict(
    architecture=1100, exact=1300, proof=900, results=1100, comparison=1100, performance=800, clusters=450, server=250,
    reliability=500, tasks=970, pictures=450, research=900, api=250, glossary=350, tutorial=500,
)  # fmt: skip
"""Words of each document at most."""


def _words(text: str) -> int:
    """Words and numbers; the lines of a table are neither."""
    return sum(re.search(r"\w", word) is not None for word in text.split())


def test_documents_keep_to_their_budgets():
    notebook = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    found = {path.stem: _words(path.read_text()) for path in (ROOT / "docs").glob("*.md")}
    found["tutorial"] = _words("\n".join(cells))
    assert found.keys() == BUDGETS.keys()
    assert not {name: count for name, count in found.items() if count > BUDGETS[name]}
    assert sum(found.values()) + _words((ROOT / "README.md").read_text()) <= 12_500
    assert len((ROOT / "README.md").read_text().splitlines()) <= 110
    released = (ROOT / "CHANGELOG.md").read_text().partition("## 0.1.0")[0]
    assert _words(released) <= 450


def _prose(text: str) -> str:
    """Without blocks of code and what stands in backquotes."""
    return re.sub(r"`[^`\n]*`", "``", re.sub(r"```.*?```|^    .*?$", "", text, flags=re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_have_no_bad_habits(document: Path):
    text = document.read_text()
    found = {name: re.findall(f".*{habit}.*", _prose(text)) for name, habit in HABITS.items()}
    found["a long line"] = [
        line
        for line in re.sub(r"```.*?```", "", text, flags=re.DOTALL).splitlines()
        if len(line) > LONGEST and not line.startswith("|") and document.name not in GENERATED
    ]
    quoted = "Style sheet" in text  # which names the habits
    assert quoted or not {name: lines for name, lines in found.items() if lines}


def _texts(node: ast.AST) -> list[str]:
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def test_the_package_has_no_bad_habits():
    """All that it prints, its help, and what it says of itself; of what it raises some more."""
    nowhere = HABITS["'a training' for 'a training run'"]
    not_raised = (HABITS["'is no' for 'is not a'"], r"\b(?:names|holds|says) no\b")
    for path in sorted((ROOT / "src").rglob("*.py")):
        tree = ast.parse(path.read_text())
        found = [text for text in _texts(tree) if re.search(nowhere, " ".join(text.split()))]
        raised = ["".join(_texts(node)) for node in ast.walk(tree) if isinstance(node, ast.Raise)]
        assert not found + [text for text in raised for habit in not_raised if re.search(habit, text)], path.name
