"""What the README and the page of pictures show is run."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageSequence

from gridsum.cli import main
from gridsum.cli.figure import FIGURES
from gridsum.evaluation.paper import COMPARISON
from gridsum.evaluation.records import read
from gridsum.evaluation.tables import accuracy_text
from gridsum.io.names import MODELS
from gridsum.model.store import shipped_records
from tests.test_documents import commands

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PICTURES = (ROOT / "docs" / "pictures.md").read_text()
COSTS = (ROOT / "docs" / "performance.md").read_text()
COMMANDS = commands(ROOT / "README.md")


def test_solving_prints_what_the_readme_prints(capsys: pytest.CaptureFixture[str]):
    shown = re.split(r"^\$ ", "".join(re.findall(r"```console\n(.*?)```", README, re.DOTALL)), flags=re.MULTILINE)[1:]
    assert len(shown) == 2
    for command in shown:
        line, printed = command.split("\n", 1)
        program, *arguments = shlex.split(line)
        assert program == "gridsum"
        assert main(arguments) == 0
        found = capsys.readouterr().out
        if "--json" in arguments:
            assert json.loads(found) == json.loads(printed)
        else:
            assert found == printed


def test_the_curves_to_expect_are_the_record_s():
    record = json.loads((ROOT / "benchmarks" / "records" / "discover-2026-11-19.json").read_text())
    told = {name: row.split(" | ") for name, row in re.findall(r"^\| ([a-z ]+) \| (\d.*) \|$", COSTS, re.MULTILINE)}
    for seed, number in (("0", "zero"), ("1", "one")):
        known = {step: (seconds, right) for _, step, seconds, right in record["curve"]["seeds"][seed]}
        asked = [known[int(step.replace(",", ""))] for step in told["training step"]]
        assert told["minutes"] == [f"{seconds / 60:.0f}" for seconds, _ in asked]
        assert told[f"results right of seed {number}"] == [f"{right:.2f}" for _, right in asked]
    assert all(run["proved"] for run in record["runs"])


def test_the_campaigns_commands_work(here: Path, capsys: pytest.CaptureFixture[str]):
    """A piece of each, otherwise as written."""
    planned, quick, whole, check = (command for command in COMMANDS if command[0] == "reproduce")
    assert main(planned) == 0
    told = capsys.readouterr().out
    assert "train       noGroups                0 of 510 epochs     about " in told
    assert f"by the rate of a server's cores, of which it uses {torch.get_num_threads()}\n" in told
    assert {line.split()[0] for line in told.splitlines()[:-1]} == {"train", "validate", "overtrain", "measure"}
    assert not list(here.iterdir()), "nothing is begun"
    assert main([*quick, "--variants", "fixedTime", "--seeds", "0", "--only", "train", "report"]) == 0
    assert (here / "out" / "quick" / "results.md").exists()
    assert main([*whole, "--dry-run"]) == 0
    capsys.readouterr()
    assert main([*check, "--time-limit", "1"]) == 0
    assert "0 differs" in capsys.readouterr().err


def test_the_table_is_what_the_records_and_the_paper_say(capsys: pytest.CaptureFixture[str]):
    (command,) = re.findall(r"`gridsum (table comparison --records [^`]*)`", README)
    assert main(shlex.split(command)) == 0
    assert "2x602" in capsys.readouterr().out
    names = command.split("--records ")[1].split()
    rows = re.findall(r"^\| `(\S+)`(?: \([^)]*\))? \| ([\d. |]+) \|$", README, re.MULTILINE)
    assert [suite for suite, _ in rows] == list(COMPARISON["base"])
    for suite, numbers in rows:
        expected = []
        for name in names:
            (record,) = [record for record in read([shipped_records(name)]) if record.suite == suite]
            expected += [record.seq, COMPARISON[record.variant][suite].seq]
        assert numbers.split(" | ") == [accuracy_text(value) for value in expected]


def test_the_scores_of_nines_are_those_of_the_records():
    table = README.partition("| rows of nines right |")[2].partition("\n\n")[0]
    shown = {}
    for names, scores in re.findall(r"^\| (.+?) \| .+ \| (.+) \|$", table, re.MULTILINE):
        shown |= dict(zip(re.findall(r"`(\w+)`", names), scores.split(", "), strict=True))
    assert set(shown) == set(MODELS)
    for name, score in shown.items():
        (record,) = [record for record in read([shipped_records(name)]) if record.suite == "nines+1:2x[1,10]"]
        assert record.commit
        assert accuracy_text(record.seq) == score


def test_the_costs_of_commands_are_those_of_their_records():
    def entries(found: Any) -> Iterator[dict[str, Any]]:
        if isinstance(found, dict):
            yield found
        for inner in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
            yield from entries(inner)

    rows = re.findall(
        r"^\| `((?:gridsum|make) .+?)(?: --out runs/\w+)?` \|.*\| (\d+) min(?: (\d+) s)?.*\(\.\./(\S+json)\)\) \|$",
        COSTS,
        re.MULTILINE,
    )
    assert len(rows) > 3
    for command, minutes, seconds, path in rows:
        (known,) = [
            found for found in entries(json.loads((ROOT / path).read_text())) if found.get("command") == command
        ]
        times = [value for name, value in known.items() if name == "seconds" or name.endswith(", s")]
        assert min(abs(60 * int(minutes) + int(seconds or 0) - time) for time in times) < (1 if seconds else 30), (
            command
        )


def test_the_film_is_made_by_its_command(tmp_path: Path):
    (command,) = re.findall(r"`gridsum (figure film [^`]*)`", README)
    *arguments, shown = shlex.split(command)
    film = tmp_path / "film.gif"
    assert main([*arguments, str(film)]) == 0
    with Image.open(ROOT / shown) as ours, Image.open(film) as made:
        assert ours.size == made.size
        for frame, again in zip(ImageSequence.Iterator(ours), ImageSequence.Iterator(made), strict=True):
            difference = np.asarray(frame.convert("L"), dtype=int) - np.asarray(again.convert("L"), dtype=int)
            assert np.abs(difference).mean() < 1
    assert (ROOT / shown).stat().st_size < 1_000_000


def test_every_figure_is_shown_with_its_command():
    drawn = dict(re.findall(r"^    gridsum figure (\S+) .*?--out docs/(\S+)", PICTURES, re.MULTILINE))
    assert set(drawn) == set(FIGURES)
    assert list(drawn.values()) == re.findall(r"!\[.*?\]\((.*?)\)", PICTURES)
