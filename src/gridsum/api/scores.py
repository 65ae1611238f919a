"""How often models, and functions of your own, are right."""

import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import accumulate, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridsum.api.networks import PaperModel
from gridsum.api.options import SolveOptions, solve_options
from gridsum.api.progress import Progress, progress
from gridsum.api.rules import RuleModel
from gridsum.evaluation.evaluate import FunctionSubject, RuleSubject, Subject
from gridsum.evaluation.evaluate import evaluate as evaluate_one
from gridsum.evaluation.records import Record, append, check_file
from gridsum.evaluation.rendering import Table, to_markdown, to_text
from gridsum.evaluation.solvers import SolverError, SolverProcess
from gridsum.evaluation.suites import Suite, SuiteError, find
from gridsum.evaluation.tables import TABLES
from gridsum.io.names import MODELS

if TYPE_CHECKING:
    from gridsum.model.store import Model as Runs


@dataclass(frozen=True)
class Setting:
    """How is measured."""

    samples: int | None = None
    seed: int = 0
    options: SolveOptions = field(default_factory=SolveOptions)
    device: str = "auto"
    grids: Any = "every"
    """Of networks (`gridsum.evaluation.evaluate.Grids`)."""
    commit: str | None = None
    timeout: float | None = None
    """Seconds that a function given by its name may take for a problem, or for a list of them if it takes lists."""


class Scores(tuple[Record, ...]):
    """Records of an evaluation, one for each run and suite, that show themselves as a table.

    Examples:
        >>> import gridsum
        >>> scores = gridsum.evaluate("exact", "2x15", samples=8)
        >>> scores[0].seq
        1.0
        >>> print(scores)
        Scores
        <BLANKLINE>
        suite  model  samples  char               seq                steps
        ────────────────────────────────────────────────────────────────────
        2x15   exact  8        1.0 (0.969–1.000)  1.0 (0.675–1.000)  ...
    """

    @property
    def table(self) -> Table:
        return TABLES["scores"](list(self))

    def __str__(self) -> str:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        return to_text(self.table, width)

    __repr__ = __str__

    def to_markdown(self) -> str:
        return to_markdown(self.table)

    _repr_markdown_ = to_markdown  # in a notebook

    def to_dataframe(self) -> Any:
        """A pandas DataFrame, a row for each record, with the two accuracies."""
        try:
            import pandas  # type: ignore[import-not-found]
        except ImportError:
            raise ImportError("a DataFrame needs pandas; install it with: pip install pandas") from None
        return pandas.DataFrame([{**asdict(record), "char": record.char, "seq": record.seq} for record in self])

    def save(self, path: str | Path) -> None:
        """Add the records to a file, as `gridsum evaluate --out` does; `gridsum table` reads it."""
        check_file(path)
        append(path, self)


def evaluate(
    what: Any,
    suites: "str | Suite | Iterable[str | Suite]" = "comparison",
    samples: int | None = None,
    seed: int = 0,
    *,
    halting: Any = None,
    placement: Any = "auto",
    grids: Any = "every",
    device: str = "auto",
    timeout: float | None = None,
    quiet: bool = False,
) -> Scores:
    """Measure a model, a function, or a list of them on suites of problems.

    A model is given as itself, by its name or by its folder (with all its seeds), a function as itself or as
    "module:function". A suite is a collection of `gridsum.suites`, a problem space such as "2x100" or "[1,4]x[1,10]",
    or a family in one such as "nines+1:2x100". All get the same problems for one `seed`, and networks get them on
    `grids` of "every" size alike, or of the "published" test code's sizes. A function whose parameter is
    a list gets many problems at once. One given by its name works in a process of its own. Where a function fails, or
    there takes longer than `timeout` seconds, its answer is wrong, and the record says why (`failed`, `failure`).
    Progress goes to standard error unless `quiet`.

    Examples:
        >>> evaluate(lambda text: str(sum(map(int, text.rstrip("=").split("+")))), "examples")[0].seq
        1.0
    """
    if samples is not None and not isinstance(samples, int):
        raise SuiteError(f"{samples!r} samples cannot be evaluated; write a whole number")
    setting = Setting(samples, seed, solve_options(halting, placement, seed), device, grids, timeout=timeout)
    listed = what if isinstance(what, list | tuple) else [what]
    if not listed:
        raise SuiteError("there is nothing to measure; give a model, its name, or a function from '12+34=' to '46'")
    chosen = suites_of(suites)
    subjects = [subject for one in listed for subject in subjects_of(one, setting)]
    with progress(quiet) as shown:
        scores = Scores(record for _, found in measured(subjects, chosen, setting, shown) for record in found)
    for record in filter(lambda record: record.failed, scores):
        warnings.warn(without_answers(record), stacklevel=2)
    return scores


def without_answers(record: Record) -> str:
    """What is said of a function that failed on some problems."""
    count = f"{record.failed} of {record.samples} problems of {record.suite}"
    return f"{record.model} gave no answer to {count}; the first: {record.failure}"


def suites_of(names: "str | Suite | Iterable[str | Suite]") -> list[Suite]:
    """Suites, each once, of names of collections, suites and spaces."""
    listed = [names] if isinstance(names, str | Suite) or not isinstance(names, Iterable) else list(names)
    if not listed:
        raise SuiteError("no suite is named; name one such as 2x100")
    for name in listed:
        if isinstance(name, str) and name in MODELS:
            raise SuiteError(
                f"{name!r} is a model, not a suite; name it with --model, in Python first: evaluate({name!r}, '2x15')"
            )
        if not isinstance(name, str | Suite):
            pair = name if isinstance(name, tuple) else tuple(listed)
            numbers = len(pair) == 2 and all(isinstance(part, int) for part in pair)
            mend = f"{pair[0]} terms of {pair[1]} digits are '{pair[0]}x{pair[1]}'" if numbers else "write '2x100'"
            raise SuiteError(f"{names!r} does not name a suite; {mend}")
    found = [suite for name in listed for suite in ([name] if isinstance(name, Suite) else find(name))]
    return list({suite.name: suite for suite in found}.values())


def subjects_of(what: Any, setting: Setting) -> Iterator[Subject]:
    """What is measured of one thing: one for each fleet of networks, rule or function, loaded and checked."""
    if isinstance(what, str | Path):
        text = str(what)
        if ":" in text and not Path(text).exists():
            yield FunctionSubject(text, SolverProcess(text, setting.timeout))
        else:
            yield from _of_name(text.rstrip("/") or text, setting)
    elif isinstance(what, PaperModel):
        yield from _of_runs(what.runs, setting)
    elif isinstance(what, RuleModel):
        yield _of_rule(what, None, setting)
    elif not callable(what):
        raise SuiteError(f"{what!r} cannot be measured; give a model, its name, or a function from '12+34=' to '46'")
    elif setting.timeout is not None:
        raise SolverError("a time limit is for functions in a process of their own; name yours as 'module:function'")
    else:
        yield FunctionSubject(getattr(what, "__name__", type(what).__name__), what)


def _of_name(name: str, setting: Setting) -> Iterator[Subject]:
    from gridsum.automaton.files import shipped_rule
    from gridsum.config.registry import find
    from gridsum.model.store import configuration_of, load_runs, locate
    from gridsum.ops.devices import pick_device

    paths = locate(name)
    if find(configuration_of(paths[0]).variant).has_rule:
        for path in paths:
            rule = RuleModel(name, path, shipped_rule(name))
            yield _of_rule(rule, rule.runs.seeds[0], setting)
    else:
        yield from _of_runs(load_runs(name, paths, pick_device(setting.device)), setting)


def _of_runs(runs: "Runs", setting: Setting) -> Iterator[Subject]:
    return runs.kind.subjects(runs, setting.options.halting, setting.options.placement, setting.grids)


def _of_rule(model: RuleModel, training_seed: int | None, setting: Setting) -> Subject:
    # Rules place in one way only, so models of both kinds can be measured under one placement.
    model.check(setting.options._replace(placement="auto"))
    return RuleSubject(model.name, model.table, training_seed)


def measured(
    subjects: Sequence[Subject], suites: Sequence[Suite], setting: Setting, shown: Progress
) -> Iterator[tuple[Suite, list[Record]]]:
    """Every subject on every suite. What each takes is about proportional to the cells of its grids."""
    pairs = list(product(subjects, suites))
    cells = [
        len(subject.seeds) * suite.size(setting.samples) * (suite.space.terms[1] + 1) * suite.space.digits[1]
        for subject, suite in pairs
    ]
    ends = [end / sum(cells) for end in accumulate(cells, initial=0)]
    for (subject, suite), part in zip(pairs, pairwise(ends), strict=True):
        heard = partial(shown.update, f"{subject.name} on {suite.name}:", unit="problems", part=part)
        yield suite, evaluate_one(subject, suite, setting.samples, setting.seed, setting.commit, heard)
