"""Tables as pure functions of records, in the paper's order and with the paper's numbers beside ours.

Every line is one model on one suite. Of several records for one line the last one counts.
"""

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from gridsum.evaluation import paper
from gridsum.evaluation.intervals import MEASURES, Measure, interval
from gridsum.evaluation.records import EXTERNAL, NOTHING, Record
from gridsum.evaluation.rendering import Table, TableError, share_text
from gridsum.evaluation.suites import COLLECTIONS, EXAMPLES, NINES
from gridsum.tasks import find

RIGHT = "✓"
_LONGEST_ANSWER = 24
ROUNDING = "Values in [0.99, 1) print as 0.99; 1.0 means no error."
_BESIDE_THE_PAPER = ("char", "paper", "seq", "paper")
_OURS = {"exact": "neighbourhood, empty row, short sums first, sums with few different digits"}
"""What those of ours were given that were given anything."""


def accuracy_text(value: float) -> str:
    """Two digits, but `1.0` only for no error and `0.0` only for nothing right; [0.99, 1) is `0.99`."""
    return f"{value:.1f}" if value in (0, 1) else f"{min(value, 0.99):.2f}"


def score_text(record: Record, measure: Measure) -> str:
    """An accuracy and its interval, which is rounded outwards, so that the one is seen to lie in the other."""
    low, high = interval(record, measure)
    low, high = math.floor(low * 1000) / 1000, math.ceil(high * 1000) / 1000
    return f"{share_text(getattr(record, measure))} ({low:.3f}–{high:.3f})"


class Row(NamedTuple):
    """Whose numbers a line holds."""

    variant: str
    model: str
    seed: int | None
    halting: str
    placement: str
    grids: str


Cells = dict[Row, dict[str, Record]]
"""Records by line and suite."""
_Texts = Callable[[Row, str], Sequence[str]]
"""What a line says of a suite."""


def arrange(records: Iterable[Record], suites: Collection[str]) -> Cells:
    """The records of these suites, the paper's variants first, functions last."""
    cells: Cells = {}
    for record in records:
        if record.suite in suites:
            row = Row(*(getattr(record, name) for name in Row._fields))
            cells.setdefault(row, {})[record.suite] = record
    order = list(paper.ABLATION)

    def place(row: Row) -> tuple:
        known = order.index(row.variant) if row.variant in order else len(order)
        return row.variant == EXTERNAL, known, row._replace(seed=-1 if row.seed is None else row.seed)

    return {row: cells[row] for row in sorted(cells, key=place)}


def _arranged(records: Iterable[Record], collection: str, model: str = "base") -> tuple[Cells, list[str]]:
    """The records of a collection, and the names of its suites; with them rows of nines, where these were measured."""
    names = [suite.name for suite in COLLECTIONS[collection]]
    every = arrange(records, [*names, NINES])
    cells = {row: suites for row, suites in every.items() if {*names} & {*suites}}
    if not cells:
        raise TableError(
            f"the records hold none of the suites of this table ({', '.join(names)}); evaluate them first: "
            f"gridsum evaluate --model {model} --suite {collection} --out records.jsonl"
        )
    return cells, [*names, *([NINES] if any(NINES in suites for suites in cells.values()) else [])]


def labels_of(rows: Collection[Row]) -> list[str]:
    """The columns that tell the lines apart; what all our networks share is said in the caption instead."""
    ours = [row for row in rows if row.variant != EXTERNAL]
    variant = ["variant"] if any(row.variant != row.model for row in ours) else []
    others = ("seed", "halting", "placement", "grids")
    return ["model", *variant, *(name for name in others if len({getattr(row, name) for row in ours} - {NOTHING}) > 1)]


def marks_of(row: Row, labels: Iterable[str]) -> list[str]:
    values = [getattr(row, name) for name in labels]
    return [NOTHING if value is None else str(value) for value in values]


def _used(cells: Cells) -> list[Record]:
    return [record for by_suite in cells.values() for record in by_suite.values()]


def _conditions(cells: Cells) -> str:
    """How the records came about."""
    records = _used(cells)
    trained = [record for record in records if record.variant != EXTERNAL]
    ours = [record for record in trained if record.given is None]
    said: dict[str, Iterable[object]] = {
        "halting": (record.halting for record in ours),
        "placement": (record.placement for record in ours),
        "grids": (record.grids for record in ours),
        "training seed": (record.seed for record in trained if record.seed is not None),
        "evaluation seed": (record.evaluation_seed for record in records),
        "gridsum": (record.version for record in records),
        "samples per suite": (record.samples for record in records),
    }
    parts = []
    for name, values in said.items():
        shown = sorted({str(value) for value in values} - {NOTHING}, key=lambda text: (len(text), text))  # 2 before 10
        parts += [f"{name} {', '.join(shown)}"] if shown else []
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "."


def _about_scores(cells: Cells) -> str:
    """How the records came about, and what their intervals are."""
    whole = all(record.batches for record in _used(cells))
    how = "taken over the problems of each grid" if whole else "which takes characters as independent"
    return f"{_conditions(cells)} In brackets the Wilson 95% interval, {how}; 1.0 means no error."


def _suite_by_suite(
    title: str, caption: str, columns: Sequence[str], names: Iterable[str], rows: Collection[Row], cells: _Texts
) -> Table:
    """A line for each suite and row that has cells. A suite is named in its first line alone."""
    labels, lines = labels_of(rows), list[tuple[str, ...]]()
    for name in names:
        found = [(*marks_of(row, labels), *texts) for row in rows if (texts := cells(row, name))]
        lines += [("" if number else name, *line) for number, line in enumerate(found)]
    return Table(title, caption, ("suite", *labels, *columns), tuple(lines))


def _against_paper(title: str, collection: str, published: paper.Scores, records: list[Record]) -> Table:
    """Tables III and IV: accuracies of single models beside those of the paper's model of that variant."""
    first = next(iter(published))
    cells, names = _arranged(records, collection, first)

    def scores(row: Row, suite: str) -> list[str]:
        record, texts = cells[row].get(suite), list[str]()
        known = published.get(row.variant if row.variant in paper.ABLATION else first, {}).get(suite)
        for measure in MEASURES:
            texts.append(NOTHING if record is None else score_text(record, measure))
            texts.append(NOTHING if known is None else accuracy_text(getattr(known, measure)))
        return texts

    caption = (
        f"{_about_scores(cells)} The paper's numbers are of its best overtrained {' and '.join(published)}, and "
        f"print [0.99, 1) as 0.99. Models that the paper does not have stand beside its {first}."
    )
    return _suite_by_suite(title, caption, _BESIDE_THE_PAPER, names, cells, scores)


def _ablation(records: list[Record]) -> Table:
    cells, names = _arranged((record for record in records if record.variant != EXTERNAL), "ablation")
    groups: dict[Row, list[Row]] = {}
    for row in cells:
        groups.setdefault(row._replace(seed=None), []).append(row)

    def spreads(group: Row, suite: str) -> list[str]:
        found = [cells[row][suite] for row in groups[group] if suite in cells[row]]
        known, texts = paper.ABLATION.get(group.variant, {}).get(suite), [str(len(found))]
        for measure in MEASURES:
            texts.append(spread_text(spread([getattr(r, measure) for r in found])) if found else NOTHING)
            texts.append(NOTHING if known is None else spread_text(getattr(known, measure)))
        return texts

    caption = (
        f"{_conditions(cells)} Mean ± sd (best) over n training seeds; the sd is the sample's (n − 1), a single seed "
        f"has none; the paper's are over 10 seeds. {ROUNDING}"
    )
    title = "Variants over training seeds (Table VI)"
    return _suite_by_suite(title, caption, ("n", *_BESIDE_THE_PAPER), names, groups, spreads)


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

    def marked(answers: Sequence[str]) -> list[str]:
        """A column, closed by the number of right answers."""
        column = []
        for answer, truth in zip_longest(answers[: len(truths)], truths, fillvalue=""):
            short = answer if len(answer) <= _LONGEST_ANSWER else answer[: _LONGEST_ANSWER - 1] + "…"
            column.append(f"{answer} {RIGHT}" if answer == truth else short or NOTHING)
        return [*column, f"{sum(cell.endswith(RIGHT) for cell in column)} of {len(truths)}"]

    columns = [marked(answers) for answers in (list(paper.EXAMPLES.values()), *(r.answers or () for r in _used(cells)))]
    caption = (
        f"{_conditions(cells)} {RIGHT} marks the right answers. The grid is that of the longest and largest of "
        "them, drawn as in training; gridsum solve takes the smallest that does, so its answers may differ."
    )
    header = ("problem", "sum", "paper", *(" ".join(marks_of(row, labels)) for row in cells))
    lines = zip([*problems, "right"], [*truths, ""], *columns, strict=True)
    return Table("Worked examples (Table V)", caption, header, tuple(lines))


def _everything(records: list[Record]) -> Table:
    names = list(dict.fromkeys(record.suite for record in records))
    cells = arrange(records, names)
    if not cells:
        raise TableError(
            "there are no records; evaluate something first: "
            "gridsum evaluate --model base --suite comparison --out records.jsonl"
        )

    def scores(row: Row, suite: str) -> list[str]:
        record = cells[row].get(suite)
        if record is None:
            return []
        steps = NOTHING if record.steps_mean is None else f"{record.steps_mean:.1f}"
        most = "" if record.steps_max is None or record.steps_mean is None else f" ({record.steps_max})"
        return [str(record.samples), *(score_text(record, measure) for measure in MEASURES), steps + most]

    caption = f"{_about_scores(cells)} Steps: mean (most)."
    return _suite_by_suite("Scores", caption, ("samples", *MEASURES, "steps"), names, cells, scores)


Suites = dict[str, list[Record]]
"""What one line came to: by suite, a record for each training seed."""


def by_line(records: Iterable[Record]) -> dict[str, Suites]:
    """By a baseline's name and setting, or a model's name, ours first; of several for one seed and suite the last."""
    found: dict[str, dict[str, dict[int | None, Record]]] = {}
    for record in sorted(records, key=lambda record: (record.given is not None, record.variant, record.model)):
        label = record.model if record.given is None else record.variant
        found.setdefault(label, {}).setdefault(record.suite, {})[record.seed] = record
    if not found:
        raise TableError(
            "there are no records; train a baseline and measure it: gridsum train --variant dngpu --out FOLDER, then "
            "gridsum evaluate --model FOLDER --suite comparison --out records.jsonl"
        )
    return {label: {suite: list(seeds.values()) for suite, seeds in suites.items()} for label, suites in found.items()}


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
    rows = []
    for label, suites in found.items():
        given = next(iter(suites.values()))[0].given or _OURS.get(label, "nothing")
        shares = (_brief(suites.get(name, [])) for name in measured)
        rows.append((label, given, str(max(map(len, suites.values()))), *shares))
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


TABLES: dict[str, Callable[[list[Record]], Table]] = {
    "comparison": partial(_against_paper, "More digits and more terms (Table III)", "comparison", paper.COMPARISON),
    "long-digits": partial(_against_paper, "Two very long terms (Table IV, left)", "long-digits", paper.LONG_DIGITS),
    "long-terms": partial(_against_paper, "Many terms of 5 digits (Table IV, right)", "long-terms", paper.LONG_TERMS),
    "examples": _examples,
    "ablation": _ablation,
    "scores": _everything,
    "baselines": baselines,
}
