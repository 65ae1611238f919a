"""`gridsum reproduce` as a person uses it."""

import signal
import sys
from pathlib import Path

import pytest

from benchmarks.ship import ShippingError, ship_exact
from gridsum.automaton.files import read_rule, shipped_rule
from gridsum.evaluation.records import read
from gridsum.evaluation.suites import Suite
from gridsum.io.disk import read_objects
from gridsum.model.store import SHIPPED
from gridsum.study import reproduction, tables
from gridsum.study.jobs import MACHINES
from gridsum.study.reproduction import Reproduction, named
from gridsum.study.results import load_results
from gridsum.training.folders import create, read_setup, write_outcome
from tests.children import as_new, in_child, stopped
from tests.children import command as work_of
from tests.cli.conftest import Command as Reproduce
from tests.faults.trainings import outcome
from tests.study.conftest import ROOT, of_any_commit, quick_jobs, table_lines


@pytest.fixture
def reproduce(command: Reproduce) -> Reproduce:
    return lambda *arguments: command("reproduce", "--device", "cpu", *arguments)


def test_what_is_done_is_not_done_again(reproduce: Reproduce, quick: Path):
    made_anew = {"results.md", "summary.json", "manifest.json", "tables.md"}
    files = [path for path in quick.rglob("*") if path.name not in made_anew and path.is_file()]
    before = {path: path.stat().st_mtime_ns for path in files}
    stages = ("train", "validate", "overtrain", "measure", "report")  # figures are made anew
    status, _, err = reproduce("--quick", "--out", str(quick), "--only", *stages)
    assert status == 0
    assert "epoch" not in err.replace("epochs", "")
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_killed_at_any_moment_it_ends_with_the_same(reproduce: Reproduce, quick: Path, tmp_path: Path):
    """By SIGTERM, between two epochs' logs, then by SIGKILL, with records begun."""
    arguments = ["--quick", "--variants", "SASA", "--out", str(tmp_path)]
    log, validation = tmp_path / "SASA" / "seed-0" / "metrics.jsonl", tmp_path / "SASA" / "validation.jsonl"
    records = tmp_path / "records" / "SASA.jsonl"
    for moment, number, status in ((log, signal.SIGTERM, 143), (records, signal.SIGKILL, -signal.SIGKILL)):
        done = stopped(["reproduce", "--device", "cpu", *arguments], number, str(moment), 1)
        assert done.status == status, done.err
        assert ("what is done is kept; go on with: gridsum reproduce" in done.err) == (moment == log)
        assert moment.stat().st_size
        assert quick_jobs("SASA")["train", "SASA"].state(tmp_path).done == (1 if moment == log else 2)
    assert reproduce(*arguments, "--only", "train", "validate", "measure").status == 0
    assert of_any_commit(records) == of_any_commit(quick / "records" / "SASA.jsonl")
    assert of_any_commit(validation) == of_any_commit(quick / "SASA" / "validation.jsonl")
    found = outcome(tmp_path / "SASA")
    assert found.pop("validation.jsonl")
    assert "seed-1/weights.safetensors" in found
    assert found.items() <= outcome(quick / "SASA").items()
    assert not list(tmp_path.rglob("checkpoint*"))
    stretches = list(read_objects(tmp_path / "SASA" / MACHINES))
    assert [(stretch["epochs"], stretch["precision"]) for stretch in stretches] == [([1, 1], "fp32"), ([2, 2], "fp32")]


def test_a_job_at_a_time(reproduce: Reproduce, tmp_path: Path):
    quickly = ["--quick", "--variants", "SASA", "--seeds", "3", "--out", str(tmp_path)]
    status, _, err = reproduce(*quickly, "--only", "measure")
    assert status == 1
    assert "measure SASA is left out: it waits for the training of SASA" in err
    assert not list(tmp_path.iterdir())
    assert reproduce(*quickly, "--only", "train").status == 0
    assert {path.name for path in tmp_path.iterdir()} == {"SASA"}
    assert reproduce(*quickly, "--only", "validate", "--commit", "abc").status == 0
    validated = read([tmp_path / "SASA" / "validation.jsonl"])
    assert [(record.seed, record.commit) for record in validated] == [(3, "abc")] * 2
    assert reproduce(*quickly, "--only", "report").status == 0
    assert "Missing are: measure SASA." in (tmp_path / "results.md").read_text()


def test_another_reproductions_folder_is_refused(reproduce: Reproduce, quick: Path):
    status, _, err = reproduce("--out", str(quick), "--seeds", "0,1")
    assert status == 2
    assert "base was trained with model.width = 16, not 64. It stays as it is; leave it out with --variants" in err


def test_the_paper_s_selection_is_repeated_block_by_block(reproduce: Reproduce, copied: Path):
    """In a folder that holds the first block already; each number stands beside what all blocks came to."""
    blocks = ["--quick", "--variants", "base", "--blocks", "0-1", "--out", str(copied)]
    status, _, err = reproduce(*blocks, "--only", "train", "validate", "overtrain", "measure", "report")
    assert status == 0
    assert read_setup(copied / "block-1" / "base")[1] == (2, 3)
    assert "block-1/base: best on validation are seed" in err
    runs = [one.standing_for("base") for one in load_results(copied).replications()]
    assert [run.name for run in runs if run] == ["base-overtrained"] * 2
    found = [{record.suite: record for record in run.measured()} for run in runs if run]
    numbers = [one for one in tables.numbers(load_results(copied).replications()) if one.variant == "base"]
    for number in numbers:
        assert number.found == [getattr(records[number.suite], number.measure) for records in found]
    page = (copied / "results.md").read_text()
    assert "There are 2, each of ten seeds" in page
    for line in table_lines(page, "The best models"):
        shown = {one.measure: one.text for one in numbers if one.suite == line[0]}
        assert line[1:3] == [shown.get("char", "–"), shown.get("seq", "–")]


def test_of_the_results_of_the_repository_nothing_is_left_to_do(reproduce: Reproduce, monkeypatch):
    monkeypatch.chdir(ROOT)
    status, out, err = reproduce("--dry-run")
    assert (status, err) == (0, "")
    assert "nothing is left to do" in out


def test_training_and_measuring_need_no_figures(tmp_path: Path):
    def without() -> int:
        as_new("gridsum", "matplotlib")
        sys.modules |= {"matplotlib": None}  # pyright: ignore[reportAttributeAccessIssue]
        stages = ("train", "validate", "figures", "report")
        quick = ("--quick", "--variants", "fixedTime", "--seeds", "0", "--device", "cpu", "--out", str(tmp_path))
        return work_of("reproduce", *quick, "--only", *stages)()

    done = in_child(without)
    assert done.status == 0, done.err
    assert "left out" in done.err


def test_names_stand_for_variants_and_baselines():
    assert named(["lstm-act/native", "dngpu", "lstm-act", "exact", "base"]) == (
        *("lstm-act/native", "dngpu/matched", "dngpu/native", "lstm-act/matched", "exact", "base"),
    )
    assert len(named(["baselines"])) == 14


def test_the_chosen_run_of_exact_is_measured_and_shipped(
    reproduce: Reproduce, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of two seeds, of which one is the run that ships, on two small suites."""
    monkeypatch.setattr(reproduction, "OF_EXACT", (Suite.parse("2x15"), Suite.parse("[1,4]x[1,10]")))
    options = ["--variants", "exact", "--out", str(tmp_path), "--seeds", "3,64", "--quick"]
    (train, _) = Reproduction(("exact",), (3, 64), quick=True).jobs()
    create(tmp_path / "exact", train.training.config, (3, 64))
    for seed, proved in ((3, False), (64, True)):
        there = tmp_path / "exact" / f"seed-{seed}"
        outcome = {"seed": seed, "proved": proved, "rounds": [], "round": 0 if proved else None, "margin": 1.0}
        (there / "weights.safetensors").write_bytes((SHIPPED / "exact.safetensors").read_bytes())
        write_outcome(there / "proof.json", outcome)
    assert reproduce(*options, "--only", "measure").status == 0
    records = read([tmp_path / "records" / "exact.jsonl"])
    assert [(record.suite, record.seed, record.samples) for record in records] == [
        ("2x15", 64, 2),
        ("[1,4]x[1,10]", 64, 2),
    ]
    assert all(record.sequences_right == record.samples for record in records)
    place = tmp_path / "shipped"
    with pytest.raises(ShippingError, match=r"no run of exact in .* is proved"):
        ship_exact(tmp_path, place, (3,))
    assert ship_exact(tmp_path, place, (3, 64)) == 64
    assert reproduce(*options, "--only", "measure").status == 0
    assert len(read([tmp_path / "records" / "exact.jsonl"])) == 2, "what is measured is not measured again"
    assert read([place / "exact.jsonl"]) == records
    assert read_rule(place / "exact.rule.json").to_json() == shipped_rule("exact").to_json()  # type: ignore[union-attr]
    assert (place / "exact.safetensors").read_bytes() == (SHIPPED / "exact.safetensors").read_bytes()


def test_baselines_are_measured_and_reported(reproduce: Reproduce, tmp_path: Path):
    asked = ["--variants", "s2g-cnn/native", "--quick", "--out", str(tmp_path), "--commit", "abc"]
    assert reproduce(*asked).status == 0
    records = read([tmp_path / "records" / "baselines.jsonl"])
    assert {record.commit for record in records} == {"abc"}
    assert {(record.model, record.variant) for record in records} == {("s2g-cnn-native", "s2g-cnn/native")}
    assert "**Own papers' numbers**" in (tmp_path / "comparison.md").read_text()
