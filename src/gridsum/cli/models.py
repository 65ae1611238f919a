"""`gridsum models`: what comes with the package."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridsum.cli.output import emit, write_result
from gridsum.cli.parsing import DEFAULT_MODEL, Parser

if TYPE_CHECKING:
    from gridsum.evaluation.records import Record

_ANSWERING = "answers where no model is named (solve, trace, animate)"


def _parser() -> Parser:
    parser = Parser(
        "models",
        "List the models that come with gridsum: what they are, and how they scored.",
        "gridsum models [--json]",
        "examples:\n  gridsum models\n  gridsum models --json",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a JSON list: name, variant, seed, parameters, epochs, file, configuration, records",
    )
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    from gridsum.store import shipped

    models = [(name, path) for name, path in shipped().items()]
    if options.json:
        emit(json.dumps([_described(name, path) for name, path in models], indent=2))
        return 0
    if not models:
        emit("no models come with this gridsum; train one: gridsum train --variant base --out runs/base")
    for number, (name, path) in enumerate(models):
        write_result("-", ("\n" if number else "") + _listed(name, path))
    return 0


def _described(name: str, path: Path) -> dict[str, Any]:
    from gridsum.store import facts

    model = _load(name, path)
    return {
        **facts(model),
        "file": str(path),
        "configuration": dataclasses.asdict(model.config),
        "records": [dataclasses.asdict(record) for record in _records(name)],
    }


def _listed(name: str, path: Path) -> str:
    from gridsum.store import facts
    from gridsum.variants import MEANINGS

    known = facts(_load(name, path))
    meaning = MEANINGS.get(known["variant"])
    title = (
        f"{name}: variant {known['variant']}, seed {known['seed']}, {known['parameters']:,} parameters, "
        f"trained for {known['epochs']} epochs\n"
        + (f"  {meaning}\n" if meaning else "")
        + (f"  {_ANSWERING}\n" if name == DEFAULT_MODEL else "")
    )
    records = _records(name)
    if not records:
        return title + "  no scores are kept of it\n"
    from gridsum.evaluation.rendering import to_text
    from gridsum.evaluation.tables import TABLES

    table = to_text(TABLES["scores"](records)).split("\n", 2)[2]  # the title is this model's
    return title + "\n" + "".join(f"  {line}\n" if line else "\n" for line in table.splitlines())


def _load(name: str, path: Path) -> Any:
    from gridsum.store import load_runs

    return load_runs(name, [path])


def _records(name: str) -> "list[Record]":
    from gridsum.evaluation.records import read
    from gridsum.store import shipped_records

    path = shipped_records(name)
    return read([path]) if path.exists() else []
