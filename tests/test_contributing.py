"""The three first changes that CONTRIBUTING.md tells, made as told in a copy of the source, and used.

That a new variant changes no published ordering is a test of those, in `tests/study/test_rule.py`.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.oracles.sizes import SMALLEST

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
        'class TrainingConfig:\n    """How long and how fast a run learns."""\n\n',
        '    patience: int = described(3, "How long I wait.", least=1)\n',
    ),
}
USED = """
import sys
from gridsum.cli import main
out, tiny = sys.argv[1], sys.argv[2:]
assert main(["evaluate", "--suite", "mine", "--samples", "2", "--out", f"{out}/records.jsonl"]) == 0
small = ["--training.epochs", "1", "--training.patience", "5", "--device", "cpu", *tiny]
assert main(["train", "--variant", "narrow", "--out", f"{out}/run", *small]) == 0
"""


def test_the_first_changes_work_as_told(tmp_path: Path):
    told = (ROOT / "CONTRIBUTING.md").read_text()
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("web", "__pycache__"))
    for (name, where), (before, added) in CHANGES.items():
        assert f"`{name}`" in told
        assert where in told
        path = tmp_path / "src" / "gridsum" / name
        assert path.read_text().count(before) == 1
        path.write_text(path.read_text().replace(before, before + added))
    tiny = [part for field, value in SMALLEST.items() for part in (f"--{field}", str(value))]
    done = subprocess.run(
        [sys.executable, "-c", USED, str(tmp_path), *tiny],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    suites = [json.loads(line)["suite"] for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert suites == ["2x3", "3x2"]
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["variant"], config["training"]["patience"]) == ("narrow", 5)
