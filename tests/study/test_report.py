"""The results page: whole, partial, and true to its records."""

import dataclasses
import hashlib
import json
import shutil
import statistics
from pathlib import Path

import pytest

from gridsum.analysis import FigureError
from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.records import append, read
from gridsum.figures import plot_carries
from gridsum.study import tables
from gridsum.study.pictures import CAPTIONS, drawn_at
from gridsum.study.report import NOTES, pages, write_report
from gridsum.study.reproduction import AS_PUBLISHED, Reproduction
from gridsum.study.results import keep, load_results
from tests.oracles.records import make_record
from tests.study.conftest import ROOT, rewrite_records, table_lines, written_pages


def test_the_documents_are_what_the_records_say(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    page = Path("docs/results.md")
    assert drawn_at(page)
    for path, text in pages(load_results(Path("results")), page).items():
        assert path.read_text() == text, "run: gridsum reproduce --only figures report"


def test_every_part_is_there(quick: Path):
    page, appendix = written_pages(quick)
    for title in ("Table III", "No table `long-digits` yet", "Table IV, right", "Table V", "Table VI", "Comparisons"):
        assert title in appendix
    assert all(title in page for title in ("The best models", "The variants", "nothing is tested"))
    assert {path.name for path in (quick / "figures").iterdir()} == {*CAPTIONS}


def test_a_number_is_inside_above_or_below_its_replications():
    def verdict(known: float, *found: float) -> str:
        return tables.Number("2x15", "base", "seq", known, list(found)).verdict

    assert verdict(0.5, 0.4, 0.6) == "inside"
    assert verdict(0.99, 0.95, 0.998) == "inside", "0.99 is printed for all that is not quite 1"
    assert verdict(1.0, 0.98, 0.999) == "below"
    assert verdict(0.5, 0.504, 0.3) == "inside", "the paper's number is rounded"
    assert (verdict(0.5, 0.4, 0.494), verdict(0.5, 0.506, 0.9)) == ("below", "above")


def test_a_figure_of_carries_needs_carries():
    with pytest.raises(FigureError, match="gridsum evaluate --suite structured"):
        plot_carries([make_record()])


def test_a_part_of_the_variants_makes_a_page_that_says_what_is_missing(copied: Path):
    kept = ["fixedTime", "SASA"]
    (copied / NOTES).write_text("It was a rainy day.\n")
    for name in {*PAPER_VARIANTS, "base-overtrained", "noGroups-overtrained"} - set(kept):
        shutil.rmtree(copied / name)
        (copied / "records" / f"{name}.jsonl").unlink()
    write_report(
        load_results(copied), copied / "results.md", Reproduction(tuple(PAPER_VARIANTS), (0, 1), quick=True), print
    )
    page, (_, appendix) = (copied / "results.md").read_text(), written_pages(copied)
    assert "\nIt was a rainy day.\n" in page
    for name in PAPER_VARIANTS:
        assert (f" train {name}," in page) == (name not in kept)
    assert {line[1] for line in table_lines(appendix, "Variants over training seeds (Table VI)")} == set(kept)


def test_checksums_of_weights_outlive_the_weights(copied: Path):
    weights = copied / "SASA" / "seed-1" / "weights.safetensors"
    known = hashlib.sha256(weights.read_bytes()).hexdigest()
    weights.unlink()
    shutil.rmtree(copied / "SASA" / "seed-0")
    (copied / "SASA" / "seed-1" / "metrics.jsonl").unlink()
    keep(load_results(copied))
    assert json.loads((copied / "manifest.json").read_text())["SASA"]["1"] == known
    assert load_results(copied).trained["SASA"].seeds == (0, 1)


def test_numbers_are_those_of_the_records(copied: Path):
    """Of several records of a run the last one counts."""
    path = copied / "records" / "SASA.jsonl"
    rights: dict[int | None, int] = {0: 300, 1: 700}
    rewrite_records(path, lambda r: {"chars_right": rights[r.seed], "chars_valid": 1000} if r.suite == "2x602" else {})
    title = "Our means minus the paper's (Table VI)"
    page, appendix = written_pages(copied)
    (line,) = (line for line in table_lines(appendix, title) if line[:3] == ["2x602", "SASA", "char"])
    assert line[3:5] == ["2", "-0.20"]  # 0.5 against the paper's 0.70
    sd = statistics.stdev([0.3, 0.7])
    assert f"0.50±{sd:.2f} (0.70)" in appendix
    assert f"0.50±{sd:.2f} (0.70±0.39)" in page
    first = next(r for r in read([path]) if (r.suite, r.seed, r.way) == ("2x602", 0, AS_PUBLISHED))
    append(path, [dataclasses.replace(first, batches=None, chars_right=first.chars_valid)])
    found = {(r.suite, r.seed): r for r in load_results(copied).trained["SASA"].measured()}
    assert found["2x602", 0].char == 1.0
