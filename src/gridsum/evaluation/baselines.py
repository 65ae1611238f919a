"""Tables of baselines side by side: one line for all training seeds of a baseline, ours among them."""

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gridsum.evaluation.intervals import wilson
from gridsum.evaluation.records import NOTHING, Record
from gridsum.evaluation.rendering import Table, TableError, share_text
from gridsum.evaluation.suites import COLLECTIONS

_OURS = {"exact": "neighbourhood, empty row, short sums first, sums with few different digits"}
"""What those of ours were given that were given anything."""
_GROWING = {"digits": re.compile(r"2x([0-9]+)"), "terms": re.compile(r"([0-9]+)x5")}
_MEASURE_IT = "gridsum evaluate --model FOLDER --suite comparison --out records.jsonl"
Seeds = Mapping[int | None, Record]
"""Records of one baseline on one suite, by training seed."""


class Line(NamedTuple):
    """Whose numbers they are."""

    model: str
    variant: str
    given: str
    baseline: str
    """Its name without its setting; empty for ours."""


Found = dict[Line, dict[str, dict[int | None, Record]]]
"""By line, suite and training seed."""


def by_baseline(records: Iterable[Record]) -> Found:
    """Of several records for one seed and suite the last one counts. Baselines come in the order of their names."""
    found: Found = {}
    for record in records:
        baseline = "" if record.given is None else record.variant.partition("/")[0]
        line = Line(record.model, record.variant, record.given or _OURS.get(record.model, "nothing"), baseline)
        found.setdefault(line, {}).setdefault(record.suite, {})[record.seed] = record
    if not found:
        train = "gridsum train --variant dngpu --out FOLDER"
        raise TableError(f"there are no records; train a baseline and measure it: {train}, then {_MEASURE_IT}")
    return {line: found[line] for line in sorted(found, key=lambda line: (line.baseline, line.variant, line))}


def baselines(records: list[Record]) -> Table:
    """On the suites of the paper's Table III, or where there are none of these on all."""
    measured = dict.fromkeys(record.suite for record in records)
    known = [suite.name for suite in COLLECTIONS["comparison"] if suite.name in measured]
    return across(records, known or list(measured), "Baselines side by side")


def across(records: list[Record], names: Sequence[str], title: str) -> Table:
    """A line for each baseline, a column for each suite, with the median and the highest seed."""
    found = by_baseline(records)
    names = [name for name in names if any(name in suites for suites in found.values())]
    rows = []
    for line, suites in found.items():
        measured = [suites.get(name, {}) for name in names]
        if any(measured):
            label = line.variant if line.baseline else line.model
            rows.append((label, line.given, str(max(map(len, measured))), *map(_brief, measured)))
    shown = "Whole results right: the median over training seeds, then the highest seed of the suite."
    return Table(title, f"{shown} {_conditions(records)}", ("baseline", "was given", "seeds", *names), tuple(rows))


def _brief(seeds: Seeds) -> str:
    values = [record.seq for record in seeds.values()]
    if not values:
        return NOTHING
    shown = (statistics.median(values), max(values)) if len(values) > 1 else values
    return ", ".join(map(share_text, shown))


def spread_of(seeds: Seeds) -> tuple[str, str, str, str]:
    """How many seeds, their median, the best with its interval, and every one."""
    values = [seeds[seed] for seed in sorted(seeds, key=lambda seed: -1 if seed is None else seed)]
    best = max(values, key=lambda record: record.seq)
    low, high = wilson(best.sequences_right, best.samples)
    median = statistics.median(record.seq for record in values)
    shown = f"{share_text(best.seq)} ({low:.3f}–{high:.3f})"
    return str(len(values)), share_text(median), shown, " ".join(share_text(record.seq) for record in values)


def _conditions(records: Sequence[Record]) -> str:
    seeds = ", ".join(sorted({str(record.evaluation_seed) for record in records}))
    samples = ", ".join(map(str, sorted({record.samples for record in records})))
    return f"Evaluation seed {seeds}; {samples} problems per suite."


class Point(NamedTuple):
    """Whole results right at one size, over the training seeds."""

    size: int
    median: float
    best: float


class Curve(NamedTuple):
    """One baseline on problems that grow in `axis`: digits of two terms, or terms of five digits."""

    label: str
    setting: str
    """What it was trained on: `matched`, as ours, or its `native`."""
    axis: str
    points: tuple[Point, ...]
    ours: bool


def curves(records: Iterable[Record]) -> list[Curve]:
    """A curve for each baseline and axis that it has been measured along at two sizes or more."""
    found, lines = [], by_baseline(records)
    for axis, pattern in _GROWING.items():
        for line, suites in lines.items():
            points = []
            for suite, seeds in suites.items():
                if size := pattern.fullmatch(suite):
                    values = [record.seq for record in seeds.values()]
                    points.append(Point(int(size[1]), statistics.median(values), max(values)))
            if len(points) > 1:
                setting = line.variant.partition("/")[2] if line.baseline else "matched"
                label = line.baseline or line.model
                found.append(Curve(label, setting, axis, tuple(sorted(points)), not line.baseline))
    if not found:
        raise TableError(
            f"the records hold no baseline at two sizes, such as 2x15 and 2x100; evaluate it there: {_MEASURE_IT}"
        )
    return found
