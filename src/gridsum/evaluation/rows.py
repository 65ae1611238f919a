"""Records arranged in the lines of a table: whose they are, what tells them apart, what they share."""

import re
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from gridsum.evaluation.paper import ABLATION
from gridsum.evaluation.records import EXTERNAL, NOTHING, Record
from gridsum.evaluation.systems import check_versions


class Row(NamedTuple):
    """Whose numbers a line holds."""

    model: str
    variant: str
    seed: int | None
    halting: str
    placement: str
    grids: str


Cells = dict[Row, dict[str, Record]]


def arrange(records: Iterable[Record], suites: Collection[str]) -> Cells:
    """The records of these suites by line and suite, the paper's variants first, external solvers last."""
    records = list(records)
    check_versions(records)
    cells: Cells = {}
    for record in records:
        if record.suite in suites:
            row = Row(record.model, record.variant, record.seed, record.halting, *record.way[::-1])
            cells.setdefault(row, {})[record.suite] = record
    order = list(ABLATION)

    def place(row: Row) -> tuple:
        known = order.index(row.variant) if row.variant in order else len(order)
        seed = -1 if row.seed is None else row.seed
        return row.variant == EXTERNAL, known, row.variant, row.model, seed, row.halting, row.placement, row.grids

    return {row: cells[row] for row in sorted(cells, key=place)}


def labels_of(rows: Collection[Row]) -> dict[str, Callable[[Row], str]]:
    """The columns that tell the lines apart; what all our networks share is said in the caption instead."""
    ours = [row for row in rows if row.variant != EXTERNAL]
    labels: dict[str, Callable[[Row], str]] = {"model": lambda row: row.model}
    if any(row.variant != row.model for row in ours):
        labels["variant"] = lambda row: row.variant
    if len({row.seed for row in ours}) > 1:
        labels["seed"] = lambda row: NOTHING if row.seed is None else str(row.seed)
    if len({row.halting for row in ours}) > 1:
        labels["halting"] = lambda row: row.halting
    if len({row.placement for row in ours}) > 1:
        labels["placement"] = lambda row: row.placement
    if len({row.grids for row in ours}) > 1:
        labels["grids"] = lambda row: row.grids
    return labels


def conditions(records: Collection[Record]) -> str:
    """How the records came about."""
    trained = [record for record in records if record.variant != EXTERNAL]
    ours, parts = [record for record in trained if record.given is None], []
    if ours:
        parts.append(_several("halting rule", (record.halting for record in ours)))
        parts.append(_several("placement", (record.placement for record in ours)))
        parts.append(_several("grids", (record.grids for record in ours), plural=""))
    seeds = {record.seed for record in trained} - {None}
    if seeds:
        parts.append(_several("training seed", seeds))
    parts.append(_several("evaluation seed", (record.evaluation_seed for record in records)))
    parts.append(_several("gridsum", (record.version for record in records), plural=""))
    samples: dict[int, dict[str, None]] = {}
    for record in records:
        samples.setdefault(record.samples, {})[record.suite] = None
    if len(samples) == 1:
        parts.append(f"{min(samples)} samples per suite")
    else:
        parts.append("samples: " + ", ".join(f"{n} ({', '.join(suites)})" for n, suites in samples.items()))
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "."


def _several(what: str, values: Iterable[object], plural: str = "s") -> str:
    shown = sorted({str(value) for value in values} - {NOTHING}, key=_natural)
    return f"{what}{plural if len(shown) > 1 else ''} {', '.join(shown)}"


def _natural(text: str) -> list[tuple[int, str]]:
    """Sorts 2 before 10: runs of digits compare as numbers."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", text) if part]


def used(cells: Cells) -> list[Record]:
    return [record for by_suite in cells.values() for record in by_suite.values()]
