"""Tables as pure functions of records, in the paper's order and with the paper's numbers beside ours.

Every line is one model on one suite, models under each other suite by suite: it stays narrow however many
suites and models there are. Of several records for one line the last one counts.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from gridsum.data.symbols import exact_sum, render
from gridsum.evaluation import paper
from gridsum.evaluation.intervals import Measure, interval
from gridsum.evaluation.records import EXTERNAL, Record
from gridsum.evaluation.rendering import Table, TableError, to_latex, to_markdown, to_text
from gridsum.evaluation.rows import Cells, Row, arrange, conditions, labels_of, used
from gridsum.evaluation.suites import COLLECTIONS, EXAMPLES
from gridsum.evaluation.systems import costs, systems

__all__ = ["TABLES", "Table", "TableError", "accuracy_text", "to_latex", "to_markdown", "to_text"]

MISSING = "–"
RIGHT = "✓"
_LONGEST_ANSWER = 24
ROUNDING = "Values in [0.99, 1) print as 0.99; 1.0 means no error."
_PAPERS_ROUNDING = "The paper prints [0.99, 1) as 0.99."


def accuracy_text(value: float) -> str:
    """Two digits, but `1.0` only for no error and `0.0` only for nothing right; [0.99, 1) is `0.99`."""
    if value in (0, 1):
        return f"{value:.1f}"
    return f"{min(value, 0.99):.2f}"


def _about_intervals(records: Iterable[Record]) -> str:
    whole = all(record.batches for record in records)
    how = "taken over the problems of each grid" if whole else "which takes characters as independent"
    return f"In brackets the Wilson 95% interval, {how}; 1.0 means no error."


def score_text(record: Record, measure: Measure) -> str:
    """An accuracy and its interval, with three digits each, so that the one is seen to lie in the other.

    The interval is rounded outwards; `1.0` is only for no error and `0.0` only for nothing right.
    """
    low, high = interval(record, measure)
    low, high = math.floor(low * 1000) / 1000, math.ceil(high * 1000) / 1000
    value = getattr(record, measure)
    shown = f"{value:.1f}" if value in (0, 1) else f"{min(max(value, 0.001), 0.999):.3f}"
    return f"{shown} ({low:.3f}–{high:.3f})"


def _found(cells: Cells, collection: str, model: str = "base") -> Cells:
    if not cells:
        names = ", ".join(suite.name for suite in COLLECTIONS[collection])
        raise TableError(
            f"the records hold none of the suites of this table ({names}); evaluate them first: "
            f"gridsum evaluate --model {model} --suite {collection} --out records.jsonl"
        )
    return cells


def _against_paper(
    title: str, collection: str, published: Mapping[str, Mapping[str, paper.Score]]
) -> Callable[[list[Record]], Table]:
    """Tables III and IV: accuracies of single models beside those of the paper's model of that variant."""

    def table(records: list[Record]) -> Table:
        names = [suite.name for suite in COLLECTIONS[collection]]
        cells = _found(arrange(records, names), collection, next(iter(published)))
        labels = labels_of(cells)
        rows = []
        for name in names:
            for row, by_suite in cells.items():
                record, known = by_suite.get(name), published.get(row.variant, {}).get(name)
                rows.append((name, *(label(row) for label in labels.values()), *_scores(record, known)))
        caption = (
            f"{conditions(used(cells))} {_about_intervals(used(cells))} "
            f"The paper's numbers are of its best overtrained {' and '.join(published)}. {_PAPERS_ROUNDING}"
        )
        return Table(title, caption, ("suite", *labels, "char", "paper", "seq", "paper"), _grouped(rows), keys=2)

    return table


def _scores(record: Record | None, known: paper.Score | None) -> tuple[str, str, str, str]:
    char = seq = paper_char = paper_seq = MISSING
    if record is not None:
        char, seq = score_text(record, "char"), score_text(record, "seq")
    if known is not None:
        paper_char, paper_seq = accuracy_text(known.char), accuracy_text(known.seq)
    return char, paper_char, seq, paper_seq


def _grouped(rows: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """A suite is named in its first line alone."""
    grouped: list[tuple[str, ...]] = []
    above = None
    for row in rows:
        grouped.append(("", *row[1:]) if row[0] == above else row)
        above = row[0]
    return tuple(grouped)


def _ablation(records: list[Record]) -> Table:
    names = [suite.name for suite in COLLECTIONS["ablation"]]
    trained = (record for record in records if record.variant != EXTERNAL)
    cells = _found(arrange(trained, names), "ablation")
    groups = _seed_groups(cells)
    if all(len(rows) == 1 for rows in groups.values()):
        raise TableError(
            "this table is of means over training seeds, and the records hold one seed of each variant; evaluate a "
            "training folder of several: gridsum evaluate --model FOLDER --suite ablation --out records.jsonl"
        )
    shown = {group: _common(rows) for group, rows in groups.items()}
    labels = labels_of(shown.values())
    lines = []
    for name in names:
        for group, rows in groups.items():
            found = [cells[row][name] for row in rows if name in cells[row]]
            known = paper.ABLATION.get(group.variant, {}).get(name)
            ours = _spreads(found) if found else None
            marks = (label(shown[group]) for label in labels.values())
            lines.append((name, *marks, str(len(found)), *_spread_texts(ours, known)))
    caption = (
        f"{conditions(used(cells))} "
        "Mean ± sd (best) over n training seeds; the sd is the sample's (n − 1), "
        f"a single seed has none; the paper's are over 10 seeds. {ROUNDING}"
    )
    header = ("suite", *labels, "n", "char", "paper", "seq", "paper")
    return Table("Variants over training seeds (Table VI)", caption, header, _grouped(lines), keys=2)


class Group(NamedTuple):
    """The trainings that differ in their seed alone; `model` only where it is needed to tell them apart."""

    variant: str
    halting: str
    placement: str
    model: str | None


def _seed_groups(rows: Iterable[Row]) -> dict[Group, list[Row]]:
    """Rows to average over: a variant's, unless a seed occurs twice, which then are different trainings."""
    by_variant: dict[Group, list[Row]] = {}
    for row in rows:
        by_variant.setdefault(Group(row.variant, row.halting, row.placement, None), []).append(row)
    groups: dict[Group, list[Row]] = {}
    for group, members in by_variant.items():
        twice = len({row.seed for row in members}) < len(members)
        for row in members:
            groups.setdefault(group._replace(model=row.model) if twice else group, []).append(row)
    return groups


def _common(rows: list[Row]) -> Row:
    """How a group is called: by its model, or by its variant where each seed has a name of its own."""
    models = {row.model for row in rows}
    return rows[0]._replace(seed=None, model=models.pop() if len(models) == 1 else rows[0].variant)


def _spreads(records: list[Record]) -> paper.Spreads:
    return paper.Spreads(spread([r.char for r in records]), spread([r.seq for r in records]))


def spread(values: list[float]) -> paper.Spread:
    """Mean, sample sd (not a number for a single value) and best."""
    sd = statistics.stdev(values) if len(values) > 1 else math.nan
    return paper.Spread(statistics.fmean(values), sd, max(values))


def _spread_texts(ours: paper.Spreads | None, known: paper.Spreads | None) -> list[str]:
    pairs = [(ours and ours.char, known and known.char), (ours and ours.seq, known and known.seq)]
    return [MISSING if found is None else spread_text(found) for pair in pairs for found in pair]


def spread_text(found: paper.Spread, best: bool = True) -> str:
    if math.isnan(found.sd):
        return accuracy_text(found.mean)
    return f"{accuracy_text(found.mean)}±{found.sd:.2f}" + (f" ({accuracy_text(found.best)})" if best else "")


def _examples(records: list[Record]) -> Table:
    answered = (record for record in records if record.answers is not None)
    cells = _found(arrange(answered, [EXAMPLES.name]), "examples")
    labels = labels_of(cells)
    names = [" ".join(label(row) for label in labels.values()) for row in cells]
    problems = [render(terms) for terms in EXAMPLES.expressions]
    truths = [exact_sum(terms) for terms in EXAMPLES.expressions]
    columns = [_marked([paper.EXAMPLES[problem] for problem in problems], truths)]
    columns += [_marked(record.answers or (), truths) for record in used(cells)]
    lines = zip([*problems, "right"], [*truths, ""], *columns, strict=True)
    caption = (
        f"{conditions(used(cells))} {RIGHT} marks the right answers. The grid is that of the longest and largest of "
        "them, drawn as in training; gridsum solve takes the smallest that does, so its answers may differ."
    )
    header = ("problem", "sum", "paper", *names)
    return Table("Worked examples (Table V)", caption, header, tuple(lines))


def _marked(answers: Sequence[str], truths: Sequence[str]) -> list[str]:
    """A column of the examples, closed by the number of right answers."""
    column, right = [], 0
    for answer, truth in zip_longest(answers[: len(truths)], truths, fillvalue=""):
        if answer == truth:
            right += 1
            answer = f"{answer} {RIGHT}"
        elif len(answer) > _LONGEST_ANSWER:
            answer = answer[: _LONGEST_ANSWER - 1] + "…"
        column.append(answer or MISSING)
    return [*column, f"{right} of {len(truths)}"]


def _everything(records: list[Record]) -> Table:
    cells = arrange(records, {record.suite for record in records})
    if not cells:
        raise TableError(
            "there are no records; evaluate something first: "
            "gridsum evaluate --model base --suite comparison --out records.jsonl"
        )
    labels = labels_of(cells)
    lines = []
    for name in dict.fromkeys(record.suite for record in records):
        for row, by_suite in cells.items():
            if name in by_suite:
                record = by_suite[name]
                char, _, seq, _ = _scores(record, None)
                marks = (label(row) for label in labels.values())
                lines.append((name, *marks, str(record.samples), char, seq, _steps(record)))
    caption = f"{conditions(used(cells))} {_about_intervals(used(cells))} Steps: mean (most)."
    return Table("Scores", caption, ("suite", *labels, "samples", "char", "seq", "steps"), _grouped(lines), keys=2)


def _steps(record: Record) -> str:
    if record.steps_mean is None:
        return MISSING
    return f"{record.steps_mean:.1f}" + (f" ({record.steps_max})" if record.steps_max is not None else "")


TABLES: dict[str, Callable[[list[Record]], Table]] = {
    "comparison": _against_paper("More digits and more terms (Table III)", "comparison", paper.COMPARISON),
    "long-digits": _against_paper("Two very long terms (Table IV, left)", "long-digits", paper.LONG_DIGITS),
    "long-terms": _against_paper("Many terms of 5 digits (Table IV, right)", "long-terms", paper.LONG_TERMS),
    "examples": _examples,
    "ablation": _ablation,
    "scores": _everything,
    "systems": systems,
    "costs": costs,
}
