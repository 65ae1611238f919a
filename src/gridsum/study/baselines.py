"""The pages on the baselines: tables of their records, and what a person has to say of them.

    FOLDER/records/baselines.jsonl            what all of them came to
    FOLDER/notes-comparison.md                the words of the page; without it, there are tables alone
    FOLDER/notes-baselines.md                 those of its appendix

In the words, {dngpu/native 2x20} is the median of a suite over the seeds, {dngpu/native 2x20 best} and {… worst} are
the highest and lowest seed, and {table matched} is a table. This way all numbers are those of the records.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from gridsum.baselines.baseline import find_baseline
from gridsum.config.registry import BASELINES
from gridsum.evaluation.intervals import wilson
from gridsum.evaluation.records import NOTHING, Record, read
from gridsum.evaluation.rendering import Table, TableError, share_text, to_markdown
from gridsum.evaluation.suites import COLLECTIONS, NINES
from gridsum.evaluation.tables import Suites, across, by_line
from gridsum.model.store import shipped, shipped_records
from gridsum.study.reproduction import AS_PUBLISHED, BASELINE_RECORDS, OVERTRAINED, SETTINGS, records_of

PICTURE = "pictures/comparison.svg"
"""Beside the page; drawn by `gridsum figure baselines`."""
_WORDS = {"comparison.md": "notes-comparison.md", "appendix/baselines.md": "notes-baselines.md"}
"""The pages, and the words of each."""
_TABLES_ALONE = "# Baselines\n\n{table matched}\n\n{table claims}\n\n{table digits}\n\n{table terms}\n\n{table took}\n"
_STANDARD = {name: f"{name}, every seed" for name in OVERTRAINED}
OURS = ("exact", *OVERTRAINED, *_STANDARD.values())
"""Ours in the tables: the default, and two of the paper's own; of these also every seed of the standard training."""
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


def baseline_records(folder: Path) -> list[Record]:
    """Of the baselines; and of ours as they are before one is chosen and overtrained, on the published grids."""
    ours = read(filter(Path.exists, (folder / records_of(name) for name in OVERTRAINED)))
    standard = [replace(one, model=_STANDARD[one.model]) for one in ours if one.way == AS_PUBLISHED]
    return standard + read(filter(Path.exists, [folder / BASELINE_RECORDS]))


def pages(folder: Path, place: Path) -> dict[Path, str]:
    """The page and its appendix, of the words and records in a folder and those that ship, by where they stand."""
    ours = read(filter(Path.exists, map(shipped_records, shipped())))
    records = [*ours, *baseline_records(folder)]
    written = {name: (folder / notes).read_text() for name, notes in _WORDS.items() if (folder / notes).exists()}
    words = written or {next(iter(_WORDS)): _TABLES_ALONE}
    return {place / name: filled(text, records) for name, text in words.items()}


def filled(words: str, records: Sequence[Record]) -> str:
    """Words with their numbers and tables. Records of ours may be among them."""
    ours = [record for record in records if record.given is None and record.model in OURS]
    measured = [record for record in records if record.given is not None]
    found = by_line(measured) if measured else {}

    def fill(place: re.Match[str]) -> str:
        what, name, which = place.groups()
        if what == "table":
            try:
                return to_markdown(_table(name, [*ours, *measured], found)).rstrip("\n")
            except TableError as why:
                return f"No table `{name}` yet: {why}."
        shares = [record.seq for record in found.get(what, {}).get(name, [])]
        chosen = {"best": max, "worst": min}.get(which, median)
        return share_text(chosen(shares)) if shares else NOT_MEASURED

    return _PLACE.sub(fill, words)


def _table(name: str, records: list[Record], found: Mapping[str, Suites]) -> Table:
    if name == "claims":
        return _claims(found)
    if name == "took":
        return _overview(found)
    if name == "matched":
        records = [one for one in records if one.given is None or one.variant.endswith("/matched")]
    title, suites = _TABLES[name]
    return across(records, suites, title)


def _claims(found: Mapping[str, Suites]) -> Table:
    rows = []
    for baseline in map(find_baseline, BASELINES):
        suites = found.get(f"{baseline.name}/native", {})
        for suite, number, source in baseline.numbers:
            seeds = suites.get(suite, [])
            told = (NOTHING, NOTHING, NOT_MEASURED)
            if seeds:
                middle = share_text(median(record.seq for record in seeds))
                best = max(seeds, key=lambda record: record.seq)
                low, high = wilson(best.sequences_right, best.samples)
                # It is reached unless the whole interval lies below it.
                told = middle, f"{share_text(best.seq)} ({low:.3f}–{high:.3f})", "yes" if high >= number else "no"
            rows.append((baseline.name, suite, f"{number:g}", source, str(len(seeds)), *told))
    header = ("baseline", "suite", "to reach", "which is", "seeds", "median", "highest", "matched")
    caption = (
        "Native settings. If a paper has no such suite, the nearest one stands for it; the appendix quotes the paper."
    )
    return Table("Own papers' numbers", caption, header, tuple(rows))


def _overview(found: Mapping[str, Suites]) -> Table:
    rows = []
    for baseline in map(find_baseline, BASELINES):
        native = baseline.configure("native")
        trained = f"{native.space}" + ("" if native.task.name == "add" else f" ({native.task.task.meaning})")
        suites = [found.get(f"{baseline.name}/{setting}", {}) for setting in SETTINGS]
        measured = [next((seeds[0] for seeds in of_setting.values()), None) for of_setting in suites]
        parameters = _numbers(measured[:1], "parameters")
        seen, seconds = _numbers(measured, "problems_seen", 1e6, 2), _numbers(measured, "training_seconds")
        rows.append((baseline.name, parameters, trained, seen, seconds))
    caption = (
        "Of one run; where there are two numbers, trained as ours comes first, then its native setting. Parameters are "
        "those of the first. Seconds are those of the fleet's training, shared out among its runs; training runs that "
        "shared a GPU took longer than they take alone."
    )
    header = ("baseline", "parameters", "native setting", "million problems seen", "seconds")
    return Table("Seven baselines", caption, header, tuple(rows))


def _numbers(records: Sequence[Record | None], name: str, unit: float = 1, digits: int = 0) -> str:
    values = (getattr(record, name, None) for record in records)
    return ", ".join(NOTHING if value is None else f"{value / unit:,.{digits}f}" for value in values)
