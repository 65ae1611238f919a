"""Tables as pure functions of records, in the paper's order and with the paper's numbers beside ours.

Every line is one model on one suite, models under each other suite by suite: it stays narrow however many
suites and models there are. Of several records for one line the last one counts.
"""

import math
import re
import statistics
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gridsum.evaluation import paper
from gridsum.evaluation.metrics import wilson
from gridsum.evaluation.records import Record
from gridsum.evaluation.solvers import EXTERNAL
from gridsum.evaluation.suites import COLLECTIONS, EXAMPLES
from gridsum.symbols import exact_sum, render

MISSING = "–"
_LONGEST_ANSWER = 24
_CAPTION_WIDTH = 100
_ROUNDING = "Values in [0.99, 1) print as 0.99; 1.0 means no error."


class TableError(ValueError):
    """A table that the records do not allow; the message says what to evaluate."""


@dataclass(frozen=True)
class Table:
    """What a renderer needs, all of it text."""

    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Row(NamedTuple):
    """Whose numbers a line holds."""

    model: str
    variant: str
    seed: int | None
    halting: str
    placement: str


Cells = dict[Row, dict[str, Record]]


def accuracy_text(value: float) -> str:
    """Two digits, but `1.0` only for no error and `0.0` only for nothing right; [0.99, 1) is `0.99`."""
    if value in (0, 1):
        return f"{value:.1f}"
    return f"{min(value, 0.99):.2f}"


def _score(right: int, total: int) -> str:
    """An accuracy and its interval, rounded outwards so that it still covers what it covered."""
    low, high = wilson(right, total)
    return f"{accuracy_text(right / total)} ({math.floor(low * 1000) / 1000:.3f}–{math.ceil(high * 1000) / 1000:.3f})"


def _cells(records: Iterable[Record], suites: Collection[str]) -> Cells:
    """The records of these suites by line and suite, the paper's variants first, external solvers last."""
    cells: Cells = {}
    for record in records:
        if record.suite in suites:
            row = Row(record.model, record.variant, record.seed, record.halting, record.placement)
            cells.setdefault(row, {})[record.suite] = record
    order = list(paper.ABLATION)

    def place(row: Row) -> tuple:
        known = order.index(row.variant) if row.variant in order else len(order)
        seed = -1 if row.seed is None else row.seed
        return row.variant == EXTERNAL, known, row.variant, row.model, seed, row.halting, row.placement

    return {row: cells[row] for row in sorted(cells, key=place)}


def _found(cells: Cells, collection: str, model: str = "base") -> Cells:
    if not cells:
        names = ", ".join(suite.name for suite in COLLECTIONS[collection])
        raise TableError(
            f"the records hold none of the suites of this table ({names}); evaluate them first: "
            f"gridsum evaluate --model {model} --suite {collection} --out records.jsonl"
        )
    return cells


def _labels(rows: Collection[Row]) -> dict[str, Callable[[Row], str]]:
    """The columns that tell the lines apart; what all our networks share is said in the caption instead."""
    ours = [row for row in rows if row.variant != EXTERNAL]
    labels: dict[str, Callable[[Row], str]] = {"model": lambda row: row.model}
    if any(row.variant != row.model for row in ours):
        labels["variant"] = lambda row: row.variant
    if len({row.seed for row in ours}) > 1:
        labels["seed"] = lambda row: MISSING if row.seed is None else str(row.seed)
    if len({row.halting for row in ours}) > 1:
        labels["halting"] = lambda row: row.halting
    if len({row.placement for row in ours}) > 1:
        labels["placement"] = lambda row: row.placement
    return labels


def _conditions(records: Collection[Record]) -> str:
    """How the records came about."""
    ours = [record for record in records if record.variant != EXTERNAL]
    parts = []
    if ours:
        parts.append(_several("Halting", (record.halting for record in ours)))
        parts.append(_several("placement", (record.placement for record in ours)))
        seeds = {record.seed for record in ours} - {None}
        if seeds:
            parts.append(_several("training seed", seeds))
    parts.append(_several("evaluation seed", (record.evaluation_seed for record in records)))
    parts.append(_several("gridsum", (record.version for record in records), plural=""))
    samples: dict[int, set[str]] = {}
    for record in records:
        samples.setdefault(record.samples, set()).add(record.suite)
    counts = sorted(samples, reverse=True)
    if len(counts) == 1:
        parts.append(f"{counts[0]} samples per suite")
    else:
        parts.append("samples: " + ", ".join(f"{n} ({', '.join(sorted(samples[n], key=_natural))})" for n in counts))
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "."


def _several(what: str, values: Iterable[object], plural: str = "s") -> str:
    shown = sorted({str(value) for value in values}, key=_natural)
    return f"{what}{plural if len(shown) > 1 else ''} {', '.join(shown)}"


def _natural(text: str) -> list[tuple[int, str]]:
    """Sorts 2x602 before 10x5: runs of digits compare as numbers."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text) if part]


def _used(cells: Cells) -> list[Record]:
    return [record for by_suite in cells.values() for record in by_suite.values()]


def _against_paper(
    title: str, collection: str, published: Mapping[str, Mapping[str, paper.Score]]
) -> Callable[[list[Record]], Table]:
    """Tables III and IV: accuracies of single models beside those of the paper's model of that variant."""

    def table(records: list[Record]) -> Table:
        names = [suite.name for suite in COLLECTIONS[collection]]
        cells = _found(_cells(records, names), collection, next(iter(published)))
        labels = _labels(cells)
        rows = []
        for name in names:
            for first, (row, by_suite) in zip((name, *[""] * len(cells)), cells.items(), strict=False):
                record, known = by_suite.get(name), published.get(row.variant, {}).get(name)
                rows.append((first, *(label(row) for label in labels.values()), *_scores(record, known)))
        caption = (
            f"{_conditions(_used(cells))} In brackets the Wilson 95% interval, which takes characters as independent. "
            f"The paper's numbers are of its best overtrained {' and '.join(published)}. {_ROUNDING}"
        )
        return Table(title, caption, ("suite", *labels, "char", "paper", "seq", "paper"), tuple(rows))

    return table


def _scores(record: Record | None, known: paper.Score | None) -> tuple[str, str, str, str]:
    char = seq = paper_char = paper_seq = MISSING
    if record is not None:
        char = _score(record.chars_right, record.chars_valid)
        seq = _score(record.sequences_right, record.samples)
    if known is not None:
        paper_char, paper_seq = accuracy_text(known.char), accuracy_text(known.seq)
    return char, paper_char, seq, paper_seq
