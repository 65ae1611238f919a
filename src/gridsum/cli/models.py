"""`gridsum models`: what comes with the package."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridsum.cli.output import emit, write_result
from gridsum.cli.parsing import DEFAULT_MODEL, Parser, UsageError, suggest

if TYPE_CHECKING:
    from gridsum.config import Config
    from gridsum.evaluation.records import Record

_ANSWERING = "answers where no model is named (solve, trace, animate)"


def _parser() -> Parser:
    parser = Parser(
        "models",
        "List the models that come with gridsum: what they are, and how they scored. With NAME, all scores of it.",
        "gridsum models [NAME...] [--json]",
        "A variant's own name means its best run on problems that no table reports,\n"
        "under whichever reading of the paper it was trained.\n\n"
        "examples:\n  gridsum models\n  gridsum models base-overtrained\n  gridsum models --json",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to show in full (default: an overview of all)")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a JSON list: name, variant, seed, parameters, epochs, reading, file, configuration, records",
    )
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    from gridsum.store import shipped

    known = shipped()
    unknown = next((name for name in options.names if name not in known), None)
    if unknown is not None:
        mend = suggest(unknown, known, f"the shipped models are {', '.join(known) or 'none'}")
        raise UsageError(f"no model {unknown!r} comes with gridsum; {mend}")
    models = {name: known[name] for name in options.names or known}
    if options.json:
        emit(json.dumps([_described(name, path) for name, path in models.items()], indent=2))
    elif not models:
        emit("no models come with this gridsum; train one: gridsum train --variant base --out runs/base")
    elif not options.names:
        write_result("-", _overview(models))
    else:
        write_result("-", "\n".join(_listed(name, path) for name, path in models.items()))
    return 0


def _described(name: str, path: Path) -> dict[str, Any]:
    from gridsum.store import facts

    model = _load(name, path)
    return {
        **facts(model),
        "reading": _reading(model.config),
        "file": str(path),
        "configuration": dataclasses.asdict(model.config),
        "records": [dataclasses.asdict(record) for record in _records(name)],
    }


def _overview(models: dict[str, Path]) -> str:
    """A line for each model, with the scores that tell the paper's variants apart."""
    from gridsum.evaluation.rendering import Table, to_text
    from gridsum.evaluation.suites import COLLECTIONS
    from gridsum.evaluation.tables import MISSING, ROUNDING, accuracy_text
    from gridsum.store import facts
    from gridsum.variants import MEANINGS

    suites = [suite.name for suite in COLLECTIONS["ablation"]]
    loaded = [_load(name, path) for name, path in models.items()]
    about = [facts(model) | {"reading": _reading(model.config) or MISSING} for model in loaded]
    rows = []
    for known in about:
        scores = {record.suite: accuracy_text(record.seq) for record in _records(known["name"])}
        trained = (*(str(known[fact]) for fact in ("variant", "reading", "seed", "epochs")), f"{known['parameters']:,}")
        rows.append((known["name"], *trained, *(scores.get(suite, MISSING) for suite in suites)))
    caption = (
        "Reading: of what the paper leaves open, as specified or another (`gridsum reproduce --help` lists them). The "
        f"last columns: whole results right, from the records. {ROUNDING} `gridsum models NAME` shows all scores."
    )
    header = ("model", "variant", "reading", "seed", "epochs", "parameters", *suites)
    variants = dict.fromkeys(known["variant"] for known in about)
    meanings = [f"  {name}: {MEANINGS[name]}" for name in variants if name in MEANINGS]
    notes = [f"  {DEFAULT_MODEL} {_ANSWERING}"] if DEFAULT_MODEL in models else []
    table = to_text(Table("Models that come with gridsum", caption, header, tuple(rows)))
    return "\n".join([table, *meanings, *notes]) + "\n"


def _listed(name: str, path: Path) -> str:
    from gridsum.store import facts
    from gridsum.variants import MEANINGS

    model = _load(name, path)
    known, reading = facts(model), _reading(model.config)
    meaning = MEANINGS.get(known["variant"])
    title = (
        f"{name}: variant {known['variant']}, seed {known['seed']}, {known['parameters']:,} parameters, "
        f"trained for {known['epochs']} epochs\n"
        + (f"  {meaning}\n" if meaning else "")
        + (f"  trained {_read_so(reading)}\n" if reading else "")
        + (f"  {_ANSWERING}\n" if name == DEFAULT_MODEL else "")
    )
    records = _records(name)
    if not records:
        return title + "  no scores are kept of it\n"
    from gridsum.evaluation.rendering import to_text
    from gridsum.evaluation.tables import TABLES

    table = to_text(TABLES["scores"](records)).split("\n", 2)[2]  # the title is this model's
    return title + "\n" + "".join(f"  {line}\n" if line else "\n" for line in table.splitlines())


def _reading(config: "Config") -> str | None:
    """How the paper was read in training; None of a variant that is not the paper's."""
    from gridsum.ablations import reading_of
    from gridsum.variants import PAPER_VARIANTS, variant

    return reading_of(config, variant(config.variant)) if config.variant in PAPER_VARIANTS else None


def _read_so(reading: str) -> str:
    from gridsum.ablations import SPECIFIED

    return "as specified" if reading == SPECIFIED else f"under the reading {reading}"


def _load(name: str, path: Path) -> Any:
    from gridsum.store import load_runs

    return load_runs(name, [path])


def _records(name: str) -> "list[Record]":
    from gridsum.evaluation.records import read
    from gridsum.store import shipped_records

    path = shipped_records(name)
    return read([path]) if path.exists() else []
