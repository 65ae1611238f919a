"""How often models, and functions of your own, are right."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from gridsum.api.loading import load
from gridsum.api.models import ModelError, PaperModel
from gridsum.api.rules import RuleModel
from gridsum.automaton.files import shipped_rule
from gridsum.data.answers import FIXED_POINT
from gridsum.evaluation.evaluate import Subject, function_subject, rule_subject
from gridsum.evaluation.evaluate import evaluate as evaluate_one
from gridsum.evaluation.records import Record, append, check_file
from gridsum.evaluation.rendering import Table, to_markdown, to_text
from gridsum.evaluation.suites import Suite, SuiteError, find
from gridsum.evaluation.tables import TABLES
from gridsum.io.names import MODELS
from gridsum.io.progress import progress
from gridsum.io.version import source_commit
from gridsum.model.store import Model as Runs
from gridsum.model.store import load_runs, locate
from gridsum.ops.devices import pick_device


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
        return to_text(self.table)

    __repr__ = __str__

    def to_markdown(self) -> str:
        return to_markdown(self.table)

    _repr_markdown_ = to_markdown  # in a notebook


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
    out: str | Path | None = None,
    quiet: bool = False,
) -> Scores:
    """Measure a model, a function, or a list of them on suites of problems.

    A model is given as itself, by its name or by its folder (with all its seeds). A suite is a collection such
    as "comparison", a problem space such as "2x100" or "[1,4]x[1,10]", or a family in one such as "nines+1:2x100".
    All get the same problems for one `seed`, and networks get them on `grids` of "every" size alike, or of the
    "published" test code's sizes. Records are added to the file `out` as they come; `gridsum table` reads it.
    Progress goes to standard error unless `quiet`.

    Examples:
        >>> evaluate(lambda text: str(sum(map(int, text.rstrip("=").split("+")))), "examples")[0].seq
        1.0
    """
    if out is not None:
        check_file(out)
    listed = what if isinstance(what, list | tuple) else [what]
    asked = [suites] if isinstance(suites, str | Suite) else list(suites)
    if not asked:
        raise SuiteError("no suite is named; name one such as 2x100")
    if (given := next((name for name in asked if name in MODELS), None)) is not None:
        why = f"{given!r} is a model, not a suite; name it with --model, in Python first: evaluate({given!r}, '2x15')"
        raise SuiteError(why)
    named = [suite for name in asked for suite in ([name] if isinstance(name, Suite) else find(name))]
    each_once = {suite.name: suite for suite in named}.values()
    if not listed:
        raise SuiteError("there is nothing to measure; give a model, its name, or a function from '12+34=' to '46'")
    commit = source_commit()

    def subjects_of(one: Any) -> Iterator[Subject]:
        """One for each fleet of networks, rule or function, loaded and checked."""
        if isinstance(one, str | Path):
            name = str(one).rstrip("/") or str(one)
            ruled = name.endswith(".json") or shipped_rule(name) is not None
            one = load(name) if ruled else load_runs(name, locate(name), pick_device(device))
        if isinstance(one, PaperModel):
            one = one.runs
        if isinstance(one, Runs):
            yield from one.kind.subjects(one, halting=halting, placement=placement, grids=grids)
        elif isinstance(one, RuleModel):
            yield rule_subject(one.name, one.table, one.seed)
        elif not callable(one):
            raise SuiteError(f"{one!r} cannot be measured; give a model, its name, or a function from '12+34=' to '46'")
        else:
            yield function_subject(getattr(one, "__name__", type(one).__name__), one)

    subjects = [subject for one in listed for subject in subjects_of(one)]
    ruled = next((subject.name for subject in subjects if subject.halting == FIXED_POINT), None)
    if ruled is not None and halting is not None:
        raise ModelError(f"{ruled} always halts at a fixed point; leave out halting")
    records: list[Record] = []
    with progress(quiet) as shown:
        for subject, suite in product(subjects, each_once):
            heard = partial(shown.update, f"{subject.name} on {suite.name}:", unit="problems")
            found = evaluate_one(subject, suite, samples, seed, commit, heard)
            if not found:
                shown.note(f"{suite.name} is left out: its numbers are too long for this baseline")
            if out is not None:  # at once, so that what is done stays done if the rest is interrupted
                append(out, found)
            records += found
    return Scores(records)
