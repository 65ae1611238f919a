"""Nothing outside `tasks/` knows the ten digits: what is read, drawn, solved and shown is as the task has it."""

import re
from pathlib import Path

import gridsum

SOURCE = Path(gridsum.__file__).parent
SEEDS = {"cli/reproduce.py"}
"""Of a campaign there are ten, as in the paper."""
# The digits spelt out, counting to ten, and asking Python what a digit is.
KNOWING = re.compile(
    r"123456789[^+]*$|range\((0, )?10\)|divmod\(.*, 10\)| (%|//) 10\b|string\.digits|(DIGITS|TEN|BASE) = 10$", re.M
)


def test_no_module_knows_the_ten_digits():
    found = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    others = {place: text for place, text in found.items() if not place.startswith("tasks/") and place not in SEEDS}
    assert len(others) > 100
    assert {place: KNOWING.findall(text) for place, text in others.items() if KNOWING.search(text)} == {}
    for line in ("letters = '0123456789'", "for d in range(10):", "x = value % 10", "TEN = 10"):
        assert KNOWING.search(line)
