"""Other readings of the paper: shown beside the variant and the paper, and judged by the records alone."""

import json
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gridsum.ablations import ABLATIONS
from gridsum.cli import main
from gridsum.evaluation import paper
from gridsum.evaluation.records import Record
from gridsum.evaluation.statistics import CLAIMS
from gridsum.reproduction import accounts, orderings, readings
from gridsum.reproduction.comparison import HEADLINE
from gridsum.reproduction.drawings import drawings_at
from gridsum.reproduction.page import write_page
from gridsum.reproduction.results import Results, Trained, load_results
from gridsum.variants import PAPER_VARIANTS, variant
from tests.reproduction.conftest import rewrite_records, table_lines

TERMS = "[5,6]x[1,10]"
SUITES = ("2x602", TERMS, "[7,10]x[1,10]")
MET = {name: round(1000 * known[TERMS].seq.mean) for name, known in paper.ABLATION.items()}
"""What of 1000 sums a variant has to have right to be where the paper has it."""


def _trained(name: str, right: int, seeds: Sequence[int] = range(8)) -> Trained:
    """A made-up training whose seeds have `right` of 1000 right, and one more each, in all they are measured on."""
    of = ABLATIONS[name].variant if name in ABLATIONS else name
    records = [
        Record(name, of, seed, suite, "sampled", "soft", 1000, right + seed, 1000, right + seed, 9, 9, 0, "0", None)
        for suite in SUITES
        for seed in seeds
    ]
    return Trained(name, variant(of), {seed: [] for seed in seeds}, [], [], records)


def _results(scores: dict[str, int]) -> Results:
    return Results(Path("made-up"), {name: _trained(name, right) for name, right in scores.items()})


def _counted(scores: dict[str, int]) -> list[str]:
    """The tally's parts: as specified, then under each reading."""
    return readings.tally(_results(scores)).removesuffix(".").split("or above: ")[1].split("; ", 1)


def _read(reading: str, scores: dict[str, int]) -> dict[str, int]:
    return {f"{name}-{reading}": score for name, score in scores.items()}


def test_published_counts_all_five_each_by_its_own_training():
    specified = dict.fromkeys(PAPER_VARIANTS, 0)
    assert _counted(specified | _read("published", MET)) == ["0 of 5 variants as specified", "5 of 5 under `published`"]
    fallen = MET | {"fixedTime": 0}
    assert _counted(MET | _read("published", fallen)) == ["5 of 5 variants as specified", "4 of 5 under `published`"]


def test_running_counts_fixed_time_as_specified():
    deciding = {name: score for name, score in MET.items() if name != "fixedTime"}
    note = "(fixedTime has no such reading and counts as specified)"
    for fixed, met in ((MET["fixedTime"], 5), (0, 4)):
        specified = dict.fromkeys(PAPER_VARIANTS, 0) | {"fixedTime": fixed}
        assert _counted(specified | _read("running", deciding))[1] == f"{met} of 5 under `running` {note}"
    # Its training under another reading is none under this one.
    assert _counted(deciding | _read("running", deciding) | {"fixedTime-published": 1}) == [
        "4 of 4 variants as specified",
        "4 of 4 under `running` (fixedTime not measured); 0 of 1 under `published` (base-published, "
        "noGroups-published, SASA-published, ponderReg-published not measured)",
    ]


def test_a_reading_of_few_variants_counts_those_that_it_concerns():
    """Of `base` alone; what it leaves alone counts as specified, what it would change does not."""
    assert _counted(MET | {"base-sampled": 0, "base-larger-grid": MET["base"]}) == [
        "5 of 5 variants as specified",
        "2 of 3 under `sampled` (fixedTime has no such reading and counts as specified; ponderReg has no such reading "
        "and counts as specified; noGroups, SASA not read so); 1 of 1 under `larger-grid` (noGroups, SASA, fixedTime, "
        "ponderReg not read so)",
    ]


@pytest.mark.parametrize("missing", [[], ["base"], ["noGroups", "ponderReg"], ["base", "noGroups", "SASA"]])
@pytest.mark.parametrize("reading", ["running", "published"])
def test_what_a_reading_lacks_is_named(reading: str, missing: list[str]):
    """The variants as specified are all there, and none of them meets the paper."""
    names = [name for name in PAPER_VARIANTS if f"{name}-{reading}" in ABLATIONS]
    there = {name: MET[name] for name in names if name not in missing}
    counted = _counted(dict.fromkeys(PAPER_VARIANTS, 0) | _read(reading, there))[1]
    alike = len(PAPER_VARIANTS) - len(names)
    assert counted.startswith(f"{len(there)} of {len(there) + alike} under `{reading}`")
    lacking = ", ".join(f"{name}-{reading}" for name in missing)
    assert f"{lacking} not measured" in counted if missing else "not measured" not in counted


AS_IN_THE_PAPER = {"base": 700, "noGroups": 400, "SASA": 300, "fixedTime": 100, "ponderReg": 600}


def test_the_orderings_are_tested_under_every_reading():
    """With what the paper says of terms in `published` alone, and of digits nowhere; `running` has two of five."""
    backwards = {name: 800 - score for name, score in AS_IN_THE_PAPER.items()}
    scores = backwards | _read("published", AS_IN_THE_PAPER)
    results = _results(scores | {"base-running": 100})
    title, header = "The orderings under other readings", ("as specified", "running", "published")
    page = orderings.under_readings(results)
    assert all(part in page.split(f"**{title}**")[1].split("\n")[2] for part in header)
    lines = [line[1:] for line in table_lines(page, title)]
    digits = "refuted (2 of 4 confirmed, 2 refuted)"
    assert lines == [
        [digits, "undecided (0 of 4 confirmed, 4 not measured)", digits],
        [
            "refuted (0 of 12 confirmed, 12 refuted)",
            "refuted (0 of 12 confirmed, 2 refuted, 10 not measured)",
            "confirmed (12 of 12 confirmed, corrected p 0.0005)",
        ],
        [
            "refuted (0 of 8 confirmed, 8 refuted)",
            "refuted (0 of 8 confirmed, 2 refuted, 6 not measured)",
            "confirmed (8 of 8 confirmed, corrected p 0.0005)",
        ],
        ["0.40±0.00 (0.41), below", "–", "0.40±0.00 (0.41), below"],
    ]
    brief = write_page(results, Path("made-up.md"), "gridsum").split("## ")[0]
    verdicts = "refuted; refuted under `running`; confirmed under `published`"
    assert f"- The paper has it that {CLAIMS[1].text}: {verdicts}.\n" in brief
    assert f"- The paper has it that {CLAIMS[0].text}: refuted; refuted under `published`.\n" in brief, "not measured"
    assert orderings.under_readings(_results(backwards)) == "", "there is nothing beside the variants as specified"


def test_under_running_fixed_time_takes_part_in_the_orderings_as_specified():
    deciding = {name: score for name, score in AS_IN_THE_PAPER.items() if name != "fixedTime"}
    for fixed, found in (
        (100, "confirmed (8 of 8 confirmed, corrected p 0.0005)"),
        (990, "refuted (0 of 8 confirmed, 8 refuted)"),
    ):
        scores = dict.fromkeys(PAPER_VARIANTS, 500) | {"fixedTime": fixed} | _read("running", deciding)
        lines = table_lines(orderings.under_readings(_results(scores)), "The orderings under other readings")
        assert lines[2][2] == found
    lines = table_lines(
        orderings.under_readings(_results(deciding | _read("running", deciding))), "The orderings under other readings"
    )
    assert lines[2][2] == "undecided (0 of 8 confirmed, 8 not measured)", "fixedTime is missing"


def test_further_seeds_count_for_the_orderings_alone():
    """Eight seeds of base are like those of fixedTime, and 24 further ones far above."""
    scores = AS_IN_THE_PAPER | _read("published", AS_IN_THE_PAPER | {"base": 100, "noGroups": 800})
    first = _results(scores)
    further = {"base-published": _trained("base-published", 900, range(8, 32))}
    results = replace(first, further=further)
    page, before = (write_page(found, Path("made-up.md"), "gridsum") for found in (results, first))
    title = "Comparisons with further seeds"
    assert title not in before
    claims = page.split("With further seeds under `published`: base-published also from seeds 8 to 31")[1]
    assert f"- {CLAIMS[2].text}: **confirmed** (p" in claims
    worst = f"- The paper has it that {CLAIMS[2].text}: confirmed; undecided under `published`"
    assert f"{worst}.\n" in before
    assert f"{worst}; confirmed under `published` with further seeds.\n" in page
    assert f"- The paper has it that {CLAIMS[0].text}: refuted; confirmed under `published`; undecided" in page
    (command,) = re.findall(r"`gridsum (reproduce --out FOLDER/further-seeds .*?)`, then", claims)
    assert main([*shlex.split(command), "--dry-run", "--device", "cpu"]) == 0
    lines = {tuple(line[:3]): line for line in table_lines(page, title)}
    assert lines["[5,6]x[1,10]", "seq", "base > fixedTime"][3] == "32/8"
    assert lines["[5,6]x[1,10]", "seq", "noGroups > fixedTime"][3] == "8/8"
    same = "Our means minus the paper's (Table VI), under published"
    assert table_lines(page, same) == table_lines(before, same)
    assert [line[1] for line in table_lines(page, "Every run") if line[0] == "base-published"] == list(
        map(str, range(32))
    )
    assert [line[:2] for line in table_lines(page, "What training took")][-1] == ["base-published, further seeds", "24"]


def test_digits_are_told_with_further_seeds_too():
    first = _results(AS_IN_THE_PAPER | {"noGroups-published": 980})
    assert "further" not in readings.digits(first)
    results = replace(first, further={"noGroups-published": _trained("noGroups-published", 900, range(8))})
    assert readings.digits(results).endswith(
        "0.984 under `published` (reaches 0.97); 0.944 under `published` with further seeds (below 0.97)."
    )


@pytest.mark.parametrize(("right", "found"), [(966, "below"), (967, "reached")])
def test_no_groups_is_asked_for_nearly_all_characters_of_long_terms(right: int, found: str):
    """Its eight seeds have up to .007 more, which makes .0035 in the mean."""
    scores = AS_IN_THE_PAPER | _read("published", AS_IN_THE_PAPER | {"noGroups": right})
    *_, (label, specified, so_read) = table_lines(
        orderings.under_readings(_results(scores)), "The orderings under other readings"
    )
    assert label == "noGroups on 2x602, characters (paper: 0.99±0.00 (0.99))"
    assert specified == "0.40±0.00 (0.41), below"
    assert re.fullmatch(rf"0\.97±0\.00 \(0\.97\), {found}", so_read)


@pytest.mark.parametrize("besides", [{}, {"base-running": 100}])
def test_the_brief_has_the_characters_of_no_groups_under_every_reading_it_is_measured_under(besides: dict[str, int]):
    """Also where nothing can be compared with it under that reading."""
    read_so = {"noGroups-running": 966, "noGroups-published": 967}
    results = _results({"noGroups": 400} | read_so | besides)
    told = "0.404 as specified (below 0.97); 0.970 under `running` (below 0.97); 0.970 under `published` (reaches 0.97)"
    start = "- Characters of noGroups right on 2x602, mean over seeds, where the paper has 0.99: "
    assert f"{start}{told}.\n" in write_page(results, Path("made-up.md"), "gridsum").split("## ")[0]
    assert start not in write_page(_results({"noGroups": 400}), Path("made-up.md"), "gridsum")
    assert start not in write_page(_results({"base": 400, "base-running": 400}), Path("made-up.md"), "gridsum")


def _set(folder: Path, name: str, rights: tuple[int, int], suite: str = TERMS) -> None:
    """The whole results right, of 1000, of both seeds of a training."""
    change = {(seed, suite): {"sequences_right": right, "samples": 1000} for seed, right in enumerate(rights)}
    rewrite_records(folder / "records" / f"{name}.jsonl", change)


def _stop_learning(folder: Path, name: str, seed: int, accuracy: float) -> None:
    path = folder / name / f"seed-{seed}" / "metrics.jsonl"
    *before, last = path.read_text().splitlines()
    path.write_text("\n".join([*before, json.dumps(json.loads(last) | {"accuracy": accuracy})]) + "\n")


@pytest.mark.parametrize(
    ("rights", "found"),
    [((470, 480), "below"), ((300, 670), "inside"), ((950, 960), "inside"), ((960, 970), "above"), ((0, 0), "below")],
)
def test_a_verdict_is_where_the_mean_lies_in_the_papers_spread(rights: tuple[int, int], found: str, copied: Path):
    """The paper's base has 0.72 ± 0.24."""
    _set(copied, "base", rights)
    _set(copied, "base-running", rights)
    trained = load_results(copied).trained
    assert readings.verdict(trained["base"]) == readings.verdict(trained["base-running"]) == found


def test_variants_that_meet_the_paper_are_counted_as_specified_and_under_a_reading(copied: Path):
    for name, known in paper.ABLATION.items():
        met = name in ("SASA", "fixedTime")
        _set(copied, name, (round(1000 * known[TERMS].seq.mean), 1000) if met else (0, 0))
    _set(copied, "base-running", (900, 600))
    _set(copied, "ponderReg-running", (100, 0))
    assert readings.tally(load_results(copied)) == (
        "Whole results right on [5,6]x[1,10], the mean inside the paper's mean ± sd or above: 2 of 5 variants as "
        "specified; 2 of 3 under `running` (fixedTime has no such reading and counts as specified; noGroups-running, "
        "SASA-running not measured)."
    )
    page = readings.account(load_results(copied))
    assert (
        "- base, where the paper has 0.72±0.24 (0.90): **below** with 0.0±0.00 (0.0) as specified; **inside** with "
        "0.75±0.21 (0.90) under `running`.\n" in page
    )
    assert "- ponderReg, where" in page
    assert "- SASA, where" not in page, "nothing else than what is specified has been trained of it"


def test_a_reading_stands_beside_the_variant_and_the_paper(copied: Path):
    _set(copied, "base", (100, 300))
    _set(copied, "base-running", (800, 0))
    _stop_learning(copied, "base-running", 0, 0.95)
    for name, seed in (("base-running", 1), ("base", 0), ("base", 1)):
        _stop_learning(copied, name, seed, 0.89)
    results = load_results(copied)
    page = readings.account(results)
    assert "| paper " in page.split("**base under other readings**")[1].split("\n")[2]
    lines = {line[0]: line[1:] for line in table_lines(page, "base under other readings")}
    assert lines[f"{TERMS} seq"] == ["0.72±0.24 (0.90)", "0.20±0.14 (0.30)", "0.40±0.57 (0.80)"]
    assert lines["runs that never learned"] == ["–", "2 of 2", "1 of 2"]
    assert lines[f"{TERMS} seq, without these"] == ["–", "–", "0.80±0.00 (0.80)"]
    assert lines["against base"][:2] == ["–", "–"]
    assert lines["against base"][2].startswith("δ +0.00, p 1.0")
    for name, column in (("base", 1), ("base-running", 2)):
        trained = results.trained[name]
        steps = [line["steps"] for log in trained.logs.values() for line in log]
        assert lines["recurrent steps, last 30 epochs"][column].startswith(f"{sum(steps) / len(steps):.1f} ± ")
        seconds = sum(line["seconds"] for line in trained.logs[0])
        assert lines["time of training"][column] == f"{seconds:.0f} s"
    assert len(lines) == 2 * 3 + 5


def test_a_reading_that_is_trained_but_not_measured_is_said_to_be(copied: Path):
    for name in ("base-running", "ponderReg-running"):
        (copied / "records" / f"{name}.jsonl").unlink()
    results = load_results(copied)
    page = readings.account(results)
    assert "; not measured under `running`.\n" in page
    assert "running" not in readings.tally(results), "nothing is counted under it"
    assert {line[3] for line in table_lines(page, "base under other readings")[:6]} == {"–"}


def test_a_reading_without_its_variant_is_still_shown(copied: Path):
    shutil.rmtree(copied / "base")
    page = readings.account(load_results(copied))
    assert "not measured as specified" in page
    assert len(table_lines(page, "base under other readings")[0]) == 3


def test_without_readings_there_is_nothing_to_tell(copied: Path):
    for name in ("base-running", "ponderReg-running"):
        shutil.rmtree(copied / name)
    results = load_results(copied)
    assert readings.tally(results) == ""
    assert "None has been trained yet" in readings.account(results)
    assert len(accounts.regularisers(results)) == 1


def test_the_regularisers_are_compared_under_each_reading_in_steps_and_time(quick: Path):
    results = load_results(quick)
    lines = table_lines(accounts.halting(results), "Recurrent steps during training")
    pairs = ["base, ponderReg", "base-running, ponderReg-running"]
    assert [line[0] for line in lines] == [pair for pair in pairs for _ in range(3)]
    times = [sum(line["seconds"] for line in results.trained[name].logs[0]) for name in pairs[1].split(", ")]
    assert lines[5][1:5] == ["time of all epochs", *(f"{t:.0f} s" for t in times), f"{times[1] / times[0]:.2f}"]
    # The curves of both readings are drawn, each with the one it is to be seen beside.
    drawing = next(drawing for drawing in drawings_at(quick / "results.md") if drawing.name == "readings")
    names = ["base", "base-running", "ponderReg", "ponderReg-running"]
    assert drawing.made_of(results) == ["--runs", *(str(quick / name) for name in names)]
    assert (quick / "figures" / "readings.svg").exists()


def test_readings_whose_weights_have_not_been_kept_are_named_with_the_command_for_them(copied: Path):
    assert "not weights" not in readings.account(load_results(copied))
    for weights in (copied / "base-running").glob("seed-*/weights.safetensors"):
        weights.unlink()
    page = readings.account(load_results(copied))
    assert "Of base-running logs and records are kept, not weights." in page
    (command,) = re.findall(r"`gridsum (reproduce --out FOLDER .*)`", page)
    assert main([*shlex.split(command), "--dry-run", "--device", "cpu"]) == 0


def test_captions_name_what_is_drawn(copied: Path):
    results = load_results(copied)
    drawn = {drawing.name: drawing.captioned(results) for drawing in drawings_at(copied / "results.md")}
    best = {name: results.chosen(name)[HEADLINE[name]] for name in HEADLINE}
    assert drawn["terms"].endswith("Drawn from base-overtrained.")
    assert drawn["training"].endswith("Drawn from base, ponderReg.")
    assert drawn["placement"].endswith(f"Drawn from seed {best['base']} of base-overtrained.")
    assert drawn["attention"].endswith(f"Drawn from seed {best['noGroups']} of noGroups-overtrained.")
