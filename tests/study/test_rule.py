"""The orderings are decided once, by a rule that stands before the runs do."""

from pathlib import Path

import pytest

from gridsum.config import variants
from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.records import OnGrid, Record, append
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.study import rule
from gridsum.study.jobs import Measure
from gridsum.study.reproduction import Reproduction
from gridsum.study.results import keep, load_results
from tests.oracles.records import make_record
from tests.study.conftest import written_pages

BETTER = ("noGroups", "base", "ponderReg", "SASA", "fixedTime")


def _record(name: str, suite: str, seed: int, right: int, grids: str = "every") -> Record:
    batch = OnGrid(3, 6, 640, right, 10 * right, 6400, 100 * right, 100 * right, 64000)
    counts = {"sequences_right": right, "chars_right": 10 * right, "chars_valid": 6400, "batches": (batch,)}
    return make_record(model=name, variant=name, suite=suite, seed=seed, grids=grids, **counts)


@pytest.fixture
def decided(copied: Path) -> Path:
    """As if 20 seeds of every variant had been measured; each variant is better than the next in `BETTER`."""
    for path in (*(copied / "records").glob("*.jsonl"),):
        path.unlink()
    for name in PAPER_VARIANTS:
        for seed in rule.SEEDS:
            there = copied / "records" if seed < 2 else copied / "block-1" / "records"
            there.mkdir(parents=True, exist_ok=True)
            right = 600 - 100 * BETTER.index(name) + seed
            suites = [suite.name for suite in COLLECTIONS["ablation"]]
            append(there / f"{name}.jsonl", [_record(name, suite, seed, right) for suite in suites])
    return copied


def _judged(folder: Path) -> list[str]:
    """The verdicts on the claims, and the comparisons that they are made of."""
    return [line for line in "\n".join(written_pages(folder)).splitlines() if "**" in line or "/20 " in line]


def test_all_runs_decide(decided: Path, monkeypatch: pytest.MonkeyPatch):
    page, appendix = written_pages(decided)
    assert "noGroups is best on digits: **confirmed**" in page
    assert "base and ponderReg are best on terms: **refuted**" in page  # noGroups is, here
    assert "fixedTime is worst on terms: **confirmed**" in page
    assert "| 20/20 " in appendix
    # Other grids and other seeds do not count for them.
    judged = _judged(decided)
    suites = [suite.name for suite in COLLECTIONS["ablation"]]
    path = decided / "block-1" / "records" / "fixedTime.jsonl"
    append(path, [_record("fixedTime", suite, 5, 640, "published") for suite in suites])
    append(path, [_record("fixedTime", suite, 25, 640) for suite in suites])
    assert _judged(decided) == judged
    # Nor does a variant that somebody adds.
    monkeypatch.setitem(variants.VARIANTS, "mine", {"model.heads": 8})
    assert _judged(decided) == judged


def test_one_run_short_nothing_is_tested(decided: Path):
    path = decided / "block-1" / "records" / "SASA.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    page, appendix = written_pages(decided)
    assert page.count("**not measured**") == 3
    assert "| 20/20 " not in page + appendix


def test_the_seeds_that_are_lacking_are_trained_and_measured_for_it():
    asked = Reproduction(tuple(PAPER_VARIANTS), tuple(range(10)), blocks=(0, 1))
    suites = {suite for claim in rule.CLAIMS for suite in claim.suites}
    seeds: dict[str, set[int]] = {}
    for job in asked.jobs():
        if isinstance(job, Measure) and job.stage == "measure" and job.training.follows is None:
            seeds.setdefault(job.training.subject, set()).update(job.training.seeds)
            assert {one.suite.name for one in job.sheet.asked if one.way == rule.WAY} >= suites
    assert seeds == {name: set(rule.SEEDS) for name in PAPER_VARIANTS}


def test_what_decides_is_kept_and_decides_from_then_on(decided: Path):
    judged = _judged(decided)
    keep(load_results(decided))
    path = decided / "block-1" / "records" / "SASA.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert _judged(decided) == judged
