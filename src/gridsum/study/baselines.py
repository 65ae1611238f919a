"""The report on the baselines and its appendix, made of their data and of records; they say what has not been measured.

FOLDER/records/baselines.jsonl    what all of them came to
FOLDER/records/baselines-learning.jsonl    how they learned, epoch by epoch
"""

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gridsum.baselines.baseline import Baseline, BaselineConfig, find_baseline
from gridsum.baselines.learning import learned_in, learning
from gridsum.config.registry import BASELINES
from gridsum.evaluation.baselines import across, baselines, by_baseline, costs, spread_of
from gridsum.evaluation.intervals import wilson
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.io.disk import write_atomically
from gridsum.study.reproduction import BASELINE_RECORDS

LEARNING, PAGE = "records/baselines-learning.jsonl", "comparison.md"
PICTURE, CURVES, APPENDIX = "pictures/comparison.svg", "pictures/learning.svg", "appendix/baselines.md"
"""Beside the page; the pictures are drawn by `gridsum figure baselines` and `gridsum figure learning`."""
OURS = ("exact", "base", "noGroups")
"""Those of ours that stand in the tables: the default, and the two of the paper's own."""
_TOLD = ("[1,4]x[1,10]", "2x20", "2x100", "[5,6]x[1,10]", "nines+1:2x[1,10]")
_NOT_MEASURED = "not measured"
_TRAINED = {"matched": "Matched.", "native": "Native."}
_NUMBER = re.compile(r"\{(.+?)(?: (best|worst))?\}")
"""What stands for a number in a baseline's texts."""
_TABLE = [suite.name for suite in COLLECTIONS["comparison"]]
"""The suites of the paper's Table III."""
_SHOWN = [*_TABLE, "nines+1:2x[1,10]"]
Suites = Mapping[str, Mapping[int | None, Record]]
"""Of one baseline in one setting, by suite and training seed."""

_INTRODUCTION = """# Baselines side by side

The paper that gridsum implements compares itself with baselines that it did not run. Here seven are trained and tested
by the same loop on the same problems. Each is [one file](../src/gridsum/baselines), and has two
settings:

- **native**: it learns what its own paper trained it on, or the nearest to that. A number of that paper says whether
  it is at its strength.
- **matched**: it learns Π([1,4],[1,10]), one to four terms of one to ten digits, from results only.

Numbers are shares of whole results right. `2x15` are sums of two terms of 15 digits, `[5,6]x[1,10]` of five or six
terms of one to ten digits, and `nines+1` are rows of nines plus 1, or 1 plus such a row, where a carry goes through
every column. `base` and `noGroups` are the paper's networks, `exact` is the one that is proved to be right always.

Problems within a baseline's training space are laid out as in training. Larger ones get as much more room as they need.
"""
_OF_OURS = (
    "A dash: it cannot be asked. `base` and `noGroups` are one seed of ten each, chosen on validation problems and "
    "trained further, on the grids of the published test. `exact` learns the same space by a recipe of its own: short "
    "sums first, sums of few digits more often, and which neighbours a cell sees is given ([how](exact.md)).\n"
)
_RULE = "The rule is lenient: a number is reached if the highest seed's 95% interval does not lie wholly below it."
_APPENDIX = """# Baselines: every number

Both settings of each baseline on every suite, and every seed. What it means stands in
[baselines side by side](../comparison.md).

```sh
gridsum train --variant dngpu --seeds 0-7 --out runs/dngpu
gridsum evaluate --model runs/dngpu --suite comparison --out records.jsonl
gridsum reproduce --variants baselines --out runs/baselines --seeds 0-7 --on processes:5   # all of it, and this page
gridsum figure baselines --records exact base runs/baselines/records/baselines.jsonl --out comparison.svg
gridsum figure learning --records runs/baselines/records/baselines-learning.jsonl --out learning.svg
gridsum evaluate --model exact base noGroups --suite 2x8 2x10 2x20 2x50 2x200 4x5 nines+1:2x[1,10] nines+1:2x[1,100] \\
  --grids published --placement soft --samples 256 --out ours.jsonl   # ours, on what the paper has no table of
```
"""


def baseline_records(folder: Path) -> list[Record]:
    path = folder / BASELINE_RECORDS
    return read([path], pass_over_torn=True) if path.exists() else []


def keep_learning(folder: Path) -> None:
    """Keep how the baselines in a folder learned; logs that are no longer there have been kept before."""
    path = folder / LEARNING
    known = learning([path]) if path.exists() else {}
    for name, setting in ((name, setting) for setting in _TRAINED for name in BASELINES):
        place = folder / f"{name}-{setting}"
        if (place / "config.json").exists():
            known[f"{name}/{setting}"] = learned_in(place, f"{name}/{setting}")
    lines = [json.dumps(line._asdict()) + "\n" for epochs in known.values() for line in epochs]
    write_atomically(path, "".join(lines).encode())


def drawings(folder: Path, page: Path) -> dict[Path, list[str]]:
    """The pictures beside the page, and the arguments of `gridsum figure` that draw them."""
    keep_learning(folder)
    return {
        page.parent / PICTURE: ["baselines", "--records", "exact", "base", str(folder / BASELINE_RECORDS)],
        page.parent / CURVES: ["learning", "--records", str(folder / LEARNING)],
    }


def pages(records: Sequence[Record], place: Path) -> dict[Path, str]:
    """The page and its appendix, by where they stand in a folder."""
    return {place / PAGE: page(records), place / APPENDIX: appendix(records)}


def page(records: Sequence[Record]) -> str:
    """Markdown. Records of ours may be among them."""
    ours, measured = _parted(records)
    found = _found(measured)
    parts = [_INTRODUCTION, "## What came out\n", _missing(found)]
    if measured:
        alike = [*ours, *(record for record in measured if record.variant.endswith("/matched"))]
        parts += [
            f"![Whole results right against digits and against terms, a line for each baseline]({PICTURE})\n",
            "Thick lines are the highest seed at each size, thin ones the medians. Ours are black.\n",
            *_alike(alike),
            f"[The appendix]({APPENDIX}) has every seed on every suite in both settings, what each cost, how it "
            "differs from its paper, how it learned, and the commands.\n",
        ]
    parts += ["## What each can and cannot do, and why\n"]
    parts += [_told(baseline, found) for baseline in _baselines()]
    parts += ["## Against their own papers\n", _RULE + "\n", to_markdown(_claims(found))]
    return "\n".join(parts).rstrip("\n") + "\n"


def appendix(records: Sequence[Record]) -> str:
    """Markdown: what the page has no room for."""
    ours, measured = _parted(records)
    found = _found(measured)
    parts = [_APPENDIX, _missing(found)]
    if measured:
        both = [*ours, *measured]
        groups = (
            ("The paper's Table III, measured", _TABLE),
            ("More digits of two terms", _digits(both)),
            ("More terms of 5 digits (Table IV), and one carry through all columns", _terms(both)),
        )
        parts += _tables(both, groups)
    parts += [to_markdown(_overview(found)), "## What their papers say, and what differs here\n"]
    parts += [f"- **{baseline.title}**: {baseline.claim}. Here: {baseline.differs}." for baseline in _baselines()]
    if measured:
        parts += [
            "\n## How those learned that do not reach their papers' numbers\n",
            f"![Characters and held-out results right against problems seen, a line for each baseline](../{CURVES})\n",
            "Own settings, means over the seeds; 64 problems are held out. Drawn of the baselines-learning.jsonl that "
            "gridsum reproduce writes.\n",
            "## Every seed\n",
            to_markdown(baselines(measured)),
            to_markdown(costs(measured)),
        ]
    return "\n".join(parts).rstrip("\n") + "\n"


def _parted(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Those of ours that are shown, and the baselines'."""
    ours = [record for record in records if record.given is None and record.model in OURS]
    return ours, [record for record in records if record.given is not None]


def _found(measured: list[Record]) -> dict[str, Suites]:
    """By baseline and setting, such as dngpu/native."""
    return {line.variant: suites for line, suites in by_baseline(measured).items()} if measured else {}


def unmeasured(found: Container[str]) -> list[str]:
    """The baselines and settings, such as dngpu/native, that are not among those found."""
    wanted = [f"{name}/{setting}" for name in BASELINES for setting in _TRAINED]
    return [variant for variant in wanted if variant not in found]


def _missing(found: Mapping[str, Suites]) -> str:
    if not found:
        return "**Nothing has been measured yet.** Numbers and a picture stand here once there are records.\n"
    without = unmeasured(found)
    return f"**Not measured yet**: {', '.join(without)}.\n" if without else ""


def _tables(records: list[Record], groups: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """A table for each group of suites that has been measured."""
    made = [(title, names, [record for record in records if record.suite in names]) for title, names in groups]
    return [to_markdown(across(among, names, title)) for title, names, among in made if among]


def _alike(records: list[Record]) -> list[str]:
    """The table of one setting, whose name and number of seeds are told once, and how it was measured."""
    shown = [record for record in records if record.suite in _SHOWN]
    if not shown:
        return []
    table = across(shown, _SHOWN, "The paper's Table III, and rows of nines, all trained on Π([1,4],[1,10])")
    seeds = {record.seed for record in shown if record.given}
    caption = f"{table.caption} Of each baseline {len(seeds)} training seed{'s' * (len(seeds) != 1)}."
    rows = [(name.removesuffix("/matched"), given, *scores) for name, given, _, *scores in table.rows]
    table = replace(table, caption=caption, header=(*table.header[:2], *table.header[3:]), rows=tuple(rows))
    return [to_markdown(table), _OF_OURS]


def _digits(records: list[Record]) -> list[str]:
    """Suites of two terms that the baselines were measured on, beyond the paper's table."""
    return [name for name in _beyond(records) if name.startswith("2x")]


def _terms(records: list[Record]) -> list[str]:
    """The same of more terms, and then long carries."""
    names = [name for name in _beyond(records) if not name.startswith("2x")]
    return sorted((name for name in names if name.endswith("x5") or ":" in name), key=lambda name: ":" in name)


def _beyond(records: list[Record]) -> list[str]:
    return [name for name in dict.fromkeys(one.suite for one in records if one.given) if name not in _TABLE]


def reached(seeds: Mapping[int | None, Record], number: float) -> bool:
    """Whether the best seed's interval does not lie wholly below a number."""
    best = max(seeds.values(), key=lambda record: record.seq)
    return wilson(best.sequences_right, best.samples)[1] >= number


def _claims(found: Mapping[str, Suites]) -> Table:
    rows = []
    for baseline in _baselines():
        suites = found.get(f"{baseline.name}/native", {})
        for suite, number, source in baseline.numbers:
            seeds = suites.get(suite, {})
            verdict = ("yes" if reached(seeds, number) else "no") if seeds else _NOT_MEASURED
            measured = spread_of(seeds)[:3] if seeds else ("0", "–", "–")
            rows.append((baseline.name, suite, f"{number:g}", source, *measured, verdict))
    header = ("baseline", "suite", "to reach", "which is", "seeds", "median", "highest", "reached")
    caption = (
        "Native settings. Where a paper has no such suite, the nearest stands for it; what it says is in the appendix."
    )
    return Table("Own papers' numbers", caption, header, tuple(rows))


def _told(baseline: Baseline, found: Mapping[str, Suites]) -> str:
    outcomes = [
        f"- *{title}* {_outcome(baseline, setting, found.get(f'{baseline.name}/{setting}', {}))}"
        for setting, title in _TRAINED.items()
    ]
    native = found.get(f"{baseline.name}/native", {})
    missed = [suite for suite, number, _ in baseline.numbers if suite in native and not reached(native[suite], number)]
    if missed:
        cause = (_trained_whole(baseline, "native", native) and baseline.missed) or "what differs from its paper"
        outcomes.append(f"- *Not reached*: {', '.join(missed)}. The likeliest cause: {cause}.")
    return "\n".join((f"**{baseline.title}** ({baseline.source}). {baseline.reach}\n", *outcomes, ""))


def _trained_whole(baseline: Baseline, setting: str, suites: Suites) -> bool:
    """Whether its runs saw all that its recipe has. What is told of them may not hold for a short trial."""
    seen = {record.problems_seen for seeds in suites.values() for record in seeds.values()}
    return seen <= {None, seen_in_training(baseline.configure(setting))}


def _outcome(baseline: Baseline, setting: str, suites: Suites) -> str:
    """What is told of a baseline with its numbers filled in; where nothing is, some numbers alone."""

    def number(place: re.Match[str]) -> str:
        if place[1] not in suites:
            return _NOT_MEASURED
        _, median, best, every = spread_of(suites[place[1]])
        return {"best": best.partition(" ")[0], "worst": min(every.split(), key=float)}.get(place[2], median)

    if not suites:
        return "Not measured yet."
    text = baseline.found.get(setting) if _trained_whole(baseline, setting, suites) else None
    told = [f"{{{name}}} of {name}" for name in _TOLD if name in suites]
    return _NUMBER.sub(number, text or f"Median seed: {', '.join(told)}.")


def _overview(found: Mapping[str, Suites]) -> Table:
    rows = []
    for baseline in _baselines():
        parameters = sum(part.numel() for part in baseline.network(baseline.configure("matched")).parameters())
        native = baseline.configure("native")
        trained = f"{native.space}" + ("" if native.task.name == "add" else f" ({native.task.task.meaning})")
        given = baseline.given[f"{baseline.name}/native"]
        if baseline.native.given != baseline.matched.given:
            given = f"native: {given}; matched: {baseline.given[f'{baseline.name}/matched']}"
        seen = ", ".join(f"{seen_in_training(baseline.configure(setting)) / 1e6:.2f}" for setting in _TRAINED)
        took = ", ".join(_seconds(found.get(f"{baseline.name}/{setting}", {})) for setting in _TRAINED)
        rows.append((baseline.name, f"{parameters:,}", given, trained, seen, took))
    caption = (
        "Of one run; where there are two numbers, trained as ours comes first, then its native setting. Parameters are "
        "those of the first. Seconds are those of the fleet's training, shared out among its runs; trainings that "
        "shared a GPU took longer than they take alone."
    )
    header = ("baseline", "parameters", "was given", "native setting", "million problems seen", "seconds")
    return Table("Seven baselines", caption, header, tuple(rows))


def _seconds(suites: Suites) -> str:
    took = next((record.training_seconds for seeds in suites.values() for record in seeds.values()), None)
    return "–" if took is None else f"{took:.0f}"


def seen_in_training(config: BaselineConfig) -> int:
    """How many problems a run sees in training."""
    return config.steps * config.training.batch


def _baselines() -> list[Baseline]:
    return list(map(find_baseline, BASELINES))
