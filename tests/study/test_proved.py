"""The study of exact, on the run that ships: which run is chosen, what is measured and what is shipped."""

import json
from pathlib import Path
from typing import Any

import pytest

from gridsum.automaton.files import read_rule, shipped_rule
from gridsum.cli import main
from gridsum.evaluation.records import read
from gridsum.evaluation.suites import Suite
from gridsum.model.store import SHIPPED
from gridsum.study import proved


def result(seed: int, is_proved: bool, right: float) -> dict[str, Any]:
    return {"seed": seed, "proved": is_proved, "rounds": [{"right": right}]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of two seeds, one of them the run that ships; two small suites."""
    monkeypatch.setattr(proved, "SUITES", (Suite.parse("2x15"), Suite.parse("[1,4]x[1,10]")))
    for seed, outcome in ((3, result(3, False, 0.9)), (7, result(7, True, 0.8))):
        there = tmp_path / "exact" / f"seed-{seed}"
        there.mkdir(parents=True)
        (there / "proof.json").write_text(json.dumps(outcome))
        (there / "weights.safetensors").write_bytes((SHIPPED / "exact.safetensors").read_bytes())
    return tmp_path


def test_the_most_accurate_of_the_proved_runs_is_chosen():
    found = [result(0, False, 1.0), result(1, True, 0.9), result(2, True, 0.95), result(3, True, 0.95)]
    assert proved.chosen(found) == 2
    without = {"seed": 9, "proved": True, "rounds": []}  # proved before consolidation
    assert proved.chosen([*found, without]) == 9
    with pytest.raises(proved.NothingProved, match="none of 1 runs is proved"):
        proved.chosen(found[:1])


def test_the_chosen_run_is_measured_and_shipped(folder: Path, capsys: pytest.CaptureFixture[str]):
    place = folder / "shipped"
    command = [
        "reproduce",
        "--variants",
        "exact",
        "--out",
        str(folder),
        "--seeds",
        "3,7",
        "--quick",
        "--ship-to",
        str(place),
    ]
    assert main([*command, "--only", "measure"]) == 0
    records = read([folder / "exact" / "records.jsonl"])
    assert [(record.suite, record.seed, record.samples) for record in records] == [
        ("2x15", 7, 2),
        ("[1,4]x[1,10]", 7, 2),
    ]
    assert all(record.sequences_right == record.samples for record in records)
    assert main([*command, "--only", "ship"]) == 0
    assert "1 of 2 runs are proved" in capsys.readouterr().err
    assert len(read([folder / "exact" / "records.jsonl"])) == 2, "what is measured is not measured again"
    assert read([place / "exact.jsonl"]) == records
    assert read_rule(place / "exact.rule.json").to_json() == shipped_rule("exact").to_json()  # type: ignore[union-attr]
    assert (place / "exact.safetensors").read_bytes() == (SHIPPED / "exact.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["exact", "base"], "exact is a study of its own"),
        (["exact", "--only", "overtrain"], "the study of exact has no stage 'overtrain'; it has train, measure, ship"),
        (["exact", "--only", "measure"], "holds no runs yet; begin with"),
    ],
)
def test_mistakes_are_named(arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["reproduce", "--out", str(tmp_path / "none"), "--variants", *arguments]) == 2
    assert said in capsys.readouterr().err
