"""Tables of baselines side by side: one line for all training seeds of a baseline, ours among them.

A baseline says in its records what it was given. Its records of two versions are never mixed, because
a version may have another network by the same name.
"""

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gridsum.evaluation.intervals import wilson
from gridsum.evaluation.records import NOTHING, Record, RecordError
from gridsum.evaluation.rendering import Table, TableError
from gridsum.evaluation.suites import COLLECTIONS

_OURS = {"exact": "neighbourhood, empty row, short sums first, sums with few different digits"}
"""What those of ours were given that were given anything."""


class Line(NamedTuple):
    """Whose numbers they are."""

    model: str
    variant: str
    given: str
    baseline: str
    """Its name without its setting; empty for ours."""

    @property
    def label(self) -> str:
        return self.variant if self.baseline else self.model


Found = dict[Line, dict[str, dict[int | None, Record]]]
"""By line, suite and training seed."""


def check_versions(records: Iterable[Record]) -> None:
    """Refuse records of one baseline that were made by different versions."""
    versions: dict[str, str] = {}
    for record in records:
        if record.given is not None and versions.setdefault(record.variant, record.version) != record.version:
            raise RecordError(
                f"the records of {record.variant} are of gridsum {versions[record.variant]} and {record.version}, and "
                "its network may differ between them; evaluate it anew with one version, or name records of one alone"
            )


def by_baseline(records: Iterable[Record]) -> Found:
    """Of several records for one seed and suite the last one counts. Baselines come in the order of their names."""
    records = list(records)
    check_versions(records)
    if not records:
        raise TableError(
            "there are no records; train a baseline and measure it: gridsum train --variant dngpu --out FOLDER, then "
            "gridsum evaluate --model FOLDER --suite comparison --out records.jsonl"
        )
    found: Found = {}
    for record in records:
        baseline = "" if record.given is None else record.variant.partition("/")[0]
        line = Line(record.model, record.variant, record.given or _OURS.get(record.model, "nothing"), baseline)
        found.setdefault(line, {}).setdefault(record.suite, {})[record.seed] = record
    return {line: found[line] for line in sorted(found, key=lambda line: (line.baseline, line.variant, line))}


def baselines(records: list[Record]) -> Table:
    """Whole results right by suite: median over the seeds, best seed with its interval, every seed."""
    found = by_baseline(records)
    rows = []
    for suite in _ordered(found):
        measured = [(line, suites[suite]) for line, suites in found.items() if suite in suites]
        for number, (line, seeds) in enumerate(measured):
            rows.append(("" if number else suite, line.variant, line.given, *spread_of(seeds)))
    caption = (
        "Whole results right. Median over training seeds; in brackets the best seed's Wilson 95% interval; every seed "
        f"in order. {_conditions(records)} A baseline that cannot be given such numbers at all has no line."
    )
    header = ("suite", "baseline", "was given", "seeds", "median", "best", "every seed")
    return Table("Baselines side by side", caption, header, tuple(rows))


def across(records: list[Record], names: Sequence[str], title: str) -> Table:
    """The same in brief: a line for each baseline, a column for each suite, with the median and the highest seed."""
    found = by_baseline(records)
    names = [name for name in names if any(name in suites for suites in found.values())]
    rows = []
    for line, suites in found.items():
        measured = [suites.get(name, {}) for name in names]
        if any(measured):
            rows.append((line.label, line.given, str(max(map(len, measured))), *map(_brief, measured)))
    shown = "Whole results right: the median over training seeds, then the highest seed of the suite."
    return Table(title, f"{shown} {_conditions(records)}", ("baseline", "was given", "seeds", *names), tuple(rows))


def _brief(seeds: Mapping[int | None, Record]) -> str:
    values = [record.seq for record in seeds.values()]
    if len(values) < 2:
        return _share(values[0]) if values else NOTHING
    return f"{_share(statistics.median(values))}, {_share(max(values))}"


class Point(NamedTuple):
    """Whole results right at one size, over the training seeds."""

    size: int
    worst: float
    median: float
    best: float


class Curve(NamedTuple):
    """One baseline on problems that grow in `axis`: digits of two terms, or terms of five digits."""

    label: str
    setting: str
    """What it was trained on: `paper`, as ours, or its `own`."""
    axis: str
    points: tuple[Point, ...]
    ours: bool


_GROWING = {"digits": re.compile(r"2x([0-9]+)"), "terms": re.compile(r"([0-9]+)x5")}


def curves(records: Iterable[Record]) -> list[Curve]:
    """A curve for each baseline and axis that it has been measured along at two sizes or more."""
    found = []
    lines = by_baseline(records)
    for axis, pattern in _GROWING.items():
        for line, suites in lines.items():
            points = []
            for suite, seeds in suites.items():
                if size := pattern.fullmatch(suite):
                    values = [record.seq for record in seeds.values()]
                    points.append(Point(int(size[1]), min(values), statistics.median(values), max(values)))
            if len(points) > 1:
                setting = line.variant.partition("/")[2] if line.baseline else "matched"
                label = line.baseline or line.model
                found.append(Curve(label, setting, axis, tuple(sorted(points)), not line.baseline))
    if not found:
        raise TableError(
            "the records hold no baseline at two sizes, such as 2x15 and 2x100; evaluate it there: "
            "gridsum evaluate --model FOLDER --suite comparison --out records.jsonl"
        )
    return found


def _ordered(found: Found) -> list[str]:
    """The suites of the paper's table first, then the others as they come."""
    known = [suite.name for suite in COLLECTIONS["comparison"]]
    met = dict.fromkeys(suite for suites in found.values() for suite in suites)
    return [name for name in known if name in met] + [name for name in met if name not in known]


def spread_of(seeds: Mapping[int | None, Record]) -> tuple[str, str, str, str]:
    """How many seeds, their median, the best with its interval, and every one."""
    values = [seeds[seed] for seed in sorted(seeds, key=lambda seed: -1 if seed is None else seed)]
    best = max(values, key=lambda record: record.seq)
    low, high = wilson(best.sequences_right, best.samples)
    median = statistics.median(record.seq for record in values)
    shown = f"{_share(best.seq)} ({low:.3f}–{high:.3f})"
    return str(len(values)), _share(median), shown, " ".join(_share(record.seq) for record in values)


def _share(value: float) -> str:
    """Three digits; 1.0 is only for no error and 0.0 only for nothing right."""
    return f"{value:.1f}" if value in (0, 1) else f"{min(max(value, 0.001), 0.999):.3f}"


def _conditions(records: Iterable[Record]) -> str:
    records = list(records)
    seeds = ", ".join(sorted({str(record.evaluation_seed) for record in records}))
    samples = ", ".join(map(str, sorted({record.samples for record in records})))
    return f"Evaluation seed {seeds}; {samples} problems per suite."
