"""Tables as pure functions of records, in the paper's order and with the paper's numbers beside ours.

Every line is one model on one suite, models under each other suite by suite: it stays narrow however many
suites and models there are. Of several records for one line the last one counts.
"""

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from gridsum.evaluation import paper
from gridsum.evaluation.baselines import baselines, check_versions
from gridsum.evaluation.intervals import Measure, interval
from gridsum.evaluation.records import EXTERNAL, NOTHING, Record
from gridsum.evaluation.rendering import Table, TableError
from gridsum.evaluation.suites import COLLECTIONS, EXAMPLES
from gridsum.tasks import find

RIGHT = "✓"
_LONGEST_ANSWER = 24
ROUNDING = "Values in [0.99, 1) print as 0.99; 1.0 means no error."
_PAPERS_ROUNDING = "The paper prints [0.99, 1) as 0.99."
_MEASURES: tuple[Measure, ...] = ("char", "seq")


def accuracy_text(value: float) -> str:
    """Two digits, but `1.0` only for no error and `0.0` only for nothing right; [0.99, 1) is `0.99`."""
    if value in (0, 1):
        return f"{value:.1f}"
    return f"{min(value, 0.99):.2f}"


def score_text(record: Record, measure: Measure) -> str:
    """An accuracy and its interval, with three digits each, so that the one is seen to lie in the other.

    The interval is rounded outwards; `1.0` is only for no error and `0.0` only for nothing right.
    """
    low, high = interval(record, measure)
    low, high = math.floor(low * 1000) / 1000, math.ceil(high * 1000) / 1000
    value = getattr(record, measure)
    shown = f"{value:.1f}" if value in (0, 1) else f"{min(max(value, 0.001), 0.999):.3f}"
    return f"{shown} ({low:.3f}–{high:.3f})"


class Row(NamedTuple):
    """Whose numbers a line holds."""

    model: str
    variant: str
    seed: int | None
    halting: str
    placement: str
    grids: str


Cells = dict[Row, dict[str, Record]]
"""Records by line and suite."""


def arrange(records: Iterable[Record], suites: Collection[str]) -> Cells:
    """The records of these suites, the paper's variants first, external solvers last."""
    records = list(records)
    check_versions(records)
    cells: Cells = {}
    for record in records:
        if record.suite in suites:
            row = Row(*(getattr(record, name) for name in Row._fields))
            cells.setdefault(row, {})[record.suite] = record
    order = list(paper.ABLATION)

    def place(row: Row) -> tuple:
        known = order.index(row.variant) if row.variant in order else len(order)
        seed = -1 if row.seed is None else row.seed
        return row.variant == EXTERNAL, known, row.variant, row.model, seed, row.halting, row.placement, row.grids

    return {row: cells[row] for row in sorted(cells, key=place)}


def _arranged(records: Iterable[Record], collection: str, model: str = "base") -> tuple[Cells, list[str]]:
    """The records of a collection, and the names of its suites."""
    names = [suite.name for suite in COLLECTIONS[collection]]
    cells = arrange(records, names)
    if not cells:
        raise TableError(
            f"the records hold none of the suites of this table ({', '.join(names)}); evaluate them first: "
            f"gridsum evaluate --model {model} --suite {collection} --out records.jsonl"
        )
    return cells, names


def labels_of(rows: Collection[Row]) -> list[str]:
    """The columns that tell the lines apart; what all our networks share is said in the caption instead."""
    ours = [row for row in rows if row.variant != EXTERNAL]
    variant = ["variant"] if any(row.variant != row.model for row in ours) else []
    others = ("seed", "halting", "placement", "grids")
    return ["model", *variant, *(name for name in others if len({getattr(row, name) for row in ours} - {NOTHING}) > 1)]


def marks_of(row: Row, labels: Iterable[str]) -> list[str]:
    values = [getattr(row, name) for name in labels]
    return [NOTHING if value is None else str(value) for value in values]


def _conditions(records: Collection[Record]) -> str:
    """How the records came about."""
    trained = [record for record in records if record.variant != EXTERNAL]
    ours = [record for record in trained if record.given is None]
    parts = [
        _several("halting rule", (record.halting for record in ours)),
        _several("placement", (record.placement for record in ours)),
        _several("grids", (record.grids for record in ours), plural=""),
        _several("training seed", (record.seed for record in trained if record.seed is not None)),
        _several("evaluation seed", (record.evaluation_seed for record in records)),
        _several("gridsum", (record.version for record in records), plural=""),
    ]
    samples: dict[int, dict[str, None]] = {}
    for record in records:
        samples.setdefault(record.samples, {})[record.suite] = None
    if len(samples) == 1:
        parts.append(f"{min(samples)} samples per suite")
    else:
        parts.append("samples: " + ", ".join(f"{n} ({', '.join(suites)})" for n, suites in samples.items()))
    text = "; ".join(filter(None, parts))
    return text[0].upper() + text[1:] + "."


def _several(what: str, values: Iterable[object], plural: str = "s") -> str:
    """The values in order, 2 before 10; empty if there are none."""
    shown = sorted({str(value) for value in values} - {NOTHING}, key=lambda text: (len(text), text))
    return f"{what}{plural if len(shown) > 1 else ''} {', '.join(shown)}" if shown else ""


def _used(cells: Cells) -> list[Record]:
    return [record for by_suite in cells.values() for record in by_suite.values()]


def _about_scores(cells: Cells) -> str:
    """How the records came about, and what their intervals are."""
    whole = all(record.batches for record in _used(cells))
    how = "taken over the problems of each grid" if whole else "which takes characters as independent"
    return f"{_conditions(_used(cells))} In brackets the Wilson 95% interval, {how}; 1.0 means no error."


def _grouped(rows: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """A suite is named in its first line alone."""
    above = [None, *(row[0] for row in rows)]
    return tuple(("", *row[1:]) if row[0] == over else row for row, over in zip(rows, above, strict=False))


def _against_paper(
    title: str, collection: str, published: Mapping[str, Mapping[str, paper.Score]]
) -> Callable[[list[Record]], Table]:
    """Tables III and IV: accuracies of single models beside those of the paper's model of that variant."""

    def table(records: list[Record]) -> Table:
        cells, names = _arranged(records, collection, next(iter(published)))
        labels, rows, (first, *_) = labels_of(cells), [], published
        others = {row.variant for row in cells} - paper.ABLATION.keys()
        for name in names:
            for row, by_suite in cells.items():
                theirs = published[first] if row.variant in others else published.get(row.variant, {})
                record, known, scores = by_suite.get(name), theirs.get(name), []
                for measure in _MEASURES:
                    scores.append(NOTHING if record is None else score_text(record, measure))
                    scores.append(NOTHING if known is None else accuracy_text(getattr(known, measure)))
                rows.append((name, *marks_of(row, labels), *scores))
        of_papers = f"The paper's numbers are of its best overtrained {' and '.join(published)}. {_PAPERS_ROUNDING}"
        if others:
            of_papers += f" Beside models that the paper does not have stand those of its {first}."
        header = ("suite", *labels, "char", "paper", "seq", "paper")
        return Table(title, f"{_about_scores(cells)} {of_papers}", header, _grouped(rows))

    return table


def _ablation(records: list[Record]) -> Table:
    cells, names = _arranged((record for record in records if record.variant != EXTERNAL), "ablation")
    groups: dict[Row, list[Row]] = {}
    for row in cells:
        groups.setdefault(row._replace(seed=None), []).append(row)
    if all(len(rows) == 1 for rows in groups.values()):
        raise TableError(
            "this table is of means over training seeds, and the records hold one seed of each variant; evaluate a "
            "training folder of several: gridsum evaluate --model FOLDER --suite ablation --out records.jsonl"
        )
    labels, lines = labels_of(groups), []
    for name in names:
        for group, rows in groups.items():
            found = [cells[row][name] for row in rows if name in cells[row]]
            known, spreads = paper.ABLATION.get(group.variant, {}).get(name), []
            for measure in _MEASURES:
                spreads.append(spread_text(spread([getattr(r, measure) for r in found])) if found else NOTHING)
                spreads.append(NOTHING if known is None else spread_text(getattr(known, measure)))
            lines.append((name, *marks_of(group, labels), str(len(found)), *spreads))
    caption = (
        f"{_conditions(_used(cells))} "
        "Mean ± sd (best) over n training seeds; the sd is the sample's (n − 1), "
        f"a single seed has none; the paper's are over 10 seeds. {ROUNDING}"
    )
    header = ("suite", *labels, "n", "char", "paper", "seq", "paper")
    return Table("Variants over training seeds (Table VI)", caption, header, _grouped(lines))


def spread(values: list[float]) -> paper.Spread:
    """Mean, sample sd (not a number for a single value) and best."""
    sd = statistics.stdev(values) if len(values) > 1 else math.nan
    return paper.Spread(statistics.fmean(values), sd, max(values))


def spread_text(found: paper.Spread, best: bool = True) -> str:
    if math.isnan(found.sd):
        return accuracy_text(found.mean)
    return f"{accuracy_text(found.mean)}±{found.sd:.2f}" + (f" ({accuracy_text(found.best)})" if best else "")


def _examples(records: list[Record]) -> Table:
    cells, _ = _arranged((record for record in records if record.answers is not None), "examples")
    labels = labels_of(cells)
    problems = [find().render(terms) for terms in EXAMPLES.expressions]
    truths = [find().answer(terms) for terms in EXAMPLES.expressions]
    columns = [_marked([paper.EXAMPLES[problem] for problem in problems], truths)]
    columns += [_marked(record.answers or (), truths) for record in _used(cells)]
    lines = zip([*problems, "right"], [*truths, ""], *columns, strict=True)
    caption = (
        f"{_conditions(_used(cells))} {RIGHT} marks the right answers. The grid is that of the longest and largest of "
        "them, drawn as in training; gridsum solve takes the smallest that does, so its answers may differ."
    )
    header = ("problem", "sum", "paper", *(" ".join(marks_of(row, labels)) for row in cells))
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
        column.append(answer or NOTHING)
    return [*column, f"{right} of {len(truths)}"]


def _everything(records: list[Record]) -> Table:
    cells = arrange(records, {record.suite for record in records})
    if not cells:
        raise TableError(
            "there are no records; evaluate something first: "
            "gridsum evaluate --model base --suite comparison --out records.jsonl"
        )
    labels, lines = labels_of(cells), []
    for name in dict.fromkeys(record.suite for record in records):
        for row, record in ((row, by_suite[name]) for row, by_suite in cells.items() if name in by_suite):
            scores = [score_text(record, measure) for measure in _MEASURES]
            lines.append((name, *marks_of(row, labels), str(record.samples), *scores, _steps(record)))
    header = ("suite", *labels, "samples", "char", "seq", "steps")
    return Table("Scores", f"{_about_scores(cells)} Steps: mean (most).", header, _grouped(lines))


def _steps(record: Record) -> str:
    if record.steps_mean is None:
        return NOTHING
    return f"{record.steps_mean:.1f}" + (f" ({record.steps_max})" if record.steps_max is not None else "")


TABLES: dict[str, Callable[[list[Record]], Table]] = {
    "comparison": _against_paper("More digits and more terms (Table III)", "comparison", paper.COMPARISON),
    "long-digits": _against_paper("Two very long terms (Table IV, left)", "long-digits", paper.LONG_DIGITS),
    "long-terms": _against_paper("Many terms of 5 digits (Table IV, right)", "long-terms", paper.LONG_TERMS),
    "examples": _examples,
    "ablation": _ablation,
    "scores": _everything,
    "baselines": baselines,
}
