"""What the README shows is run."""

import glob
import json
import math
import os
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from gridsum.ablations import ablations_of
from gridsum.evaluation.choice import best_seed
from PIL import Image, ImageSequence

from gridsum.cli import main
from gridsum.cli.figure import FIGURES
from gridsum.evaluation.records import read
from gridsum.store import load, locate, shipped_records

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
EXACT = (ROOT / "docs" / "exact.md").read_text()
PICTURES = (ROOT / "docs" / "pictures.md").read_text()


def blocks(language, document=README):
    return re.findall(rf"```{language}\n(.*?)```", document, re.DOTALL)


def test_solving_prints_what_the_readme_prints(capsys):
    shown = "".join(blocks("console"))
    commands = re.split(r"^\$ ", shown, flags=re.MULTILINE)[1:]
    assert len(commands) == 2
    for command in commands:
        line, printed = command.split("\n", 1)
        program, *arguments = shlex.split(line)
        assert program == "gridsum"
        assert main(arguments) == 0
        found = capsys.readouterr().out
        if "--json" in arguments:
            assert json.loads(found) == json.loads(printed)
        else:
            assert found == printed


@pytest.mark.parametrize("example", [*blocks("python"), *blocks("python", PICTURES)])
def test_the_python_examples_run(example):
    exec(compile(example, "README.md", "exec"), {})


def test_training_commands_work(tmp_path, monkeypatch, capsys):
    """At toy size: fewer epochs and samples, otherwise as written."""
    monkeypatch.chdir(tmp_path)
    lines = [line.split("#")[0].split() for block in blocks("sh") for line in block.splitlines()]
    commands = [line[1:] for line in lines if line[:1] == ["gridsum"] and line[1] != "reproduce"]
    assert [command[0] for command in commands] == ["train", "train", "evaluate", "table", "evaluate"]
    small = {"training.epochs": 1, "training.steps_per_epoch": 1, "training.batch": 4, "model.step_hidden": 16}
    tiny = [part for name, value in small.items() for part in (f"--{name}", str(value))]
    first, again, evaluate, table, solver = commands
    assert main([*first, *tiny]) == 0
    assert main(again) == 0
    assert main([*evaluate, "--samples", "1", "--suite", "[5,6]x[1,10]"]) == 0
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "my_module.py").write_text(
        "def add(text):\n    return str(sum(map(int, text.strip('=').split('+'))))\n"
    )
    assert main([*solver, "--samples", "2", "--suite", "2x15"]) == 0
    capsys.readouterr()
    assert main(table) == 0
    assert "paper" in capsys.readouterr().out


def test_the_campaigns_commands_work(tmp_path, monkeypatch, capsys):
    """A piece of each, otherwise as written."""
    monkeypatch.chdir(tmp_path)
    lines = [line.split("#")[0].split() for block in blocks("sh") for line in block.splitlines()]
    planned, quick, whole = (line[1:] for line in lines if line[:2] == ["gridsum", "reproduce"])
    assert main(planned) == 0
    assert "0 of 510 epochs" in capsys.readouterr().out
    assert main([*quick, "--variants", "fixedTime", "--seeds", "0", "--only", "train", "report"]) == 0
    assert (tmp_path / "out" / "quick" / "results.md").exists()
    assert main([*whole, "--dry-run"]) == 0


@pytest.mark.parametrize("target", ["demo", "serve", "test"])
def test_make_knows_what_the_readme_names(target):
    assert f"make {target}" in README
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    result = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "gridsum" in result.stdout or "pytest" in result.stdout


def test_tables_are_made_of_the_shipped_records(capsys):
    commands = re.findall(r"`gridsum (table \S+ --records [^`]*)` prints", README)
    assert [command.split()[1] for command in commands] == ["comparison", "examples"]
    for command in commands:
        assert main([*shlex.split(command), "--format", "markdown"]) == 0
        assert capsys.readouterr().out in README


def test_what_is_said_of_the_shipped_models_is_so():
    said = " ".join(README.split())
    for name, training in (("base", "base-published"), ("noGroups", "noGroups-overtrained")):
        found = load(name)
        (seed,) = found.seeds
        assert load(f"results/{training}/seed-{seed}").config == found.config
        assert locate(name)[0].read_bytes() == locate(str(ROOT / "results" / training / f"seed-{seed}"))[0].read_bytes()
    assert f"one of the standard training (seed {load('base').seeds[0]}, read as published)" in said
    several = {f"{terms}x5" for terms in range(2, 11)}
    records = [record for record in read([shipped_records("base-overtrained-digits")]) if record.suite in several]
    assert len(records) == len(several)
    assert all(record.steps_mean is not None and record.steps_mean > 49 for record in records)
    exact = {record.suite: record for record in read([shipped_records("exact")])}
    suites = ("30x[1,30]", "50x[1,10]", "100x[1,10]")
    thirty, fifty, hundred = (exact[suite].samples - exact[suite].sequences_right for suite in suites)
    counted = f"{thirty} error in 1024 sums of 30x[1,30], {fifty} of 50x[1,10] and {hundred} of 100x[1,10]"
    assert counted in said
    exactly = ("[7,10]x[1,10]", "20x[1,20]", "2x602", "2x1000", "2x2000", "2x4000", "zeros:[1,10]x[1,100]")
    for suite in (*exactly, "nines:[2,10]x[1,100]", "leading-zeros:[1,4]x[1,100]"):
        assert exact[suite].sequences_right == exact[suite].samples == 1024
    (long,) = (r for r in read([shipped_records("noGroups-published-overtrained")]) if r.suite == "2x4000")
    assert f"Of two terms of 4000 digits this `noGroups` has {long.seq:.2f} right" in said


def test_what_is_said_of_the_variants_over_seeds_is_so():
    results = (ROOT / "docs" / "results.md").read_text()
    counted = re.search(
        r"Table VI, means over seeds: .*, (\d+) short \(of 30 numbers\) as specified; "
        r".*, (\d+) short \(of 30 numbers\) under `published`",
        results,
    )
    assert counted is not None
    assert counted.groups() == ("14", "1")
    assert "3 of 5 variants as specified" in results
    assert "5 of 5 under `published`" in results
    said = " ".join(README.split())
    assert "of all five variants so trained lies within the paper's spread on 5 and 6 terms" in said
    single = re.search(r"one run: .* as specified; (\d+) passed, (\d+) reached, \d+ short \(of 52", results)
    assert single is not None
    assert f"these reach or pass {int(single[1]) + int(single[2])}, and make" in said
    with_all = {
        claim: verdict
        for claim, verdict in re.findall(
            r"The paper has it that (.*): .*; (\w+) under `published` with further seeds\.", results
        )
    }
    assert with_all == {
        "noGroups is best on digits": "confirmed",
        "base and ponderReg are best on terms": "undecided",
        "fixedTime is worst on terms": "confirmed",
    }
    assert "`noGroups` is best on digits, `fixedTime` worst on terms. That `base` and `ponderReg` are best on" in said
    assert "one differs from the paper's for the worse" in said
    assert "as we specified the open points it is three of five, and 14 of 30" in said


def test_the_page_about_exact_shows_its_records(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(r"^    gridsum (table exact .*)$", EXACT, re.MULTILINE)
    assert main([*shlex.split(command), "--format", "markdown"]) == 0
    assert capsys.readouterr().out in EXACT
    seed = best_seed(read(["results/exact/validation.jsonl"]))
    shipped = (ROOT / "results" / "exact" / f"seed-{seed}" / "weights.safetensors").read_bytes()
    assert locate("exact")[0].read_bytes() == shipped, "the best run on validation is the one that is shipped"
    studies = {study["space"]: study for study in json.loads((ROOT / "results/exact/states.json").read_text())}
    (right,) = re.findall(r"^\| cells that read the digit of the sum so far \| (.*) \|$", EXACT, re.MULTILINE)
    assert right.split(" | ") == [f"{study['right']:.2%}" for study in studies.values()]
    (left,) = re.findall(r"^\| … digit, carry and own symbol \| (.*) \|$", EXACT, re.MULTILINE)
    labels = "digit, carry and own symbol"
    assert left.split(" | ") == [f"{study['explained'][labels]['within']:.1%}" for study in studies.values()]


def test_the_page_about_exact_shows_its_ablation_as_soon_as_there_is_one(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (command,) = re.findall(r"^    gridsum (table exact-ablation .*)$", EXACT, re.MULTILINE)
    *options, pattern = shlex.split(command)
    found = sorted(path for path in glob.glob(pattern) if Path(path).stem in ablations_of("exact"))
    assert ("No ablation has been trained yet" in EXACT) == (not found)
    if found:
        assert main([*options, *found, "--format", "markdown"]) == 0
        assert capsys.readouterr().out in EXACT
    else:
        assert "**What each ingredient of exact buys**" not in EXACT


def test_the_command_of_the_ablation_is_understood(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall(r"^    gridsum (reproduce --variants exact --ablations .*)$", EXACT, re.MULTILINE)
    assert main([*shlex.split(command), "--dry-run", "--device", "cpu"]) == 0
    planned = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[:-1]]
    assert planned == [[stage, name] for stage in ("train", "measure") for name in ablations_of("exact")]


@pytest.mark.parametrize(("document", "folder"), [(README, ROOT), (EXACT, ROOT / "docs")])
def test_links_lead_somewhere(document, folder):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", document)
    assert targets
    for target in targets:
        assert (folder / target).exists(), target


def test_the_film_is_made_by_its_command(tmp_path):
    (command,) = re.findall(r"`gridsum (animate [^`]*)`", README)
    *arguments, shown = shlex.split(command)
    film = tmp_path / "film.gif"
    assert main([*arguments, str(film)]) == 0
    with Image.open(ROOT / shown) as ours, Image.open(film) as made:
        assert ours.size == made.size
        for frame, again in zip(ImageSequence.Iterator(ours), ImageSequence.Iterator(made), strict=True):
            difference = np.asarray(frame.convert("L"), dtype=int) - np.asarray(again.convert("L"), dtype=int)
            assert np.abs(difference).mean() < 1
    assert (ROOT / shown).stat().st_size < 1_000_000


def test_every_picture_has_its_command():
    commands = dict(re.findall(r"^    (gridsum figure .*?) --out docs/(\S+)", PICTURES, re.MULTILINE))
    shown = re.findall(r"!\[.*?\]\((.*?)\)", PICTURES)
    assert len(shown) == len(FIGURES)
    assert [command.split()[2] for command in commands] == [Path(picture).stem for picture in shown]
    assert list(commands.values()) == shown
    assert all((ROOT / "docs" / picture).exists() for picture in shown)


def test_the_pictures_numbers_are_those_of_the_records():
    rings = {found["seed"]: found for found in json.loads((ROOT / "results/base/rings.json").read_text())}
    pairs = {seed: round(10 * found["roundness"]["adjacent"]) for seed, found in rings.items()}
    first, second, third = (seed for seed, adjacent in pairs.items() if adjacent == 10)
    assert f"Seeds {first}, {second} and {third} have the paper's ring" in PICTURES
    assert (pairs[1], pairs[7], pairs[6]) == (8, 7, 4)
    assert load("base-standard").seeds == (5,)
    twice = {seed: found["roundness"] for seed, found in rings.items() if found["roundness"]["winding"] == 2}
    assert "Seeds {}, {}, {} and {} have a ring as well".format(*twice) in PICTURES
    assert min(roundness["phase"] for roundness in twice.values()) > 0.8
    once_or_twice = [sum(found["spectrum"][:2]) for found in rings.values()]
    (found,) = re.findall(r"(\d+) to (\d+)% of the variance", " ".join(PICTURES.split()))
    low, high = found
    assert (int(low), int(high)) == (math.floor(100 * min(once_or_twice)), math.ceil(100 * max(once_or_twice)))
    single = next(record for record in read([shipped_records("base")]) if record.suite == "1x5")
    assert f"{round(100 * (1 - single.seq))}% of the answers are wrong" in " ".join(PICTURES.split())
    for training in ("base-published", "noGroups-overtrained"):
        labels = [rule["label"] for rule in json.loads((ROOT / "results" / training / "attention.json").read_text())]
        counted = f"{labels.count('position-based')} of {len(labels)} heads are position-based"
        assert f"{counted} and {labels.count('content-based')} content-based" in " ".join(PICTURES.split())
