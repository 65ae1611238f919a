"""The results page: whole, partial, and true to its records."""

import dataclasses
import re
import shutil
import statistics
from pathlib import Path

import pytest

from gridsum.evaluation.records import Record, append, read
from gridsum.reproduction import accounts, comparison
from gridsum.reproduction.drawings import drawings_at
from gridsum.reproduction.page import write_page
from gridsum.reproduction.results import Results, load_results
from gridsum.reproduction.selection import TERMS
from gridsum.variants import PAPER_VARIANTS
from tests.reproduction.conftest import ROOT, rewrite_records, table_lines

FOLLOWED_SECTION = "## The best models, as the published code reads the paper"
KINDS = ("passed", "reached", "short")
FOLLOWED_TRAININGS = ("base-published", "base-published-overtrained")


def _page(folder: Path) -> str:
    return write_page(load_results(folder), folder / "results.md", "gridsum reproduce --only report")


def _drawn(page: Path, results: Results) -> list[tuple[Path, str]]:
    return [(path, drawing.captioned(results)) for drawing, path in drawings_at(page).items() if path.exists()]


def test_the_page_that_the_command_wrote_is_what_the_records_say(quick: Path):
    written = (quick / "results.md").read_text()
    command = re.search(r"Made by `(.*?)`", written)
    assert command is not None
    assert "--only figures report" in command[1]
    results, page = load_results(quick), quick / "results.md"
    assert written == write_page(results, page, command[1], _drawn(page, results))


def test_every_part_is_there(quick: Path):
    page = _page(quick)
    for title in (
        *("Table III", "Table IV, left", "Table IV, right", "Table V", "Table VI"),
        *("Number by number", "Comparisons", "Recurrent steps during training", "Validation", "Every run"),
        *("What training took", "base under other readings", "ponderReg under other readings"),
    ):
        assert title in page
    assert "records of base on 2x[1,2000], 2x2000, 2x[1,4000], 2x4000" in page  # what --quick leaves out


def test_links_lead_from_the_page_to_the_folder(quick: Path, tmp_path: Path):
    page = write_page(load_results(quick), tmp_path / "docs" / "page.md", "command")
    targets = [(tmp_path / "docs" / target).resolve() for target in re.findall(r"\]\((.*?)\)", page)]
    names = ("base-overtrained", "noGroups-overtrained")
    assert targets == [quick.resolve(), *((quick / "records" / f"{name}.jsonl").resolve() for name in names)]
    assert all(target.exists() for target in targets)


def test_the_brief_counts_what_the_tables_show(quick: Path):
    page = _page(quick)
    for title, start in (
        ("Number by number (Tables III and IV)", "- Tables III and IV, one run: "),
        ("Our means minus the paper's (Table VI)", "- Table VI, means over seeds: "),
    ):
        standings = [line[-1].split()[0] for line in table_lines(page, title)]
        counts = ", ".join(f"{standings.count(kind)} {kind}" for kind in KINDS)
        assert f"{start}Of {len(standings)} numbers: {counts}.\n" in page
    assert "- The paper has it that noGroups is best on digits: " in page


def test_figures_are_shown_where_there_are_any(quick: Path):
    page = write_page(load_results(quick), quick / "results.md", "", [(quick / "figures" / "ring.svg", "A ring.")])
    assert "![A ring.](figures/ring.svg)" in page
    assert "## Figures" not in _page(quick)


@pytest.mark.parametrize("kept", [["base"], ["noGroups"], ["fixedTime", "SASA"], ["base", "ponderReg"]])
def test_a_part_of_the_variants_makes_a_page_that_says_what_is_missing(kept: list[str], copied: Path):
    for name in {
        *PAPER_VARIANTS,
        "base-overtrained",
        "noGroups-overtrained",
        "base-running",
        "ponderReg-running",
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
        assert page.count("**not measured**") == 3
    if lost != "records":
        assert "- the validation of base\n" in page


def test_the_page_in_the_documents_is_made_of_the_published_results():
    page = ROOT / "docs" / "results.md"
    command = "gridsum reproduce --out results --only figures report"
    results = load_results(ROOT / "results")
    assert page.read_text() == write_page(results, page, command, _drawn(page, results)), f"run: {command}"


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


def test_the_best_models_of_the_reading_that_is_followed_have_a_section_of_their_own(changing: Path, quick: Path):
    assert FOLLOWED_SECTION not in _page(quick)
    chosen = load_results(changing).chosen("base-published")
    counts = {chosen["terms"]: 0, 1 - chosen["terms"]: 2}  # as specified, another run is the best
    rewrite_records(
        changing / "base" / "validation.jsonl",
        {(seed, TERMS): {"sequences_right": right, "samples": 2} for seed, right in counts.items()},
    )
    before = table_lines(_page(changing), "Number by number (Tables III and IV)")
    path = changing / "records" / "base-published-overtrained.jsonl"
    rewrite_records(path, {(chosen["terms"], "[7,10]x[1,10]"): {"sequences_right": 2, "samples": 2}})
    results = load_results(changing)
    assert list(results.overtrained) == ["base", "noGroups", "base-published"]
    page = _page(changing)
    section = page.split(FOLLOWED_SECTION)[1].split("\n## ")[0]
    assert f"- base-published: seed {chosen['digits']} (best on digits), seed {chosen['terms']} (best on" in section
    assert f"Beside the paper's base stands seed {chosen['terms']}, the best on terms" in section
    for title in ("Table III", "Table IV, left", "Table IV, right", "Table V"):
        assert f"({title}), under published**" in section
    lines = table_lines(page, "Number by number (Tables III and IV), under published")
    assert {line[0] for line in lines} == {"base-published-overtrained"}
    assert ["base-published-overtrained", "[7,10]x[1,10]", "seq", "1.0000", "0.25", "passed"] in lines
    specified = table_lines(page, "Number by number (Tables III and IV)")
    assert specified == before, "those stay as they were"

    def counted(found: list[list[str]]) -> str:
        standings = [line[-1].split()[0] for line in found]
        return f"{', '.join(f'{standings.count(kind)} {kind}' for kind in KINDS)} (of {len(found)} numbers)"

    told = f"{counted(specified)} as specified; {counted(lines)} under `published`"
    assert f"- Tables III and IV, one run: {told}.\n" in page


def test_the_variants_under_the_reading_that_is_followed_have_a_table_of_their_own(changing: Path, quick: Path):
    title = "Our means minus the paper's (Table VI)"
    assert f"{title}, under published" not in _page(quick)
    before = table_lines(_page(changing), title)
    counts = {(seed, "2x602"): {"chars_right": right, "chars_valid": 1000} for seed, right in ((0, 300), (1, 700))}
    rewrite_records(changing / "records" / "base-published.jsonl", counts)
    page = _page(changing)
    assert table_lines(page, title) == before, "as specified they stay as they were"
    lines = table_lines(page, f"{title}, under published")
    assert {line[1] for line in lines} == {"base"}, "the only variant that was trained so"
    (line,) = (line for line in lines if line[:3] == ["2x602", "base", "char"])
    assert line[3] == "+0.27"  # 0.5 against the paper's 0.23
    shown = table_lines(page, "Variants over training seeds (Table VI), under published")
    assert f"0.50±{statistics.stdev([0.3, 0.7]):.2f} (0.70)" in shown[0]
    assert f"(of {len(lines)} numbers) under `published`.\n" in page.split("- Table VI, means over seeds: ")[1]


def test_the_account_includes_what_was_overtrained_under_a_reading(followed: Path):
    results = load_results(followed)
    seeds = {name: list(map(str, results.trained[name].seeds)) for name in FOLLOWED_TRAININGS}
    for text, title in (
        (accounts.selection(results), "Validation"),
        (accounts.every_seed(results), "Every run"),
    ):
        lines = table_lines(text, title)
        assert {name: [line[1] for line in lines if line[0] == name] for name in seeds} == seeds
    costs = {line[0]: line[1] for line in table_lines(accounts.cost(results), "What training took")}
    assert {name: costs[name] for name in seeds} == {name: str(len(found)) for name, found in seeds.items()}


def test_what_a_training_of_the_reading_that_is_followed_lacks_is_missing_once_it_was_begun(
    changing: Path, quick: Path
):
    def lacking(folder: Path) -> list[str]:
        return [what for what in accounts.missing(load_results(folder)) if "-published" in what]

    assert lacking(quick) == []
    standard, further = FOLLOWED_TRAININGS
    long = "2x[1,2000], 2x2000, 2x[1,4000], 2x4000"  # what --quick leaves out
    assert lacking(changing) == [f"records of {name} on {long}" for name in FOLLOWED_TRAININGS]
    (changing / standard / "validation.jsonl").unlink()
    (changing / "records" / f"{standard}.jsonl").unlink()
    (changing / "records" / f"{further}.jsonl").unlink()
    assert lacking(changing) == [
        f"records of {standard} on all suites",
        f"the validation of {standard}",
        f"records of {further} on all suites",
    ]
    assert FOLLOWED_SECTION not in _page(changing), "there is nothing to show"
    shutil.rmtree(changing / further)
    assert lacking(changing)[-1] == f"the training of {further}"
    shutil.rmtree(changing / standard)
    assert lacking(changing) == [], "the reading may well be left alone"


def test_a_diverged_run_is_shown_as_one(copied: Path):
    log = copied / "SASA" / "seed-1" / "metrics.jsonl"
    log.write_text(log.read_text().splitlines(keepends=True)[0])
    results = load_results(copied)
    assert accounts.set_aside(results.trained["SASA"]) == {1: 1}
    lines = [line for line in table_lines(_page(copied), "Every run") if line[0] == "SASA"]
    assert [line[2] for line in lines] == ["2", "1 (diverged)"]
    assert not any("epochs" in what and "SASA" in what for what in accounts.missing(results))


def test_logs_without_times_are_said_to_have_none():
    results = load_results(ROOT / "results")
    base = results.trained["base"]
    untimed = dataclasses.replace(
        base,
        logs={s: [{k: v for k, v in line.items() if k != "seconds"} for line in log] for s, log in base.logs.items()},
    )
    assert accounts.trained_seconds(untimed) is None
    timed = dataclasses.replace(base, logs={0: [{"seconds": 1.5}, {"seconds": 2.0}], 1: [{"seconds": 1.5}]})
    assert accounts.trained_seconds(timed) == 3.5


def test_fleets_that_were_trained_apart_add_up():
    base = load_results(ROOT / "results").trained["base"]
    first, second = [{"seconds": 1.5}, {"seconds": 2.0}], [{"seconds": 3.0}, {"seconds": 4.0}]
    apart = dataclasses.replace(base, logs={0: first, 1: first, 2: second, 3: second[:1]})
    assert accounts.trained_seconds(apart) == 10.5


def test_the_last_record_of_a_run_counts(copied: Path):
    path = copied / "records" / "SASA.jsonl"
    first: Record = next(record for record in read([path]) if record.suite == "2x602" and record.seed == 0)
    append(path, [dataclasses.replace(first, chars_right=first.chars_valid)])
    assert load_results(copied).trained["SASA"].of("2x602")[0].char == 1.0
