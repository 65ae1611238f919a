"""Tables of baselines side by side: one line for all training seeds of a baseline, ours among them."""

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gridsum.evaluation.records import NOTHING, Record
from gridsum.evaluation.rendering import Table, TableError, share_text
from gridsum.evaluation.suites import COLLECTIONS

_OURS = {"exact": "neighbourhood, empty row, short sums first, sums with few different digits"}
"""What those of ours were given that were given anything."""


class Line(NamedTuple):
    """Whose numbers they are."""

    is_baseline: bool
    label: str
    """A baseline's name and setting; the model's name for ours."""
    given: str


Suites = dict[str, list[Record]]
"""What one line came to: by suite, a record for each training seed."""


def by_line(records: Iterable[Record]) -> dict[Line, Suites]:
    """Of several records for one seed and suite the last one counts. Ours come first, by variant."""
    found: dict[Line, dict[str, dict[int | None, Record]]] = {}
    for record in sorted(records, key=lambda record: (record.given is not None, record.variant, record.model)):
        baseline = record.given is not None
        label = record.variant if baseline else record.model
        line = Line(baseline, label, record.given or _OURS.get(record.model, "nothing"))
        found.setdefault(line, {}).setdefault(record.suite, {})[record.seed] = record
    if not found:
        raise TableError(
            "there are no records; train a baseline and measure it: gridsum train --variant dngpu --out FOLDER, then "
            "gridsum evaluate --model FOLDER --suite comparison --out records.jsonl"
        )
    return {
        line: {suite: list(by_seed.values()) for suite, by_seed in suites.items()} for line, suites in found.items()
    }


def baselines(records: list[Record]) -> Table:
    """On the suites of the paper's Table III, or where there are none of these on all."""
    measured = dict.fromkeys(record.suite for record in records)
    known = [suite.name for suite in COLLECTIONS["comparison"] if suite.name in measured]
    return across(records, known or list(measured), "Baselines side by side")


def across(records: Sequence[Record], names: Sequence[str], title: str) -> Table:
    """A line for each baseline, a column for each of these suites, with the median and the highest seed."""
    shown = [record for record in records if record.suite in names]
    found = by_line(shown)
    measured = [name for name in names if any(name in suites for suites in found.values())]
    rows = [
        (label, given, str(max(map(len, suites.values()))), *(_brief(suites.get(name, [])) for name in measured))
        for (_, label, given), suites in found.items()
    ]
    seeds = ", ".join(sorted({str(record.evaluation_seed) for record in shown}))
    samples = ", ".join(map(str, sorted({record.samples for record in shown})))
    caption = (
        "Whole results right: the median over training seeds, then the highest seed of the suite. "
        f"Evaluation seed {seeds}; {samples} problems per suite."
    )
    return Table(title, caption, ("baseline", "was given", "seeds", *measured), tuple(rows))


def _brief(seeds: Sequence[Record]) -> str:
    values = [record.seq for record in seeds]
    if not values:
        return NOTHING
    shown = (statistics.median(values), max(values)) if len(values) > 1 else values
    return ", ".join(map(share_text, shown))
