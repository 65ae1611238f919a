"""The results page: whole, partial, and true to its records."""

import dataclasses
import re
import shutil
import statistics
from pathlib import Path

import pytest

from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.records import Record, append, read
from gridsum.study import accounts, comparison
from gridsum.study.drawings import drawings_at
from gridsum.study.manifest import checksum, keep, read_manifest
from gridsum.study.page import APPENDICES, NOTES, write_pages
from gridsum.study.reproduction import AS_PUBLISHED, ON_EVERY_GRID
from gridsum.study.results import Results, load_results
from tests.study.conftest import ROOT, rewrite_records, table_lines

KINDS = ("passed", "reached", "open", "short")


def _pages(folder: Path) -> dict[str, str]:
    made = write_pages(load_results(folder), folder / "results.md", "gridsum reproduce --only report")
    return {path.name: text for path, text in made.items()}


def _page(folder: Path) -> str:
    """The page and its appendices, one after the other."""
    return "\n".join(_pages(folder).values())


def _drawn(page: Path, results: Results) -> list[tuple[Path, str]]:
    return [(path, drawing.captioned(results)) for drawing, path in drawings_at(page).items() if path.exists()]


def test_the_pages_that_the_command_wrote_are_what_the_records_say(quick: Path):
    page = quick / "results.md"
    command = re.search(r"Made by `(.*?)`", page.read_text())
    assert command is not None
    assert "--only figures report" in command[1]
    results = load_results(quick)
    made = write_pages(results, page, command[1], _drawn(page, results))
    assert {path.name for path in made} == {"results.md", *APPENDICES}
    for path, text in made.items():
        assert path.read_text() == text


def test_every_part_is_there(quick: Path):
    page = _page(quick)
    for title in (
        *("Table III", "Table IV, left", "Table IV, right", "Table V", "Table VI"),
        *("Number by number", "Recurrent steps during training", "Validation", "Every run", "Placement"),
        *("What training took", "The best models", "The variants", "On every grid size", "nothing is tested"),
    ):
        assert title in page
    assert "2x[1,2000], 2x2000, 2x[1,4000], 2x4000" in page  # what --quick leaves out, among others


def test_links_lead_somewhere(quick: Path, tmp_path: Path):
    pages = write_pages(load_results(quick), tmp_path / "docs" / "page.md", "command")
    for path, text in pages.items():
        targets = [(path.parent / target).resolve() for target in re.findall(r"\]\((.*?)\)", text)]
        assert quick.resolve() in targets
        assert all(target.exists() or target in pages for target in targets)


def test_what_a_person_has_to_say_is_put_on_the_page(copied: Path):
    (copied / NOTES).write_text("It was a rainy day.\n")
    assert "\nIt was a rainy day.\n" in _pages(copied)["results.md"]


def test_the_brief_counts_what_the_tables_show(quick: Path):
    pages = _pages(quick)
    for title, start, appendix in (
        ("Number by number (Tables III and IV)", "- Tables III and IV, one run: ", "best-models.md"),
        ("Our means minus the paper's (Table VI)", "- Table VI, means over seeds: ", "variants.md"),
    ):
        standings = [re.split("[ ,]", line[-1])[0] for line in table_lines(pages[appendix], title)]
        counts = ", ".join(f"{standings.count(kind)} {kind}" for kind in KINDS)
        assert f"{start}Of {len(standings)} numbers: {counts}.\n" in pages["results.md"]


def test_figures_are_shown_where_there_are_any(quick: Path):
    page, *_ = write_pages(
        load_results(quick), quick / "results.md", "", [(quick / "figures" / "ring.svg", "A ring.")]
    ).values()
    assert "![A ring.](figures/ring.svg)" in page
    assert "## Figures" not in _page(quick)


@pytest.mark.parametrize("kept", [["base"], ["noGroups"], ["fixedTime", "SASA"], ["base", "ponderReg"]])
def test_a_part_of_the_variants_makes_a_page_that_says_what_is_missing(kept: list[str], copied: Path):
    for name in {
        *PAPER_VARIANTS,
        "base-overtrained",
        "noGroups-overtrained",
    } - set(kept):
        shutil.rmtree(copied / name)
        (copied / "records" / f"{name}.jsonl").unlink()
    page = _page(copied)
    for name in PAPER_VARIANTS:
        assert (f"- the training of {name}\n" in page) == (name not in kept)
    assert {line[1] for line in table_lines(page, "Variants over training seeds (Table VI)")} == set(kept)


@pytest.mark.parametrize("lost", ["records", "validation", "everything but weights"])
def test_a_page_can_be_made_at_any_stage(lost: str, copied: Path):
    if lost != "validation":
        shutil.rmtree(copied / "records")
    if lost != "records":
        for path in copied.glob("*/validation.jsonl"):
            path.unlink()
    page = _page(copied)
    assert "Not whole yet" in page
    if lost != "validation":
        assert page.count("**not measured**") == 2 * 3, "on the page and in the appendix"
    if lost != "records":
        assert "- the validation of base\n" in page


def test_the_pages_in_the_documents_are_made_of_the_results():
    page = ROOT / "docs" / "results.md"
    command = "gridsum reproduce --out results --only figures report"
    results = load_results(ROOT / "results")
    for path, text in write_pages(results, page, command, _drawn(page, results)).items():
        assert path.read_text() == text, f"run: {command}"


def test_the_results_are_what_their_manifest_says_and_small():
    folder = ROOT / "results"
    manifest = read_manifest(folder)
    assert {name: checksum(folder / name) for name in manifest["files"]} == manifest["files"]
    assert {name: len(runs) for name, runs in manifest["weights"].items()} == {
        **dict.fromkeys(PAPER_VARIANTS, 10),
        **dict.fromkeys(("base-overtrained", "noGroups-overtrained"), 2),
    }


def test_checksums_of_weights_outlive_the_weights(copied: Path):
    weights = copied / "SASA" / "seed-1" / "weights.safetensors"
    known = checksum(weights)
    weights.unlink()
    shutil.rmtree(copied / "SASA" / "seed-0")
    (copied / "SASA" / "seed-1" / "metrics.jsonl").unlink()
    keep(load_results(copied))
    assert read_manifest(copied)["weights"]["SASA"]["1"] == known
    assert [line[1] for line in table_lines(_page(copied), "Every run") if line[0] == "SASA"] == ["0", "1"]


def test_extra_seeds_are_for_the_orderings_alone(copied: Path):
    before = _pages(copied)
    records = [record for record in read([copied / "records" / "SASA.jsonl"]) if record.way == ON_EVERY_GRID]
    there = copied / "extra-seeds" / "records" / "SASA.jsonl"
    there.parent.mkdir(parents=True)
    append(there, [dataclasses.replace(record, seed=(record.seed or 0) + 10) for record in records])
    after = _pages(copied)
    assert after["variants.md"] == before["variants.md"], "means are of the seeds that were asked for"
    seeds = [line[1] for line in table_lines(after["runs.md"], "Every run") if line[0] == "SASA"]
    assert seeds == ["0", "1", "10", "11"]


def test_another_reading_has_a_table_in_an_appendix(copied: Path):
    (copied / "text").mkdir()
    shutil.copy(copied / "records" / "base.jsonl", copied / "text" / "ablation.jsonl")
    pages = _pages(copied)
    assert "**Under the reading text**" in pages["variants.md"]
    assert "reading" not in pages["results.md"]


def test_numbers_are_those_of_the_records(copied: Path):
    path = copied / "records" / "SASA.jsonl"
    counts = {0: (300, 1000), 1: (700, 1000)}
    rewrite_records(
        path,
        {(seed, "2x602"): {"chars_right": right, "chars_valid": valid} for seed, (right, valid) in counts.items()},
    )
    page = _page(copied)
    (line,) = (
        line
        for line in table_lines(page, "Our means minus the paper's (Table VI)")
        if line[:3] == ["2x602", "SASA", "char"]
    )
    assert line[3] == "-0.20"  # 0.5 against the paper's 0.70
    sd = statistics.stdev([0.3, 0.7])
    assert f"0.50±{sd:.2f} (0.70)" in page
    seeds = [line for line in table_lines(page, "Every run") if line[0] == "SASA"]
    assert [line[5].split(" / ")[0] for line in seeds] == ["0.30", "0.70"]


def test_the_chosen_run_stands_beside_the_papers(copied: Path):
    results = load_results(copied)
    seed = results.chosen("base")["terms"]
    path = copied / "records" / "base-overtrained.jsonl"
    rewrite_records(path, {(seed, "[7,10]x[1,10]"): {"sequences_right": 2, "samples": 2}})
    cells = [cell for cell in comparison.cells(load_results(copied)) if cell.record.suite == "[7,10]x[1,10]"]
    ours = next(cell for cell in cells if cell.record.variant == "base" and cell.measure == "seq")
    assert (ours.record.seed, ours.record.seq, ours.known) == (seed, 1.0, 0.25)
    assert ours.comparison.standing == "passed"
    shown = [line for line in table_lines(_page(copied), "Number by number (Tables III and IV)") if line[5] == "passed"]
    assert ["base-overtrained", "[7,10]x[1,10]", "seq", "1.0000", "0.25", "passed"] in shown


def test_standard_runs_stand_in_until_there_are_overtrained_ones(copied: Path):
    shutil.rmtree(copied / "base-overtrained")
    (copied / "records" / "base-overtrained.jsonl").unlink()
    results = load_results(copied)
    chosen = set(results.chosen("base").values())
    shown = [record for record in comparison.best_models(results) if record.variant == "base"]
    assert {(record.model, record.seed) for record in shown} == {("base", seed) for seed in chosen}
    assert "not overtrained yet" in _page(copied)


def test_a_diverged_run_is_shown_as_one(copied: Path):
    log = copied / "SASA" / "seed-1" / "metrics.jsonl"
    log.write_text(log.read_text().splitlines(keepends=True)[0])
    results = load_results(copied)
    assert accounts.set_aside(results.trained["SASA"]) == {1: 1}
    lines = [line for line in table_lines(_page(copied), "Every run") if line[0] == "SASA"]
    assert [line[2] for line in lines] == ["2", "1 (diverged)"]
    assert not any("epochs" in what and "SASA" in what for what in accounts.missing(results))


def test_the_last_record_of_a_run_counts(copied: Path):
    path = copied / "records" / "SASA.jsonl"
    found = [record for record in read([path]) if (record.suite, record.seed, record.way) == ("2x602", 0, AS_PUBLISHED)]
    first: Record = found[0]
    append(path, [dataclasses.replace(first, batches=None, chars_right=first.chars_valid)])
    assert load_results(copied).trained["SASA"].of("2x602")[0].char == 1.0
