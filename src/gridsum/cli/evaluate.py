"""`gridsum evaluate`: models and solvers on suites of problems, kept as records."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import gridsum
from gridsum.api.progress import progress
from gridsum.cli.options import File, ModelName, OnDevice, Rules, Samples, Seconds, Seed, Suite, Value, option, several
from gridsum.cli.output import check_writable, tell, terminal_width, unwritable, write_result
from gridsum.cli.table import Format
from gridsum.io.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from gridsum.evaluation.records import Record

# These stand here too, to be told without torch.
FAMILIES = {
    "nines+1": "9…9 + 1, in either order: one carry through all columns",
    "0+nines": "0 + 9…9, in either order: no carry at all",
    "nines": "the same 9…9 again and again: the largest carries",
    "alternating": "every second column carries",
    "broken": "columns that hand a carry on, broken at random places",
    "carry-1": "one carry through so many columns, from carry-1 to carry-10",
    "leading-zeros": "terms that begin with zeros",
    "zeros": "nothing but zeros",
    "one-term": "a single term, which is the answer without its leading zeros",
    "permuted": "one long term among single digits, four orders of each",
}


@dataclass(frozen=True, kw_only=True)
class Options(Rules, OnDevice):
    """Measure models on suites of problems and print how often they are right. With --out, a record of every run and
    suite is added to a file; gridsum table makes the paper's tables of them.

    examples:
      gridsum evaluate --model base --suite 2x100 '[5,6]x[1,10]' --samples 1000
      gridsum evaluate --model runs/base runs/SASA --suite ablation --out my.jsonl
      gridsum evaluate --solver my_solvers:add --suite all --out my.jsonl
    """

    lists: ClassVar = {
        "suites": {
            "2x602": "a problem space, terms x digits; or such as '[1,4]x[1,10]'",
            "comparison": "Table III of the paper",
            "long-digits": "Table IV, left",
            "long-terms": "Table IV, right",
            "examples": "Table V",
            "ablation": "Table VI",
            "all": "these together",
            "terms": "1x5 to 10x5, for the figure of that name",
            "validation": "for choosing among models; no table reports it",
            "structured": "nines, broken carries, and carries through 1 to 10 columns",
            "hard-cases": "more digits, more terms and families of hard problems",
        },
        "families, such as nines+1:2x100, for problems that random digits hardly make": FAMILIES,
    }
    model: tuple[ModelName, ...] = several(
        "shipped models, weights files or folders; a training folder means all its seeds, which are computed at once "
        f"(default: {DEFAULT_MODEL}, unless there is a --solver)"
    )
    solver: tuple[Annotated[str, Value("FUNCTION")], ...] = several(
        "a Python function, package.module:function, that maps '12+34=' to '46' (or a list of problems to a list of "
        "answers). It gets the same problems as the models; an exception counts as a wrong answer"
    )
    timeout: Seconds | None = option(
        "how long a solver may take for a problem, or for a list of them (default: as long as it likes)"
    )
    suite: tuple[Suite, ...] = several("what to measure on (default: comparison)")
    samples: Samples | None = option(
        "problems per suite (default: 640, or 128 where terms have 1000 digits or more; in the collection hard-cases "
        "mostly 1024)"
    )
    out: File | None = option("add the records to this file; without it they are only printed")
    grids: Literal["every", "published"] = option(
        "which grids networks get. every: all sizes that training draws from, equally often; published: the five of "
        "the published test code",
        "every",
    )
    format: Format = option("how the scores are printed", "text")
    seed: Seed = option("random seed for problems, grid sizes and halting", 0)


def run(options: Options) -> int:
    if options.out is not None:
        check_writable(options.out)

    from gridsum.api.options import SolveOptions
    from gridsum.api.scores import Scores, Setting, measured, subjects_of, suites_of, without_answers
    from gridsum.evaluation.evaluate import FunctionSubject
    from gridsum.evaluation.records import append, check_file
    from gridsum.evaluation.rendering import to_markdown, to_text
    from gridsum.evaluation.solvers import SolverProcess

    if options.out is not None:
        check_file(options.out)
    suites = suites_of(options.suite or "comparison")
    solving = SolveOptions(options.halting, options.placement, options.seed)
    asked = (options.samples, options.seed, solving, options.device, options.grids)
    setting = Setting(*asked, source_commit(), options.timeout)
    named = options.model or ([] if options.solver else [DEFAULT_MODEL])
    subjects = [subject for name in named for subject in subjects_of(name, setting)]
    subjects += [FunctionSubject(name, SolverProcess(name, options.timeout)) for name in options.solver]
    records: list[Record] = []
    try:
        with progress() as shown:
            for suite, found in measured(subjects, suites, setting, shown):
                if not found:
                    shown.note(f"gridsum: {suite.name} is left out: its numbers are too long for this baseline")
                for failed in (record for record in found if record.failed):
                    shown.note(f"gridsum: {without_answers(failed)}")
                if options.out is not None:  # at once, so that what is done stays done if the rest is interrupted
                    append(options.out, found)
                records += found
    except KeyboardInterrupt:
        if options.out is not None:
            tell(f"gridsum: stopped; what was done is kept: {_counted(records)} in {options.out}")
        raise
    except OSError as error:
        raise unwritable(error.filename or options.out or "a record", error) from None
    table = Scores(records).table
    write_result("-", to_markdown(table) if options.format == "markdown" else to_text(table, terminal_width()))
    if options.out is None:
        tell("gridsum: nothing was kept; add --out FILE to keep the records")
    else:
        tell(f"gridsum: added {_counted(records)} to {options.out}")
    return 0


def _counted(records: "list[Record]") -> str:
    return f"{len(records)} record{'' if len(records) == 1 else 's'}"


def source_commit() -> str | None:
    """The commit of the checkout that this code runs from, marked if it was changed since; or None."""

    def git(*arguments: str) -> str | None:
        command = ["git", "-C", str(Path(gridsum.__file__).parent), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # Installed into an environment that lies inside some other repository, it is not that one's code.
    if git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    commit = git("rev-parse", "--short", "HEAD")
    return f"{commit}-dirty" if commit and git("status", "--porcelain", "--", "*.py") else commit
