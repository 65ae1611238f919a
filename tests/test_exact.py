"""The page about `exact` against the records, logs and commands it speaks of."""

import importlib
import json
import re
import shlex
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

from gridsum.cli import main
from gridsum.evaluation.records import read
from gridsum.evaluation.tables import accuracy_text, spread, spread_text
from gridsum.model.rollout import GridSize
from gridsum.problems import batch_of
from gridsum.solving import solve
from gridsum.store import load
from gridsum.symbols import decode
from gridsum.training.folders import read_setup

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "exact.md").read_text()
TRAININGS = (
    *("exact-first", "exact-second", "exact-third", "exact-fourth", "exact-fourth-louder", "exact-fifth", "exact"),
    *("exact-levels-3", "exact-levels-2"),
)
SPACES = ("[1,4]x[1,10]", "[7,10]x[1,10]", "20x[1,20]")


def rows_of(document: str, header: str) -> list[list[str]]:
    """The lines of the table below `header`, cell by cell."""
    _, table = document.split(f"| {header} |", 1)
    lines = takewhile(lambda line: line.startswith("|"), table.splitlines()[2:])
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_page_sets_its_trainings_side_by_side(monkeypatch):
    monkeypatch.chdir(ROOT)
    stages = [
        ([f"results/{name}/validation.jsonl", f"results/records/{name}.jsonl"], best)
        for name, best in (
            *(("exact-second", 2), ("exact-third", 9), ("exact-fourth", None)),
            *(("exact-fifth", 4), ("exact", 7)),
        )
    ]
    shown = rows_of(PAGE, "right, of sums of")
    assert len(shown) > 8
    for suite, *cells in shown:
        found = [[record for record in read(paths) if record.suite == suite] for paths, _ in stages]
        by_seed = [{record.seed: record.seq for record in records} for records in found]
        best = [accuracy_text(runs[seed]) for runs, (_, seed) in zip(by_seed, stages, strict=True) if seed is not None]
        every = [spread_text(spread(list(runs.values()))) if len(runs) == 10 else "–" for runs in by_seed]
        assert cells == [*best, *every], suite


def test_the_page_says_what_twice_the_noise_did():
    means = [
        spread([record.seq for record in read([ROOT / f"results/records/{name}.jsonl"]) if record.suite == "20x[1,20]"])
        for name in ("exact-fourth-louder", "exact-fourth")
    ]
    louder, quieter = (f"{found.mean:.2f}" for found in means)
    assert f"1, did no better: {louder} of 20x[1,20], where 0.5 has {quieter}" in " ".join(PAGE.split())


def test_the_page_sets_levels_side_by_side(monkeypatch):
    monkeypatch.chdir(ROOT)
    records = read(["results/records/exact-levels.jsonl"])
    for states, *cells in rows_of(PAGE, "states"):
        levels = re.match(r"\d", states)
        model = f"exact-levels-{levels[0]}" if levels else "exact-second"
        seeds = range(4) if "seeds 0 to 3" in states else range(10)
        own = {
            suite: [r for r in records if (r.model, r.suite) == (model, suite) and r.seed in seeds] for suite in SPACES
        }
        assert {len(found) for found in own.values()} == {len(seeds)}
        config, _ = read_setup(ROOT / "results" / model)
        capped = sum(record.capped or 0 for record in own["20x[1,20]"])
        expected = [spread_text(spread([record.seq for record in found])) for found in own.values()]
        assert cells == [str(config.training.epochs_in_all), *expected, f"{capped} of {64 * len(seeds)}"]
    for levels, text in ((3, "three levels"), (2, "two levels")):
        study, *_ = json.loads((ROOT / f"results/exact-levels-{levels}/states.json").read_text())
        assert f"with {text}, {study['balls']['0.5']} different ones in 2112 cells" in " ".join(PAGE.split())


DEPTH = json.loads((ROOT / "benchmarks" / "records" / "depth-2026-11-15.json").read_text())


def counts(records: list[dict], leading: str, least: int = 0) -> str:
    return " ".join(str(r["right"]) for r in records if r["leading"] == leading and r["above"] >= least)


def test_the_page_says_how_many_rows_a_digit_survives():
    shown = rows_of(PAGE, "seed | 1… | 19… | 90…")
    for seed, *cells in shown:
        own = [record for record in DEPTH["runs"] if record["model"] == f"results/exact/seed-{seed}"]
        assert cells == [counts(own, leading) for leading in ("1", "19", "90")]
    assert [row[0] for row in shown] == [str(seed) for seed in range(10)]
    most = [r["right"] for r in DEPTH["runs"] if r["model"] == "results/exact/seed-7" and r["above"] == 48]
    assert f"in the best run {72 - sum(most)} of 72 such sums is wrong under 48 terms" in PAGE


def test_the_page_says_what_was_tried_against_fading():
    trainings = [DEPTH["tried"]["before"], *DEPTH["tried"]["trainings"]]
    shown = re.findall(r"^  \| (.*) \| (\S+) \| (\S+) \| ([\d –]+) \|$", PAGE, re.MULTILINE)
    assert len(shown) == len(trainings)
    for (name, *cells), training in zip(shown, trainings, strict=True):
        assert name.startswith(training["name"])
        right = [f"{right / problems:.2f}" for right, problems in training["right"].values()]
        assert cells == [*right, counts(training["depth"], "19", 12) or "–"]
        for path, value in training.get("changes", {}).items():
            assert f"`{path} {value:g}`" in name or path in ("training.epochs", "training.restart_epochs")


def test_depth_measures_sums_whose_leading_digits_are_only_handed_up(monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    depth = importlib.import_module("depth")
    for leading in depth.LEADING:
        for above in depth.ABOVE:
            for long, *short in depth.sums(leading, above):
                assert len(long) == 10
                assert len(short) == above
                assert str(sum(map(int, (long, *short)))).startswith(leading)
    monkeypatch.setattr(depth, "ABOVE", (3,))
    assert [record["right"] for record in depth.measure("exact")] == [24, 24, 24]
    assert "right of 24" in capsys.readouterr().out


def test_the_commands_that_made_exact_are_understood(monkeypatch, tmp_path):
    """As written, but for their size."""
    monkeypatch.chdir(tmp_path)
    small = {"epochs": 1, "steps_per_epoch": 1, "batch": 4, "harden_problems": 1, "restarts": 0.0}
    tiny = ["--device", "cpu", *(part for name, value in small.items() for part in (f"--training.{name}", str(value)))]
    commands = re.findall(r"^    gridsum (train .*)$", PAGE, re.MULTILINE)
    made = [(shlex.split(command), shlex.split(command)[-1]) for command in commands]
    assert [folder for _, folder in made] == [f"results/{name}" for name in TRAININGS]
    for command, folder in made:
        assert main([*command, *tiny]) == 0
        ours, there = read_setup(tmp_path / folder), read_setup(ROOT / folder)
        assert ours[1] == there[1]
        assert (ours[0].task, ours[0].model) == (there[0].task, there[0].model)
        asked = dict(pairwise(command)).get("--training.epochs")
        assert asked == str(there[0].training.epochs)
    assert (tmp_path / "results" / "exact" / "start.json").exists()


@pytest.mark.parametrize(
    ("terms", "steps", "text"),
    [
        (("9" * 60, "1"), 5, "`9…9 + 1` with 60 nines takes 5 steps"),
        (("9" * 60, "0"), 76, "`9…9 + 0` takes 76"),
        (("1", "9" * 60), 64, "`1 + 9…9` takes 64"),
    ],
)
def test_what_halts_is_at_rest(terms, steps, text):
    """Nothing that is read changes any more, however long it goes on."""
    (answer,) = solve(load("exact"), [terms])
    assert answer.correct
    assert answer.steps == steps
    assert text in " ".join(PAGE.split())
    assert set(readings(terms)[steps - 1 :]) == {answer.exact}


def test_a_sum_that_halts_too_early_is_named():
    terms = ("0", "9" * 60)
    (answer,) = solve(load("exact"), [terms])
    assert (answer.correct, answer.steps) == (False, 6)
    read_at = readings(terms)
    assert read_at[8] == answer.answer
    assert set(read_at[9:]) == {answer.exact}
    assert "`0 + 9…9` halts too early: it takes 6 steps" in " ".join(PAGE.split())
    assert "goes away at step 10" in " ".join(PAGE.split())


def readings(terms: tuple[str, str]) -> list[str]:
    """What is read of two terms after every step, on the grid that solving gives them."""
    network = load("exact").network
    origin = network.place(batch_of([terms]).symbols, GridSize(2, 64), hard=True)
    grid, remembered, found = origin, network.step.remember(origin), []
    for _ in range(3 * 64):
        grid = network.step(grid, remembered=remembered)
        found.append(decode(network.read(grid[:, :, 0]).argmax(-1)[0, 0].tolist()))
    return found
