"""The pages on the baselines: what they say of records, and that the documents are made of them."""

import re

from gridsum.baselines.baseline import find_baseline
from gridsum.study.baselines import NOT_MEASURED, baseline_records, filled, pages
from tests.oracles.records import make_record
from tests.study.conftest import ROOT, table_lines


def test_words_are_filled_with_the_numbers_of_records():
    common = {"given": "nothing", "variant": "dngpu/matched", "model": "dngpu-matched", "suite": "2x50"}
    records = [make_record(**common, seed=seed, sequences_right=right) for seed, right in enumerate((64, 0, 160))]
    words = "{dngpu/matched 2x50} on 2x50 ({dngpu/matched 2x50\nbest}; {dngpu/matched 2x50 worst}), {dngpu/native 6x5}"
    assert filled(words, records) == f"0.100 on 2x50 (0.250; 0.0), {NOT_MEASURED}"
    assert filled("{table matched}", []).startswith("No table `matched` yet: there are no records")


def test_a_number_is_reached_if_the_best_seeds_interval_says_so():
    common = {"given": "nothing", "variant": "dngpu/native", "model": "dngpu-native"}
    records = [
        make_record(**common, seed=seed, suite=suite, sequences_right=right)
        for suite, rights in (("2x20", (0, 630)), ("2x100", (0, 600)))  # of 640, of which 0.99 are 633.6
        for seed, right in enumerate(rights)
    ]
    lines = table_lines(filled("{table claims}", records), "Own papers' numbers")
    verdicts = {(line[0], line[1]): line[-1] for line in lines}
    assert verdicts["dngpu", "2x20"] == "yes"
    assert verdicts["dngpu", "2x100"] == "no"
    assert verdicts["grid-lstm", "2x15"] == NOT_MEASURED


def test_the_documents_are_what_the_records_say():
    """Made of the records that are kept and of those of the shipped models; all that they tell of is measured."""
    for path, text in pages(ROOT / "results", ROOT / "docs").items():
        assert path.read_text() == text, "run: gridsum reproduce --variants baselines --only report --report docs/x"
        assert NOT_MEASURED not in text
        assert not re.search(r"\{[^}]*/", text), "every place for a number is filled"


def test_causes_are_told_of_those_that_fall_short():
    """Of every baseline whose own paper's number is not reached, and of no other."""
    claims = table_lines(filled("{table claims}", baseline_records(ROOT / "results")), "Own papers' numbers")
    short = {line[0] for line in claims if line[-1] == "no"}
    told = (ROOT / "results" / "notes-baselines.md").read_text().split("\n**")
    titles = {find_baseline(name).title for name in short}
    assert {part.split("**")[0] for part in told if "*Not matched.*" in part} == titles
