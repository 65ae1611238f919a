"""A rule at work, drawn in a terminal."""

from gridsum.api.models import SolveOptions
from gridsum.api.rules import RuleModel
from gridsum.api.terminal import draw
from tests.oracles.column_addition import column_addition

RULE = column_addition()


def drawn(*terms: str, width: int = 80) -> list[str]:
    trace = RuleModel("exact", None, RULE).traced(terms, SolveOptions())
    return draw(trace, width).splitlines()


def test_of_a_long_sum_the_ends_are_drawn():
    lines = drawn("9" * 500, "1")
    assert max(map(len, lines)) <= 80
    assert "… and ⋮ stand for what is left out of 3 rows × 502 columns" in lines
    titles = [line.split("   ")[0] for line in lines if line.startswith("step ")]
    assert titles == [f"step {n}" for n in (*range(1, 20), *range(483, 503))]
    assert any(line.endswith("steps are left out") and "463" in line for line in lines)
    # What changed in the first step after the gap is what changed in it, not since the gap began.
    after_gap = lines[lines.index(next(line for line in lines if line.startswith("step 483 "))) + 1]
    assert after_gap.count("[") <= 1


def test_of_many_terms_some_rows_are_drawn():
    lines = drawn(*["12"] * 100)
    assert sum(line.startswith("     ⋮") for line in lines) == 1 + 41 - 1
