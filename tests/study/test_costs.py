"""Estimates, against what was measured."""

import json
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gridsum.config.fields import override
from gridsum.study.reproduction import Reproduction
from tests.study.conftest import ROOT, quick_jobs

GPU, CPU = torch.device("cuda"), torch.device("cpu")


def test_the_gpus_trainings_are_estimated_as_they_were_measured(tmp_path: Path):
    measured = json.loads((ROOT / "benchmarks/records/ablation-2026-11-17.json").read_text())["steps"]["ms"]
    for name, ms in measured.items():
        training = Reproduction((name,), tuple(range(10))).jobs()[0].training
        train = replace(training, config=override(training.config, {"training.precision": "bf16"}))
        assert train.seconds(tmp_path, GPU) == pytest.approx(510 * 10 * ms / 1e3, rel=0.35), name


def test_work_falls_to_nothing_as_it_is_done(quick: Path, tmp_path: Path):
    for job in quick_jobs().values():
        assert job.seconds(quick, CPU) == 0 < job.seconds(tmp_path, CPU)


def test_networks_that_halt_early_are_less_work_where_samples_leave(tmp_path: Path):
    """On a CPU; with KL they do not halt early. Measured: the steps of the last epochs of the results."""
    jobs = [job for job in Reproduction(("base", "ponderReg"), (0,)).jobs() if job.stage == "train"]
    time = {job.training.name: job.seconds(tmp_path, CPU) for job in jobs}
    runs = {name: json.loads((ROOT / "results" / name / "summary.json").read_text())["runs"].values() for name in time}
    steps = {name: statistics.fmean(run["steps"][-1] for run in found) for name, found in runs.items()}
    assert 0.5 < time["base"] / time["ponderReg"] / (steps["base"] / steps["ponderReg"]) < 2
