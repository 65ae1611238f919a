"""The pages on the baselines: tables of their records, and what a person has to say of them.

    FOLDER/records/baselines.jsonl            what all of them came to
    FOLDER/records/baselines-learning.jsonl   how they learned, epoch by epoch
    FOLDER/notes-comparison.md                the words of the page; without it, there are tables alone
    FOLDER/notes-baselines.md                 those of its appendix

In the words, {dngpu/native 2x20} is the median of a suite over the seeds, {dngpu/native 2x20 best} and {… worst} are
the highest and lowest seed, and {table matched} is a table. This way all numbers are those of the records.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gridsum.baselines.baseline import Baseline, BaselineConfig, find_baseline
from gridsum.baselines.learning import learned_in, learning
from gridsum.config.registry import BASELINES
from gridsum.evaluation.baselines import across, by_baseline, spread_of
from gridsum.evaluation.intervals import wilson
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.rendering import Table, TableError, to_markdown
from gridsum.evaluation.suites import COLLECTIONS, NINES
from gridsum.io.disk import write_atomically
from gridsum.study.reproduction import AS_PUBLISHED, BASELINE_RECORDS, OVERTRAINED, SETTINGS, records_of

LEARNING = "records/baselines-learning.jsonl"
PICTURE, CURVES = "pictures/comparison.svg", "pictures/learning.svg"
"""Beside the page; drawn by `gridsum figure baselines` and `gridsum figure learning`."""
_WORDS = {"comparison.md": "notes-comparison.md", "appendix/baselines.md": "notes-baselines.md"}
"""The pages, and the words of each."""
_TABLES_ALONE = "# Baselines\n\n{table matched}\n\n{table claims}\n\n{table digits}\n\n{table terms}\n\n{table took}\n"
_STANDARD = {name: f"{name}, every seed" for name in OVERTRAINED}
OURS = ("exact", *OVERTRAINED, *_STANDARD.values())
"""Those of ours that stand in the tables: the default, and the two of the paper's own; of these also every seed of the
standard training, as of a baseline."""
NOT_MEASURED = "not measured"
_PLACE = re.compile(r"\{(table|[\w-]+/\w+)\s+([^\s{}]+)(?:\s+(best|worst))?\}")
_COMPARISON = [suite.name for suite in COLLECTIONS["comparison"]]
_TABLES = {
    "matched": ("The paper's Table III, and rows of nines, all trained on Π([1,4],[1,10])", [*_COMPARISON, NINES]),
    "comparison": ("The paper's Table III", _COMPARISON),
    "digits": ("More digits of two terms", ["2x5", "2x8", "2x10", "2x20", "2x50", "2x200"]),
    "terms": (
        "More terms of 5 digits (Table IV), and one carry through all columns",
        ["2x5", "4x5", "5x5", "6x5", "8x5", "10x5", NINES, "nines+1:2x[1,100]"],
    ),
}
Suites = Mapping[str, Mapping[int | None, Record]]
"""Of one baseline in one setting, by suite and training seed."""


def baseline_records(folder: Path) -> list[Record]:
    """Of the baselines; and of ours as they are before one is chosen and overtrained, on the published grids."""
    paths = {name: folder / records_of(name) for name in OVERTRAINED}
    standard = [
        replace(one, model=_STANDARD[name])
        for name, path in paths.items()
        for one in (read([path]) if path.exists() else [])
        if one.way == AS_PUBLISHED
    ]
    path = folder / BASELINE_RECORDS
    return standard + (read([path]) if path.exists() else [])


def keep_learning(folder: Path) -> None:
    """Keep how the baselines in a folder learned; logs that are no longer there have been kept before."""
    path = folder / LEARNING
    known = learning([path]) if path.exists() else {}
    for name, setting in ((name, setting) for setting in SETTINGS for name in BASELINES):
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


def pages(records: Sequence[Record], folder: Path, place: Path) -> dict[Path, str]:
    """The page and its appendix, of the words in a folder and of records, by where they are to stand."""
    written = {name: (folder / notes).read_text() for name, notes in _WORDS.items() if (folder / notes).exists()}
    words = written or {next(iter(_WORDS)): _TABLES_ALONE}
    return {place / name: filled(text, records) for name, text in words.items()}


def filled(words: str, records: Sequence[Record]) -> str:
    """Words with their numbers and tables. Records of ours may be among them."""
    ours = [record for record in records if record.given is None and record.model in OURS]
    measured = [record for record in records if record.given is not None]
    found: dict[str, Suites] = {}
    if measured:
        found = {line.variant: suites for line, suites in by_baseline(measured).items()}

    def fill(place: re.Match[str]) -> str:
        what, name, which = place.groups()
        if what == "table":
            try:
                return to_markdown(_table(name, [*ours, *measured], found)).rstrip("\n")
            except TableError as why:
                return f"No table `{name}` yet: {why}."
        seeds = found.get(what, {}).get(name)
        if not seeds:
            return NOT_MEASURED
        _, median, best, every = spread_of(seeds)
        return {"best": best.partition(" ")[0], "worst": min(every.split(), key=float)}.get(which, median)

    return _PLACE.sub(fill, words)


def _table(name: str, records: list[Record], found: Mapping[str, Suites]) -> Table:
    if name == "claims":
        return _claims(found)
    if name == "took":
        return _overview(found)
    if name == "matched":
        records = [one for one in records if one.given is None or one.variant.endswith("/matched")]
    title, suites = _TABLES[name]
    shown = [record for record in records if record.suite in suites]
    return across(shown, suites, title)


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
            verdict = ("yes" if reached(seeds, number) else "no") if seeds else NOT_MEASURED
            measured = spread_of(seeds)[:3] if seeds else ("0", "–", "–")
            rows.append((baseline.name, suite, f"{number:g}", source, *measured, verdict))
    header = ("baseline", "suite", "to reach", "which is", "seeds", "median", "highest", "matched")
    caption = (
        "Native settings. If a paper has no such suite, the nearest one stands for it; the appendix quotes the paper."
    )
    return Table("Own papers' numbers", caption, header, tuple(rows))


def _overview(found: Mapping[str, Suites]) -> Table:
    rows = []
    for baseline in _baselines():
        parameters = sum(part.numel() for part in baseline.network(baseline.configure("matched")).parameters())
        native = baseline.configure("native")
        trained = f"{native.space}" + ("" if native.task.name == "add" else f" ({native.task.task.meaning})")
        seen = ", ".join(f"{seen_in_training(baseline.configure(setting)) / 1e6:.2f}" for setting in SETTINGS)
        first = [next(iter(found.get(f"{baseline.name}/{setting}", {}).values()), {}) for setting in SETTINGS]
        took = [next((one.training_seconds for one in seeds.values()), None) for seeds in first]
        seconds = ", ".join("–" if one is None else f"{one:.0f}" for one in took)
        rows.append((baseline.name, f"{parameters:,}", trained, seen, seconds))
    caption = (
        "Of one run; where there are two numbers, trained as ours comes first, then its native setting. Parameters are "
        "those of the first. Seconds are those of the fleet's training, shared out among its runs; training runs that "
        "shared a GPU took longer than they take alone."
    )
    header = ("baseline", "parameters", "native setting", "million problems seen", "seconds")
    return Table("Seven baselines", caption, header, tuple(rows))


def seen_in_training(config: BaselineConfig) -> int:
    """How many problems a run sees in training."""
    return config.steps * config.training.batch


def _baselines() -> list[Baseline]:
    return list(map(find_baseline, BASELINES))
