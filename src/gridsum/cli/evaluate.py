"""`gridsum evaluate`: models and solvers on suites of problems, kept as records."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gridsum
from gridsum.cli.output import check_writable, tell, terminal_width, unwritable, write_result
from gridsum.cli.parsing import (
    Parser,
    UsageError,
    add_device,
    add_rules,
    add_seed,
    called_now,
    check_halting,
    columns,
    pick_device,
    whole_number,
)
from gridsum.cli.progress import Progress, progress
from gridsum.cli.rule import has_rule
from gridsum.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from gridsum.evaluation.records import Record
    from gridsum.evaluation.suites import Suite

# Stands here too, to be told without torch.
FAMILIES = {
    "nines+1": "9…9 + 1, in either order: one carry through all columns",
    "nines": "the same 9…9 again and again: the largest carries",
    "alternating": "every second column carries",
    "leading-zeros": "terms that begin with zeros",
    "zeros": "nothing but zeros",
    "one-term": "a single term, which is the answer without its leading zeros",
    "permuted": "one long term among single digits, four orders of each",
}


def _parser() -> Parser:
    parser = Parser(
        "evaluate",
        "Measure models on suites of problems and print how often they are right. With --out, a record of "
        "every run and suite is added to a file; gridsum table makes the paper's tables of them.",
        "gridsum evaluate [--model MODEL...] [--suite SUITE...] [--out FILE] ...",
        "suites:\n"
        "  a problem space, terms x digits, such as 2x602 or [1,4]x[1,10]; or one of the\n"
        "  collections: comparison, long-digits, long-terms, examples, ablation (each a\n"
        "  table of the paper), all (these together), terms (1x5 to 10x5, for the figure\n"
        "  of that name), validation (for choosing among models; no table reports it),\n"
        "  and exact (what a network that adds exactly must hold);\n"
        "  or FAMILY:SPACE, such as nines+1:2x100, for problems that random digits\n"
        "  hardly make:\n"
        f"{columns(FAMILIES, 4)}\n\n"
        "examples:\n"
        "  gridsum evaluate --model base --suite 2x100 [5,6]x[1,10] --samples 1000\n"
        "  gridsum evaluate --model runs/base runs/SASA --suite ablation --out my.jsonl\n"
        "  gridsum evaluate --solver my_solvers:add --suite all --out my.jsonl",
    )
    parser.add_argument(
        "--model",
        nargs="+",
        action="extend",
        metavar="MODEL",
        help="shipped models, weights files or folders; a training folder means all its seeds, which are "
        f"computed at once (default: {DEFAULT_MODEL}, unless there is a --solver)",
    )
    parser.add_argument(
        "--solver",
        nargs="+",
        action="extend",
        default=[],
        metavar="FUNCTION",
        help="package.module:function, which is given '12+34=' and returns '46'; it gets the same problems",
    )
    parser.add_argument(
        "--suite",
        nargs="+",
        action="extend",
        metavar="SUITE",
        help="what to measure on (default: comparison)",
    )
    parser.add_argument(
        "--samples",
        type=whole_number(1, 10**9),
        metavar="N",
        help="problems of each suite (default: 640, or 128 where terms have 1000 digits or more; in the collection "
        "exact mostly 1024)",
    )
    add_seed(parser, "of the problems, grid sizes and halting draws")
    parser.add_argument("--out", metavar="FILE", help="add the records to this file; without it they are only printed")
    add_rules(parser)
    add_device(parser, "auto")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    if options.out is not None:
        check_writable(options.out)

    from gridsum.evaluation.rendering import to_text
    from gridsum.evaluation.suites import find
    from gridsum.evaluation.tables import TABLES

    names = options.suite or ["comparison"]
    suites = list({suite.name: suite for name in names for suite in find(name)}.values())
    subjects = [*_models(options), *_solvers(options)]
    records: list[Record] = []
    try:
        with progress() as shown:
            for subject in subjects:
                for suite in suites:
                    found = subject(suite, shown)
                    if options.out is not None:
                        _keep(options.out, found)
                    records += found
    except KeyboardInterrupt:
        if options.out is not None:
            tell(f"gridsum: stopped; what was done is kept: {_counted(records)} in {options.out}")
        raise
    write_result("-", to_text(TABLES["scores"](records), terminal_width()))
    if options.out is None:
        tell("gridsum: nothing was kept; add --out FILE to keep the records")
    else:
        tell(f"gridsum: added {_counted(records)} to {options.out}")
    return 0


Subject = Callable[["Suite", Progress], "list[Record]"]


def _models(options: Any) -> Iterator[Subject]:
    """Every model, loaded and checked; calling one evaluates it."""
    names = options.model or ([] if options.solver else [DEFAULT_MODEL])
    if not names:
        return
    from gridsum.evaluation.runner import evaluate
    from gridsum.store import load

    device = pick_device(options.device)
    commit = source_commit()
    for name in names:
        name = called_now(name.rstrip("/") or name)
        if has_rule(name):
            yield from _rules(name, options, commit)
            continue
        model = load(name, device)
        check_halting(model.network, options.halting, name)

        def subject(suite: "Suite", shown: Progress, model: Any = model) -> "list[Record]":
            def report(done: int, total: int) -> None:
                shown.update(f"{model.name} on {suite.name}:", done, total, unit="problems measured")

            rules = (options.halting, options.placement)
            return evaluate(model, suite, options.samples, options.seed, *rules, commit, report)

        yield subject


def _rules(name: str, options: Any, commit: str | None) -> Iterator[Subject]:
    """Every run of `exact` that a name means, by its rule."""
    from gridsum.automaton.files import shipped_rule
    from gridsum.automaton.rule import LearnedRule
    from gridsum.evaluation.rules import evaluate_rule
    from gridsum.store import load_exact, locate

    if options.halting is not None:
        raise UsageError(f"{name} halts at rest; leave --halting out")
    for path in locate(name):
        network, _, training_seed = load_exact(path)
        table = shipped_rule(name) or LearnedRule(network).table()

        def subject(suite: "Suite", shown: Progress, table: Any = table, run: int = training_seed) -> "list[Record]":
            def report(done: int, total: int) -> None:
                shown.update(f"{name} on {suite.name}:", done, total, unit="problems measured")

            return [evaluate_rule(name, table, run, suite, options.samples, options.seed, commit, report)]

        yield subject


def _solvers(options: Any) -> Iterator[Subject]:
    if not options.solver:
        return
    from gridsum.evaluation.solvers import evaluate_solver, load_solver

    for name in options.solver:
        solver = load_solver(name)

        def subject(suite: "Suite", shown: Progress, name: str = name, solver: Any = solver) -> "list[Record]":
            shown.note(f"{name} on {suite.name}")
            return [evaluate_solver(name, solver, suite, options.samples, options.seed, source_commit())]

        yield subject


def _keep(name: str, records: "list[Record]") -> None:
    """As soon as they are made, so that what is done stays done if the rest is interrupted."""
    from gridsum.evaluation.records import append

    try:
        append(name, records)
    except OSError as error:
        raise unwritable(name, error) from None


def _counted(records: "list[Record]") -> str:
    return f"{len(records)} record{'' if len(records) == 1 else 's'}"


def source_commit() -> str | None:
    """The commit of the checkout that this code runs from, marked if it was changed since; or None."""
    package = Path(gridsum.__file__).parent

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(package), *arguments],
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # Installed into an environment that lies inside some other repository, it is not that one's code.
    if git("ls-files", "--error-unmatch", "version.py") is None:
        return None
    commit = git("rev-parse", "--short", "HEAD")
    changed = git("status", "--porcelain", "--", "*.py")
    return f"{commit}-dirty" if commit and changed else commit
