"""The three first changes that CONTRIBUTING.md tells, made as told in a copy of the source, and used.

That a new variant changes no published ordering is a test of those, in `tests/study/test_rule.py`.
"""

import json
import shutil
import sys
from pathlib import Path

from tests.children import as_new, in_child
from tests.oracles.sizes import TINY, as_options

ROOT = Path(__file__).parents[1]
CHANGES = {
    ("evaluation/suites.py", "COLLECTIONS"): (
        "COLLECTIONS: dict[str, tuple[Suite, ...]] = {\n",
        '    "mine": _suites("2x3", "3x2"),\n',
    ),
    ("config/variants.py", "VARIANTS"): (
        "VARIANTS: dict[str, dict[str, Any]] = {**PAPER_VARIANTS",
        ', "narrow": {"model.step_hidden": 16}',
    ),
    ("config/paper.py", "dataclass"): (
        'class TrainingConfig(Section):\n    """How long and how fast a run learns."""\n\n',
        '    patience: int = described(3, "How long I wait.", least=1)\n',
    ),
}


def test_the_first_changes_work_as_told(tmp_path: Path):
    told = (ROOT / "CONTRIBUTING.md").read_text()
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("web", "__pycache__"))
    for (name, where), (before, added) in CHANGES.items():
        assert f"`{name}`" in told
        assert where in told
        path = tmp_path / "src" / "gridsum" / name
        assert path.read_text().count(before) == 1
        path.write_text(path.read_text().replace(before, before + added))

    def used() -> None:
        as_new("gridsum")
        sys.path.insert(0, str(tmp_path / "src"))
        from gridsum.cli import main

        assert main(["evaluate", "--suite", "mine", "--samples", "2", "--out", str(tmp_path / "records.jsonl")]) == 0
        small = ["--training.patience", "5", "--device", "cpu", *as_options(TINY)]
        assert main(["train", "--variant", "narrow", "--out", str(tmp_path / "run"), *small]) == 0

    done = in_child(used)
    assert done.status == 0, done.err
    suites = [json.loads(line)["suite"] for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert suites == ["2x3", "3x2"]
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["variant"], config["training"]["patience"]) == ("narrow", 5)
