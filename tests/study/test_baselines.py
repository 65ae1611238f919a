"""The report on the baselines: what it says of records, and that the documents are made of them."""

import re

from gridsum.baselines.baseline import find_baseline
from gridsum.baselines.learning import learning
from gridsum.config.registry import BASELINES
from gridsum.evaluation.records import read
from gridsum.model.store import shipped, shipped_records
from gridsum.study.baselines import PICTURE, appendix, baseline_records, page, pages, reached
from gridsum.study.reproduction import SETTINGS, baseline_suites
from tests.study.conftest import ROOT


def test_the_page_says_what_is_reached_and_what_is_not_measured(make_record):
    def row(shown: str, name: str, suite: str) -> list[str]:
        lines = [[cell.strip() for cell in line.split("|")] for line in shown.splitlines() if line.startswith("|")]
        (found,) = [line for line in lines if len(line) == 10 and (line[1], line[2]) == (name, suite)]
        return found

    nothing = page([])
    assert "**Nothing has been measured yet.**" in nothing
    assert PICTURE not in nothing
    assert row(nothing, "dngpu", "2x100")[5:9] == ["0", "–", "–", "not measured"]
    common = {"given": "nothing", "variant": "dngpu/native", "model": "dngpu-native"}
    records = [
        make_record(**common, seed=seed, suite=suite, sequences_right=right)
        for suite, rights in (("2x20", (0, 630)), ("2x100", (0, 600)))  # of 640, of which .99 are 633.6
        for seed, right in enumerate(rights)
    ]
    shown = page([*records, make_record(model="exact"), make_record(model="some-other")])
    assert PICTURE in shown
    assert row(shown, "dngpu", "2x20")[-2] == "yes"
    assert row(shown, "dngpu", "2x100")[-2] == "no"
    (missed,) = [line for line in shown.splitlines() if line.startswith("- *Not reached*")]
    assert "2x100" in missed
    assert "2x20" not in missed
    every = appendix([*records, make_record(model="exact"), make_record(model="some-other")])
    assert re.search(r"2x100 .*\| dngpu/native .*\| 0\.0 0\.938", every)
    assert "| exact " in every
    assert "some-other" not in every
    (missing,) = [line for line in shown.splitlines() if line.startswith("**Not measured yet**")]
    assert "dngpu/matched" in missing
    assert "dngpu/native" not in missing
    assert "some-other" not in shown


def test_what_is_told_of_a_baseline_names_suites_that_it_is_measured_on(make_record):
    told = {(name, setting): find_baseline(name).found.get(setting, "") for name in BASELINES for setting in SETTINGS}
    assert any(told.values())
    for (name, setting), text in told.items():
        measured = {suite.name for suite in baseline_suites(name, setting)}
        assert {re.sub(" (best|worst)$", "", name) for name in re.findall(r"\{(.+?)\}", text)} <= measured
    common = {"given": "nothing", "variant": "dngpu/matched", "model": "dngpu-matched", "suite": "2x50"}
    shown = page([make_record(**common, seed=seed, sequences_right=right) for seed, right in enumerate((64, 0, 160))])
    assert "0.100 on 2x50 (0.250 for the highest seed)" in shown
    assert "not measured on 6x5" in shown
    short = [make_record(**common, seed=seed, sequences_right=64, problems_seen=8) for seed in (0, 1)]
    assert "Why it stops there is open" in shown
    assert "Why it stops there is open" not in page(short), "which need not hold for a short trial"
    common |= {"variant": "dngpu/native", "suite": "2x50"}
    shown = page([make_record(**common, seed=seed, sequences_right=right) for seed, right in enumerate((64, 0, 160))])
    assert "0.100 on 2x50 (0.0 for the lowest seed)" in shown


def test_a_recipe_that_failed_is_named_where_the_next_is_told(make_record):
    for setting, failed in (("native", "as with the first recipe"), ("matched", "A first recipe, with fewer updates")):
        record = make_record(given="nothing", variant=f"grid-lstm/{setting}", model="grid-lstm", suite="2x15")
        assert failed in page([record])
        assert failed not in page([])


def test_the_document_is_what_the_records_say():
    """Made of the records that are kept and of those of the shipped models."""
    ours = read([shipped_records(name) for name in shipped() if shipped_records(name).exists()])
    for path, text in pages([*ours, *baseline_records(ROOT / "results")], ROOT / "docs").items():
        assert path.read_text() == text, "run: gridsum reproduce --variants baselines --only report --report docs/x"


def test_the_page_compares_what_was_trained_alike(make_record):
    """Its tables of results hold one setting, as ours; the appendix holds both. What each took stands in one row."""
    records = [
        make_record(
            given="reversed digits", variant=f"dngpu/{setting}", model=f"dngpu-{setting}", suite=suite,
            training_seconds=seconds,
        )
        for setting, seconds in (("matched", 106.45), ("native", 37.2))
        for suite in ("2x15", "2x50", "6x5", "nines+1:2x[1,10]")
    ]  # fmt: skip
    shown, every = page(records), appendix(records)
    assert "dngpu/native" not in [line.split()[1] for line in shown.splitlines() if line.startswith("| ")]
    assert "| dngpu/matched " not in shown
    assert re.search(r"^\| dngpu +\| reversed digits +\|", shown, re.MULTILINE)
    assert "| 2x50 " not in shown
    assert every.count("| dngpu/native ") == every.count("| dngpu/matched ")
    (took,) = [line.split("|") for line in every.splitlines() if line.startswith("| dngpu ") and "85,837" in line]
    assert took[-2].strip() == "106, 37"


def test_the_picture_of_learning_is_of_those_that_fall_short():
    """Of every baseline whose own paper's number is not reached, and of no other."""
    records = read([ROOT / "results" / "records" / "baselines.jsonl"])
    own = {
        baseline.name: [one for one in records if one.variant == f"{baseline.name}/native"]
        for baseline in map(find_baseline, BASELINES)
    }
    short = {
        f"{name}/native"
        for name, found in own.items()
        for suite, number, _ in find_baseline(name).numbers
        if not reached({one.seed: one for one in found if one.suite == suite}, number)
    }
    assert set(learning([ROOT / "results" / "records" / "baselines-learning.jsonl"])) == short
    assert {name for name in BASELINES if find_baseline(name).missed} == {
        name.removesuffix("/native") for name in short
    }
