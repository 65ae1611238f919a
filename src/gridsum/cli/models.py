"""`gridsum models`: what comes with the package."""

import dataclasses
import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridsum.cli.output import emit, terminal_width, write_result
from gridsum.cli.parsing import Parser, UsageError, called_now
from gridsum.names import DEFAULT_MODEL, MODELS, did_you_mean

if TYPE_CHECKING:
    from gridsum.evaluation.records import Record

_ANSWERS = "answers where no model is named"


def _parser() -> Parser:
    parser = Parser(
        "models",
        "List the models that come with gridsum: what to use each for, and how it scored. With NAME, all its scores.",
        "gridsum models [NAME...] [--json]",
        "examples:\n  gridsum models\n  gridsum models base-terms\n  gridsum models --json",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to show in full (default: an overview of all)")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a JSON list: name, variant, seed, parameters, epochs, use, file, configuration, records",
    )
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    from gridsum.store import shipped

    known = shipped()
    names = [called_now(name) for name in options.names]
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        mend = did_you_mean(unknown, known, f"the shipped models are {', '.join(known) or 'none'}")
        raise UsageError(f"no model {unknown!r} comes with gridsum; {mend}")
    models = {name: known[name] for name in names or known}
    if options.json:
        emit(json.dumps([_described(name, path) for name, path in models.items()], indent=2))
    elif not models:
        emit("no models come with this gridsum; train one: gridsum train --variant base --out runs/base")
    elif not names:
        write_result("-", _overview(models))
    else:
        write_result("-", "\n".join(_listed(name, path) for name, path in models.items()))
    return 0


def _described(name: str, path: Path) -> dict[str, Any]:
    from gridsum.store import facts_of_file, written_configuration

    return {
        **facts_of_file(name, path),
        "use": MODELS.get(name),
        "file": str(path),
        "configuration": written_configuration(path),
        "records": [dataclasses.asdict(record) for record in _records(name)],
    }


def _overview(models: dict[str, Path]) -> str:
    """A line for each model, with the scores that tell the paper's variants apart."""
    from gridsum.evaluation.rendering import Table, to_text
    from gridsum.evaluation.suites import COLLECTIONS
    from gridsum.evaluation.tables import MISSING, ROUNDING, accuracy_text
    from gridsum.store import facts_of_file

    suites = [suite.name for suite in COLLECTIONS["ablation"]]
    rows = []
    for name, path in models.items():
        known = facts_of_file(name, path)
        scores = {record.suite: accuracy_text(record.seq) for record in _records(name)}
        trained = str(known["epochs"]), f"{known['parameters']:,}"
        rows.append((name, MODELS.get(name, MISSING), *trained, *(scores.get(suite, MISSING) for suite in suites)))
    caption = (
        f"The last columns: whole results right, from the records. {ROUNDING} `gridsum models NAME` shows all scores."
        + (f" {DEFAULT_MODEL} {_ANSWERS}." if DEFAULT_MODEL in models else "")
    )
    header = ("model", "use this for", "epochs", "parameters", *suites)
    return to_text(Table("Models that come with gridsum", caption, header, tuple(rows)), terminal_width() or 100)


def _listed(name: str, path: Path) -> str:
    from gridsum.deltas import MEANINGS
    from gridsum.store import facts_of_file

    known = facts_of_file(name, path)
    meaning = MEANINGS.get(known["variant"])
    lines = [
        f"{name}: variant {known['variant']}, seed {known['seed']}, {known['parameters']:,} parameters, "
        f"trained for {known['epochs']} epochs",
        meaning or "",
        f"use it for {MODELS[name]}" if name in MODELS else "",
        _ANSWERS if name == DEFAULT_MODEL else "",
    ]
    width = terminal_width() or max(map(len, lines)) + 2
    title = "".join(
        textwrap.fill(line, width, initial_indent="  " * (number > 0), subsequent_indent="  ") + "\n"
        for number, line in enumerate(lines)
        if line
    )
    records = _records(name)
    if not records:
        return title + "  no scores are kept of it\n"
    from gridsum.evaluation.rendering import to_text
    from gridsum.evaluation.tables import TABLES

    table = to_text(TABLES["scores"](records), terminal_width()).split("\n", 2)[2]  # the title is this model's
    return f"{title}\n{table}"


def _records(name: str) -> "list[Record]":
    from gridsum.evaluation.records import read
    from gridsum.store import shipped_records

    path = shipped_records(name)
    return read([path]) if path.exists() else []
