"""What jobs find done, how they go on after being stopped at any moment, and what they take."""

import dataclasses
import json
import statistics
from pathlib import Path

import pytest
import torch

from gridsum.config.fields import override
from gridsum.config.variants import INTERPRETATIONS, PAPER_VARIANTS
from gridsum.evaluation.records import append, read
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.study.jobs import Measure
from gridsum.study.reproduction import AS_PUBLISHED, ON_EVERY_GRID, OVERTRAINED, REPORTED, Reproduction
from gridsum.training.folders import Checkpoint, FolderError, read_setup, save_checkpoint
from tests.study.conftest import CPU, ROOT, of_any_commit, quick_jobs


def test_the_whole_reproduction_is_found_done(quick: Path, tmp_path: Path):
    jobs = quick_jobs()
    for job in jobs.values():
        assert job.state(quick).finished
        assert job.seconds(quick, CPU) == 0 < job.seconds(tmp_path, CPU)
    assert [stage for stage, subject in jobs if subject == "base"] == ["train", "validate", "measure"]
    assert {subject for stage, subject in jobs if stage == "overtrain"} == {f"{n}-overtrained" for n in OVERTRAINED}


def test_a_training_that_has_been_measured_is_done_without_its_weights(copied: Path):
    for weights in (copied / "base").glob("seed-*/weights.safetensors"):
        weights.unlink()
    train, records = quick_jobs("base")["train", "base"], copied / "records" / "base.jsonl"
    assert train.state(copied).finished
    lines = records.read_text().splitlines(keepends=True)
    records.write_text("".join(lines[:-1]))
    assert not train.state(copied).finished, "what is not measured needs the weights"
    records.write_text("".join(lines))
    (copied / "base" / "validation.jsonl").unlink()
    assert not train.state(copied).finished


def test_a_full_reproduction_has_the_papers_numbers():
    assert not {suite.name for suite in COLLECTIONS["validation"]} & {suite.name for suite in REPORTED}
    assert {suite.name for suite in COLLECTIONS["all"]} <= {suite.name for suite in REPORTED}
    jobs = {(job.stage, job.training.name): job for job in Reproduction(tuple(PAPER_VARIANTS), tuple(range(10))).jobs()}
    assert [name for stage, name in jobs if stage == "train"] == list(PAPER_VARIANTS)
    assert all(jobs["train", name].training.total == 510 for name in PAPER_VARIANTS)
    assert jobs["overtrain", "base-overtrained"].training.total == 300
    measure = jobs["measure", "base"]
    assert isinstance(measure, Measure)
    samples = {asked.suite.name: asked.suite.samples for asked in measure.sheet.asked}
    assert [samples[suite.name] for suite in COLLECTIONS["ablation"]] == [640, 640, 640]
    assert {samples[suite.name] for suite in COLLECTIONS["long-digits"]} == {128}


def test_another_interpretation_changes_every_variant_alike():
    both = [Reproduction(tuple(PAPER_VARIANTS), (0,), setting=name).jobs() for name in (None, "text")]
    for ours, theirs in zip(*both, strict=True):
        if ours.stage == "train":
            assert theirs.training.config == override(ours.training.config, INTERPRETATIONS["text"])


def test_overtraining_follows_the_standard_training(quick: Path):
    standard, _ = read_setup(quick / "base")
    config, seeds = read_setup(quick / "base-overtrained")
    assert config.training.first_step == standard.training.epochs * standard.training.steps_per_epoch
    assert config.objective.weight == 5e-4
    assert config.model == standard.model
    assert set(seeds) <= {0, 1}
    assert json.loads((quick / "base-overtrained" / "config.json").read_text())["start"]["moments"], (
        "the optimiser goes on"
    )


def test_a_run_that_lacks_a_record_is_measured_alone(copied: Path):
    path = copied / "base" / "validation.jsonl"
    whole = of_any_commit(path)
    path.unlink()
    append(path, [record for record in whole if (record.seed, record.suite) != (1, "[5,8]x[1,8]")])
    job = quick_jobs("base")["validate", "base"]
    assert job.state(copied).done == 1
    job.run(copied, CPU)
    assert sorted(map(str, of_any_commit(path))) == sorted(map(str, whole))


def test_every_suite_is_measured_on_every_grid_and_on_the_published_ones(quick: Path):
    ways: dict[str, set[tuple[str, str]]] = {}
    for record in read([quick / "records" / "base.jsonl"]):
        ways.setdefault(record.suite, set()).add(record.way)
    both = {ON_EVERY_GRID, AS_PUBLISHED}
    long = both | {("every", "hard"), ("published", "hard")}
    assert ways.pop("examples") == {ON_EVERY_GRID}
    assert {suite for suite, found in ways.items() if found == long} == {"2x100", "2x602"}
    assert all(found >= both for found in ways.values())
    assert {record.way for record in read([quick / "base" / "validation.jsonl"])} == {ON_EVERY_GRID}


def test_records_of_too_few_problems_or_another_seed_do_not_count(quick: Path):
    job = quick_jobs("base")["validate", "base"]
    assert isinstance(job, Measure)
    sheet = job.sheet
    assert len(sheet.records(quick, (0, 1))) == 4
    assert len(sheet.records(quick, (0,))) == 2
    for others in (
        dataclasses.replace(sheet, evaluation_seed=8),
        dataclasses.replace(sheet, model="another"),
        dataclasses.replace(sheet, asked=tuple(asked._replace(way=AS_PUBLISHED) for asked in sheet.asked)),
        dataclasses.replace(
            sheet,
            asked=tuple(asked._replace(suite=dataclasses.replace(asked.suite, samples=640)) for asked in sheet.asked),
        ),
        dataclasses.replace(sheet, asked=tuple(asked._replace(suite=REPORTED[0]) for asked in sheet.asked)),
    ):
        assert not others.records(quick, (0, 1))


def test_a_folder_of_another_training_is_refused(quick: Path):
    training = quick_jobs("base")["train", "base"].training
    other = dataclasses.replace(training, config=override(training.config, {"objective.weight": 0.1}))
    with pytest.raises(FolderError, match=r"objective\.weight = 0\.05, not 0\.1\. It stays as it is; .*--out mine$"):
        other.done(quick)
    with pytest.raises(FolderError, match=r"without \[7\]; ask for --seeds that it has"):
        dataclasses.replace(training, seeds=(0, 7)).done(quick)
    precise = dataclasses.replace(training, config=override(training.config, {"training.precision": "tf32"}))
    assert precise.done(quick) == 2


def test_an_unfinished_training_is_neither_measured_nor_overtrained(copied: Path):
    save_checkpoint(copied / "base", Checkpoint(1, (0, 1), {}))
    states = {key: job.state(copied) for key, job in quick_jobs("base").items()}
    assert states["train", "base"].done == 1
    assert states["measure", "base"].waits_for == "the training of base"
    assert states["overtrain", "base-overtrained"].waits_for == "the validation of base"


# Estimates, against what was measured


def test_the_gpus_trainings_are_estimated_as_they_were_measured(tmp_path: Path):
    measured = json.loads((ROOT / "benchmarks/records/ablation-2026-11-17.json").read_text())["steps"]["ms"]
    for name, ms in measured.items():
        training = Reproduction((name,), tuple(range(10))).jobs()[0].training
        train = dataclasses.replace(training, config=override(training.config, {"training.precision": "bf16"}))
        assert train.seconds(tmp_path, torch.device("cuda")) == pytest.approx(510 * 10 * ms / 1e3, rel=0.35), name


def test_networks_that_halt_early_are_less_work_where_samples_leave(tmp_path: Path):
    """On a CPU; with KL they do not halt early. Measured: the steps of the last epochs of the results."""
    jobs = [job for job in Reproduction(("base", "ponderReg"), (0,)).jobs() if job.stage == "train"]
    time = {job.training.name: job.seconds(tmp_path, CPU) for job in jobs}
    runs = {name: json.loads((ROOT / "results" / name / "summary.json").read_text())["runs"].values() for name in time}
    steps = {name: statistics.fmean(run["steps"][-1] for run in found) for name, found in runs.items()}
    assert 0.5 < time["base"] / time["ponderReg"] / (steps["base"] / steps["ponderReg"]) < 2
