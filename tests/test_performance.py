"""What docs/performance.md says of fleets on a GPU, and beside the published code, is what the records hold."""

import json
import re
from pathlib import Path
from statistics import fmean, median, stdev

import numpy as np
import pytest

from gridsum.benchmark.tables import tables
from gridsum.evaluation import records as evaluated
from gridsum.evaluation.rendering import to_markdown
from gridsum.evaluation.statistics import rank_test, welch_interval
from gridsum.figures.costs import plot_costs

ROOT = Path(__file__).parent.parent
RECORDS, RESULTS = ROOT / "benchmarks" / "records", ROOT / "results"
PAGE = (ROOT / "docs" / "performance.md").read_text()
WORDS = " ".join(PAGE.split())
"""The page without its line breaks, which may stand anywhere in a sentence."""

BENCH = json.loads((RECORDS / "bench-h200-2026-11-15.json").read_text())
KERNELS = json.loads((RECORDS / "h200-kernels-2026-11-15.json").read_text())
BASE = json.loads((RECORDS / "base-training-2026-11-15.json").read_text())
TRAINING = {
    (record["variant"], record["runs"]): record for record in BENCH["records"] if record["measure"] == "training"
}
VARIANTS = ("base", "noGroups", "SASA", "fixedTime", "ponderReg")


def logged(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def seconds_of(folder):
    """What the whole training took, its pieces added up."""
    return sum(piece["seconds"] for piece in logged(RESULTS / folder / "machine.jsonl"))


def goal(what):
    """What the table of goals says was measured."""
    (row,) = re.findall(rf"^\| {re.escape(what)} \|[^|]*\|([^|]*)\|$", PAGE, re.MULTILINE)
    return row


def span(values, form):
    """From the least to the most, as the page writes it."""
    return f"{min(values):{form}} to {max(values):{form}}"


@pytest.mark.parametrize("table", tables(BENCH["records"], BENCH["device"]), ids=lambda table: table.title)
def test_the_tables_are_those_the_record_gives(table):
    assert to_markdown(table) in PAGE


def test_records_and_pictures_that_the_page_names_are_there():
    linked = [target for target in re.findall(r"\]\(([^)#]+)", PAGE) if "://" not in target]
    assert "figures/costs.svg" in linked
    assert [target for target in linked if not (ROOT / "docs" / target).exists()] == []


def test_the_record_has_every_variant_and_fleet():
    assert set(TRAINING) == {(variant, runs) for variant in VARIANTS for runs in (1, 2, 5, 10, 20)}


def test_the_picture_shows_every_size_once_and_marks_wrong_answers():
    """The smallest sum was measured for either line; only the last measurement of a size is drawn, as in the tables."""
    largest = {"measure": "solving", "terms": 200}
    records = [record | ({"right": False} if largest.items() <= record.items() else {}) for record in BENCH["records"]]
    _, solving = plot_costs(records).axes
    digits, terms = (np.asarray(line.get_xydata()) for line in solving.lines)
    assert digits[:, 0].tolist() == [10, 100, 1000, 10_000, 100_000]
    assert terms[:, 0].tolist() == [2, 5, 10, 20, 50, 100, 200]
    solved = [record for record in records if record["measure"] == "solving"]
    smallest = [record["seconds"] for record in solved if (record["terms"], record["digits"]) == (2, 10)]
    assert digits[0, 1] == terms[0, 1] == smallest[-1]
    (marks,) = solving.collections
    wrong = [[record["terms"], record["seconds"]] for record in solved if not record["right"]]
    assert len(wrong) == 1
    assert np.asarray(marks.get_offsets()).tolist() == wrong


def test_a_picture_without_wrong_answers_marks_none():
    assert all(record["right"] for record in BENCH["records"] if record["measure"] == "solving")
    _, solving = plot_costs(BENCH["records"]).axes
    assert not solving.collections


def test_the_goals_of_trainings_are_the_trainings():
    assert f"**{seconds_of('fixedTime'):.0f} s**" in goal("fixedTime")
    others = " · ".join(f"{seconds_of(name):.0f} s" for name in ("noGroups", "SASA", "ponderReg"))
    assert others in goal("noGroups · SASA · ponderReg")
    assert f"**{sum(map(seconds_of, VARIANTS)) / 60:.1f} min**" in goal("the five together")
    share = TRAINING["fixedTime", 10]["ms_per_step_and_run"]
    assert f"**{share:.2f} ms**" in goal("a run's share of a training step, fixedTime, fleet of 10")


def test_base_is_said_to_take_what_it_took_on_either_kind_of_machine():
    first, again, compiled, last = BASE["trainings"]
    said = goal("base")
    assert f"**{last['seconds']} s** on a machine that had compiled nothing" in said
    assert f"{compiled['seconds']} s where the same kernels had been compiled" in said
    assert f"{first['seconds']} s and {again['seconds']} s where nothing had" in said
    assert last["compiled_before"] == "nothing"
    assert last["seconds"] < 300 < min(first["seconds"], again["seconds"])
    for training in BASE["trainings"]:
        assert f"{abs(300 - training['seconds']):.1f}" in WORDS
    firsts, others = ([training[name] for training in BASE["trainings"]] for name in ("first_epoch", "other_epochs"))
    before = f"{firsts[0]:.1f}, {firsts[1]:.1f} and, with kernels compiled, {firsts[2]:.1f}"
    assert f"a first epoch of {firsts[3]:.1f} s, where it had been {before}" in WORDS
    before = f"{others[0]:.1f}, {others[1]:.1f} and {others[2]:.1f}"
    assert f"509 epochs take {others[3]:.1f} s, where they had taken {before}" in WORDS
    start_up = goal("start-up: the first two epochs")
    assert f"**{KERNELS['training']['base']['first_two_epochs']:.0f} s** before" in start_up
    assert f"**{last['first_two_epochs']:.0f} s**" in start_up
    assert f"**{compiled['first_two_epochs']:.0f} s**" in start_up


def test_a_step_taken_apart_is_that_of_the_record():
    parts = BASE["before_the_last"]
    assert f"took {median(parts['graphs_ms']):.1f} ms of {parts['step_ms']:.1f}" in WORDS
    assert f"{min(parts['update_ms']):.1f} to {max(parts['update_ms']):.1f}, in which" in WORDS
    compiling = sum(parts["compiled_forward_s"]) + sum(parts["compiled_backward_s"])
    assert f"of the first epoch {compiling:.0f} s were torch.compile" in WORDS


@pytest.mark.parametrize(
    ("number", "folder", "log"), [(0, RESULTS / "base", "seed-0/metrics.jsonl"), (3, ROOT, "metrics.jsonl")]
)
def test_the_record_of_base_holds_what_its_logs_say(number, folder, log):
    record = BASE["trainings"][number]
    folder = folder / record["logs"] if folder == ROOT else folder
    epochs = [epoch["seconds"] for epoch in logged(folder / log)]
    assert len(epochs) == 510
    assert record["seconds"] == seconds_of(folder)
    assert record["first_epoch"] == pytest.approx(epochs[0], abs=1e-3)
    assert record["other_epochs"] == pytest.approx(sum(epochs[1:]), abs=1e-3)


@pytest.mark.parametrize(
    ("row", "suite", "measure"),
    [
        ("[1,4]×[1,10]", "[1,4]x[1,10]", "seq"),
        ("[5,6]×[1,10]", "[5,6]x[1,10]", "seq"),
        ("[7,10]×[1,10]", "[7,10]x[1,10]", "seq"),
        ("2×602", "2x602", "seq"),
        ("2×602, characters", "2x602", "char"),
    ],
)
def test_precisions_of_networks_that_decide_when_to_halt_are_those_of_their_records(row, suite, measure):
    full, reduced = (accuracies_of(name, suite, measure) for name in ("noGroups-fp32", "noGroups"))
    p = rank_test(full, reduced).p
    lines = []
    for label, precision, values, end in ((row, "fp32", full, ""), ("", "bf16", reduced, f"{p:.2f}".removeprefix("0"))):
        *seeds, mean, sd = (f"{value:.3f}".removeprefix("0") for value in (*values, fmean(values), stdev(values)))
        cells = (label, precision, " ".join(seeds), f"{mean} ± {sd}", end)
        lines.append("".join(f"| {cell} " if cell else "| " for cell in cells) + "|")
    assert "\n".join(lines) in PAGE
    assert p > 0.05, "No test of the five tells the precisions apart"
    more = fmean(reduced) - fmean(full)
    if suite == "[1,4]x[1,10]":
        assert f"on problems like those of training bf16 has {more:.3f} more".replace("0.", ".") in WORDS
    else:
        assert abs(more) < min(stdev(full), stdev(reduced)) / 2, "less than half an sd of the seeds"


def accuracies_of(name, suite, measure):
    records = evaluated.read([RESULTS / "records" / f"{name}.jsonl"])
    by_seed = {record.seed: getattr(record, measure) for record in records if record.suite == suite}
    return [by_seed[seed] for seed in range(10)]


def test_what_precision_may_cost_on_long_terms_is_told():
    intervals = []
    for measure in ("seq", "char"):
        reduced, full = (accuracies_of(name, "2x602", measure) for name in ("noGroups", "noGroups-fp32"))
        low, high = welch_interval(
            (fmean(reduced), stdev(reduced), len(reduced)), (fmean(full), stdev(full), len(full))
        )
        intervals.append(f"−{-low:.2f} to +{high:.2f}".replace("0.", "."))
    assert f"{intervals[0]}; {intervals[1]} in characters" in WORDS
    full, reduced = (accuracies_of(name, "2x602", "seq")[:5] for name in ("noGroups-fp32", "noGroups"))
    assert f"higher by {fmean(full) - fmean(reduced):.2f}".replace("0.", ".") in WORDS
    assert not any(accuracies_of("noGroups-fp32", "2x602", "seq")[5:]), "none of these sums right"
    characters = list(
        zip(*(accuracies_of(name, "2x602", "char") for name in ("noGroups-fp32", "noGroups")), strict=True)
    )
    assert [seed for seed, both in enumerate(characters) if min(both) > 0.9] == [2, 3, 4]
    assert [seed for seed, both in enumerate(characters) if max(both) < 0.11] == [6, 7]
    others = {seed: full > reduced for seed, (full, reduced) in enumerate(characters) if seed in (0, 1, 5, 8, 9)}
    assert others == {0: True, 1: True, 5: False, 8: False, 9: False}
    published = evaluated.read([RESULTS / "further-seeds" / "records" / "noGroups-published.jsonl"])
    more = fmean(record.char for record in published if record.suite == "2x602")
    first = fmean(accuracies_of("noGroups-published", "2x602", "char"))
    assert f"ten seeds have {first:.3f} of these characters, ten more {more:.3f},".replace("0.", ".") in WORDS


def test_whole_trainings_in_full_precision_are_whole():
    logs = [logged(RESULTS / "noGroups-fp32" / f"seed-{seed}" / "metrics.jsonl") for seed in range(10)]
    for log in logs:
        assert [line["epoch"] for line in log] == list(range(1, 511))
    for fleet in (logs[0], logs[5]):
        assert f"{median(line['seconds'] for line in fleet):.2f} s an epoch by the median" in WORDS


def test_trainings_done_twice_are_those_of_the_record():
    record = json.loads((ROOT / "benchmarks/records/trained-twice-2026-11-16.json").read_text())
    fixed, sasa = record["fixedTime-published"], record["SASA-published"]
    assert fixed["log_lines"] == fixed["log_lines_alike"] == 5100
    assert sasa["log_lines_alike"] == 0
    for name in ("fixedTime-published", "SASA-published"):
        logs = [logged(RESULTS / name / f"seed-{seed}" / "metrics.jsonl") for seed in range(10)]
        assert record[name]["cost_of_the_first_epoch"]["second"] == [log[0]["total"] for log in logs]
        for suite, measure in (("[5,6]x[1,10]", "seq"), ("2x602", "char")):
            assert record[name][f"{suite} {measure}"]["second"] == accuracies_of(name, suite, measure)
    digits = [
        next(place for place, (old, new) in enumerate(zip(f"{one:.8f}", f"{other:.8f}", strict=True)) if old != new)
        for one, other in zip(*sasa["cost_of_the_first_epoch"].values(), strict=True)
    ]  # the point counts as a place, the first place as none
    assert (min(digits), max(digits)) == (3, 6)
    terms, long = (
        " and are ".join(f"{fmean(values):.3f}".removeprefix("0") for values in sasa[what].values())
        for what in ("[5,6]x[1,10] seq", "2x602 char")
    )
    assert f"mean over ten seeds, were {terms}; characters of 2×602 were {long}." in WORDS


def test_trainings_side_by_side_are_those_of_their_folders():
    beside = BASE["side_by_side"]["seconds"]
    assert beside == {name: seconds_of(Path("further-seeds") / name) for name in beside}
    base, no_groups, sasa, fixed = (round(seconds) for seconds in beside.values())
    assert f"took {base}, {no_groups}, {sasa} and {fixed} s" in WORDS
    assert f"and {BASE['side_by_side']['all_with_measuring']} s by the clock" in WORDS
    alone = sum(seconds_of(name.removesuffix("-published")) for name in beside)
    assert f"one after the other, the same four variants took {alone:.0f} s" in WORDS


def test_shares_and_steps_are_those_of_the_record():
    shares = {
        runs: span([100 * TRAINING[variant, runs]["share_of_product_rate"] for variant in VARIANTS], ".1f")
        for runs in (1, 10, 20)
    }
    assert f"is {shares[1]} % for one run, {shares[10]} for ten and {shares[20]} for twenty" in WORDS
    assert f"with ten runs the H200 does {shares[10]} %" in WORDS
    fixed, base, no_groups = (
        TRAINING[variant, 10]["ms_per_step"] / TRAINING[variant, 10]["recurrent_steps_computed"]
        for variant in ("fixedTime", "base", "noGroups")
    )
    assert f"**Found** {fixed:.1f} ms for fixedTime, {base:.1f} for base and {no_groups:.1f} for noGroups" in WORDS
    last = {variant: KERNELS["training"][variant]["ms_per_step"][-1] for variant in VARIANTS}
    assert f"{last['base']} ms a step; SASA's took {last['SASA']}, ponderReg's {last['ponderReg']}" in WORDS
    fixed = TRAINING["fixedTime", 10]["ms_per_step"]
    assert f"and noGroups' {last['noGroups']}" in WORDS
    assert f"fixedTime's {last['fixedTime']}, here {fixed:.1f}" in WORDS
    for variant in ("SASA", "ponderReg"):
        assert f"{variant}'s ten runs {TRAINING[variant, 10]['ms_per_step']:.1f}" in WORDS or (
            f"{variant}'s {TRAINING[variant, 10]['ms_per_step']:.1f} where" in WORDS
        )


def test_a_run_among_twenty_costs_a_sixth_to_a_quarter_of_one_alone():
    for variant in VARIANTS:
        alone, ten, twenty = (TRAINING[variant, runs]["ms_per_step_and_run"] for runs in (1, 10, 20))
        assert 1 / 6 < twenty / alone < 1 / 4
        assert 1 / 7 < 1 - twenty / ten < 1 / 4.5


def test_memory_is_that_of_the_record():
    gigabytes = {at: record["peak_gigabytes"] for at, record in TRAINING.items()}
    assert f"**Found** {gigabytes['fixedTime', 1]:.1f}." in WORDS
    for variant in ("fixedTime", "SASA"):
        share = (gigabytes[variant, 20] - gigabytes[variant, 1]) / 19
        assert re.search(rf"{share:.1f}( GB a run)? for {variant}", WORDS)


def test_solving_on_a_gpu_takes_what_the_record_says():
    solved = {(r["terms"], r["digits"]): r for r in BENCH["records"] if r["measure"] == "solving"}
    short, long, longest = (1e3 * solved[2, digits]["seconds_per_step"] for digits in (1000, 10_000, 100_000))
    assert f"**Found** {1e3 * solved[2, 10]['seconds_per_step']:.1f} ms from 10 to 1,000 digits" in WORDS
    assert f"{long:.1f} at 10,000 and {longest:.1f} at 100,000" in WORDS
    assert short < long < longest
    few, many, most = (solved[terms, 10]["steps"] for terms in (2, 100, 200))
    assert f"{few} for 2, {many} for 100 and {most} for 200" in WORDS
    times = [1e3 * record["seconds_per_step"] for (_, digits), record in solved.items() if digits == 10]
    assert f"A step takes {span(times, '.1f')} ms" in WORDS


def test_solving_on_a_cpu_takes_what_the_record_says():
    record = json.loads((RECORDS / "cpu-solving-2026-11-15.json").read_text())
    took = {(solved["model"], solved["digits"]): solved["seconds"] for solved in record["solving"]}
    base = [took["base", digits] for digits in (1000, 2000, 4000)]
    assert f"{base[0]:.2f}, {base[1]:.2f}, **{base[2]:.2f} s** (goal: 2)" in PAGE
    assert base[2] <= 2
    exact = [took["exact", digits] for digits in (1000, 4000, 20_000, 100_000)]
    assert f"{exact[0]:.2f}, **{exact[1]:.2f}**, {exact[2]:.1f}, {exact[3]:.1f} s" in PAGE
    assert f"`base` takes {base[2] / base[1]:.2f} of the time" in WORDS


def test_a_step_beside_the_published_code_costs_what_its_rows_say():
    """Row by row, seed by seed, and added up."""
    record = json.loads((RECORDS / "published-2026-11-15.json").read_text())
    used = [row for row in record["rows"] if row["used"]]
    for row in record["rows"]:
        assert row["used"] == (row["step"] >= 3 and max(row["foreign_cpu"].values()) <= 0.1)
    medians = []
    for seed in record["seeds"]:
        own = [row for row in used if row["seed"] == seed["seed"]]
        both = [median(row[way] / row["published"] for row in own) for way in ("ours_fp32", "ours_fp32_paper_grids")]
        seconds = [median(row[way] for row in own) for way in ("published", "ours_fp32", "ours_fp32_paper_grids")]
        alike = f"{seconds[1]:.2f} ({both[0]:.2f} ×) | {seconds[2]:.2f} ({both[1]:.3f} ×)"
        assert f"| {seed['seed']} | {len(own)} | {seed['recurrent_steps']} | {seconds[0]:.2f} | {alike} |" in PAGE
        medians.append(both)
    alike, papers = (median(both[way] for both in medians) for way in (0, 1))
    assert papers <= 1 / 6
    assert f"| median | | | | **{alike:.2f} ×** | **{papers:.3f} ×** |" in PAGE
    summed = sum(row["ours_fp32_paper_grids"] for row in used) / sum(row["published"] for row in used)
    assert f"added up over the {len(used)} steps used, ours take {summed:.3f}" in WORDS
