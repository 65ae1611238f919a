"""Estimates, against what was measured."""

import json
import statistics
from pathlib import Path

import pytest
import torch

from gridsum.ops.costs import Estimate, Work
from gridsum.ops.devices import product_rate
from gridsum.study.reproduction import Reproduction
from gridsum.training.summary import read_summary
from tests.study.conftest import ROOT, quick_jobs

GPU = torch.device("cuda")
RECORDS = ROOT / "benchmarks" / "records"


def test_the_gpus_trainings_are_estimated_as_they_were_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As if a large product were as fast here as on the GPU that the records are of."""
    rate = json.loads((RECORDS / "profile-h200-2026-11-17.json").read_text())["records"][0]["product_rate"]
    monkeypatch.setattr("gridsum.ops.costs.product_rate", lambda *_: rate)
    measured = json.loads((RECORDS / "ablation-2026-11-17.json").read_text())["steps"]["ms"]
    for name, ms in measured.items():
        train = Reproduction((name,), tuple(range(10))).jobs()[0]
        seconds = Estimate(GPU, "bf16").seconds(train.work(tmp_path, GPU))
        assert seconds == pytest.approx(510 * 10 * ms / 1e3, rel=0.35), name


def test_work_falls_to_nothing_as_it_is_done(quick: Path, tmp_path: Path):
    cpu = torch.device("cpu")
    for job in quick_jobs().values():
        assert job.work(quick, cpu) == Work()
        assert job.work(tmp_path, cpu).training + job.work(tmp_path, cpu).inference > 0


def test_networks_that_halt_early_are_less_work_where_samples_leave(tmp_path: Path):
    """On a CPU; with KL they do not halt early. Measured: the steps of the last epochs of the results."""
    jobs = [job for job in Reproduction(("base", "ponderReg"), (0,), "fp32").jobs() if job.stage == "train"]
    work = {job.training.name: job.work(tmp_path, torch.device("cpu")).training for job in jobs}
    runs = {name: read_summary(ROOT / "results" / name).runs.values() for name in work}
    steps = {name: statistics.fmean(run.steps[-1] for run in found) for name, found in runs.items()}
    assert 0.5 < work["base"] / work["ponderReg"] / (steps["base"] / steps["ponderReg"]) < 2


def test_the_product_is_timed_here(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gridsum.ops.costs.product_rate", product_rate)
    assert 0 < Estimate(torch.device("cpu"), "fp32").seconds(Work(training=1e9)) < 60
