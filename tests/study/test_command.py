"""`gridsum reproduce` as a person uses it."""

import dataclasses
import itertools
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from gridsum.cli import main
from gridsum.cli.reproduce import OUT_OF_TIME, STAGES
from gridsum.evaluation.records import read
from gridsum.study.page import APPENDICES
from tests.children import as_new, in_child, stopped
from tests.children import command as work_of
from tests.study.conftest import ROOT


class Result(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def reproduce(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    def run(*arguments: str) -> Result:
        capsys.readouterr()
        status = main(["reproduce", "--device", "cpu", *arguments])
        printed = capsys.readouterr()
        return Result(status, printed.out, printed.err)

    return run


Reproduce = Callable[..., Result]


def _told(path: Path) -> list[str]:
    """Records, but for the commit they are of."""
    return [str(dataclasses.replace(record, commit=None)) for record in read([path])]


def test_a_dry_run_says_what_is_left_and_writes_nothing(reproduce: Reproduce, tmp_path: Path):
    status, out, _ = reproduce("--dry-run", "--out", str(tmp_path / "new"))
    assert status == 0
    assert not (tmp_path / "new").exists()
    assert "train      noGroups                0 of 510 epochs     about " in out
    assert "expect half of that to twice that" in out
    stages = [line.split()[0] for line in out.splitlines()]
    assert set(stages[:-1]) == {"train", "validate", "overtrain", "measure"}


def test_a_dry_run_says_what_is_done(reproduce: Reproduce, quick: Path):
    status, out, _ = reproduce("--quick", "--out", str(quick), "--dry-run")
    assert status == 0
    assert out.count("  done\n") == 21
    assert out.endswith("nothing is left to do\n")


def test_what_is_done_is_not_done_again(reproduce: Reproduce, quick: Path):
    made_anew = {"results.md", "summary.json", "manifest.json", *APPENDICES}
    files = [path for path in quick.rglob("*") if path.name not in made_anew and path.is_file()]
    pictures = {path: path.read_bytes() for path in files if path.parent.name == "figures"}
    before = {path: path.stat().st_mtime_ns for path in files if path not in pictures}
    status, _, err = reproduce("--quick", "--out", str(quick))
    assert status == 0
    assert "epoch" not in err.replace("epochs", "")
    assert before == {path: path.stat().st_mtime_ns for path in before}
    # The page and its pictures are made anew of what is there, and come out the same.
    assert pictures == {path: path.read_bytes() for path in pictures}


def test_the_time_limit_ends_it_and_calling_again_goes_on(
    reproduce: Reproduce, quick: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """By a clock that is eight seconds on whenever it is looked at."""
    looks = itertools.count(step=8.0)
    monkeypatch.setattr("gridsum.cli.reproduce.time", SimpleNamespace(monotonic=lambda: next(looks)))
    arguments = ["--quick", "--variants", "SASA", "--out", str(tmp_path), "--time-limit", "60"]
    arguments += ["--only", "train", "validate", "measure"]
    statuses = []
    while not statuses or statuses[-1] == OUT_OF_TIME:
        assert len(statuses) < 60, "every call should get further"
        status, _, err = reproduce(*arguments)
        statuses.append(status)
        if status == OUT_OF_TIME:
            assert "what is done is kept; go on with: gridsum reproduce" in err
    assert statuses[-1] == 0
    assert len(statuses) > 1
    assert _told(tmp_path / "records" / "SASA.jsonl") == _told(quick / "records" / "SASA.jsonl")


def test_killed_at_any_moment_it_ends_with_the_same(reproduce: Reproduce, quick: Path, tmp_path: Path):
    """By SIGKILL, between two epochs' logs, then with records begun."""
    arguments = ["--quick", "--variants", "SASA", "--out", str(tmp_path)]
    log, validation = tmp_path / "SASA" / "seed-0" / "metrics.jsonl", tmp_path / "SASA" / "validation.jsonl"
    records = tmp_path / "records" / "SASA.jsonl"
    for moment in (log, records):
        done = stopped(["reproduce", "--device", "cpu", *arguments], signal.SIGKILL, str(moment), 1)
        assert done.status == -signal.SIGKILL, done.err
        assert moment.stat().st_size
    assert reproduce(*arguments, "--only", "train", "validate", "measure").status == 0
    assert _told(records) == _told(quick / "records" / "SASA.jsonl")
    assert _told(validation) == _told(quick / "SASA" / "validation.jsonl")
    for seed in (0, 1):
        weights = Path("SASA") / f"seed-{seed}" / "weights.safetensors"
        assert (tmp_path / weights).read_bytes() == (quick / weights).read_bytes()


def test_a_piece_at_a_time(reproduce: Reproduce, tmp_path: Path):
    quickly = ["--quick", "--variants", "SASA", "--seeds", "3", "--out", str(tmp_path)]
    status, _, err = reproduce(*quickly, "--only", "measure")
    assert status == 1
    assert "measure SASA is left out: it waits for the training of SASA" in err
    assert not list(tmp_path.iterdir())
    assert reproduce(*quickly, "--only", "train").status == 0
    assert {path.name for path in tmp_path.iterdir()} == {"SASA", "campaign.json"}
    assert reproduce(*quickly, "--only", "validate").status == 0
    assert [record.seed for record in read([tmp_path / "SASA" / "validation.jsonl"])] == [3, 3]
    assert reproduce(*quickly, "--only", "report").status == 0
    assert "the training of base" in (tmp_path / "results.md").read_text()


def test_shipping_goes_where_it_is_told(reproduce: Reproduce, quick: Path, tmp_path: Path):
    status, _, err = reproduce("--quick", "--out", str(quick), "--only", "ship", "--ship-to", str(tmp_path))
    assert status == 0
    assert (tmp_path / "base.safetensors").exists()
    assert "MB now" in err
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size < 20e6


def test_records_name_the_commit_they_are_told(reproduce: Reproduce, tmp_path: Path):
    arguments = ["--quick", "--variants", "SASA", "--seeds", "0", "--out", str(tmp_path), "--commit", "abc123"]
    assert reproduce(*arguments, "--only", "train", "validate").status == 0
    assert {record.commit for record in read([tmp_path / "SASA" / "validation.jsonl"])} == {"abc123"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "repot"], "did you mean 'report'?"),
        (["--variants", "nogroups"], "did you mean 'noGroups'?"),
        (["--reading", "txt", "--out", "out"], "did you mean 'text'?"),
        (["--reading", "text"], "name another folder: --out out/text"),
        (["--seeds", "9-0"], "write it as 0-9"),
        (["--time-limit", "0"], "not a whole number from 1"),
        (["--precision", "fp16"], "there is no precision 'fp16'"),
        (["--out", str(ROOT / "README.md")], "--out takes a folder"),
        (["--quick", "--only", "ship"], "--ship-to"),
        (["--only", "report", "--out", "nowhere", "--page", "page.md"], "nowhere holds no training yet"),
        (["--only", "report", "--page", str(ROOT / "docs")], "is a folder; name a file in it"),
        (["--dryrun"], "did you mean --dry-run?"),
    ],
)
def test_mistakes_are_explained(
    arguments: list[str], said: str, reproduce: Reproduce, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    status, out, err = reproduce(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith("gridsum: error: ")
    assert said in err
    assert not list(tmp_path.iterdir())


def test_another_campaigns_folder_is_refused(reproduce: Reproduce, quick: Path):
    status, _, err = reproduce("--out", str(quick), "--seeds", "0,1")
    assert status == 2
    assert "base was trained with model.width = 16, not 64. It stays as it is; name a new folder" in err
    assert err.endswith("--out mine, or leave this one out: --variants noGroups SASA fixedTime ponderReg\n")


def test_of_the_results_of_the_repository_nothing_is_left_to_do(reproduce: Reproduce, monkeypatch):
    monkeypatch.chdir(ROOT)
    status, out, err = reproduce("--dry-run")
    assert (status, err) == (0, "")
    assert "nothing is left to do" in out


def test_training_and_measuring_need_no_figures(tmp_path: Path):
    def without() -> int:
        as_new("gridsum", "matplotlib", "scipy")
        sys.modules |= dict.fromkeys(("matplotlib", "scipy"))  # pyright: ignore[reportAttributeAccessIssue]
        stages = ("train", "validate", "figures", "report")
        quick = ("--quick", "--variants", "fixedTime", "--seeds", "0", "--device", "cpu", "--out", str(tmp_path))
        return work_of("reproduce", *quick, "--only", *stages)()

    done = in_child(without)
    assert done.status == 0, done.err
    assert "left out" in done.err


def test_the_names_in_the_help_are_those_that_exist(reproduce: Reproduce):
    out = reproduce("--help").out
    assert all(f"\n  {name} " in out for name in STAGES)
