"""List the models that come with gridsum: what to use each for, and how it scored. With NAME, all its scores. The
scores of the baselines that ours are compared with: gridsum table baselines.

examples:
  gridsum models
  gridsum models base
  gridsum models --json
"""

import json
import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gridsum.automaton.files import shipped_tasks
from gridsum.cli.options import Options, Parser, UsageError
from gridsum.cli.output import print_text, terminal_width
from gridsum.config.variants import MEANINGS
from gridsum.evaluation.records import NOTHING, Record, read
from gridsum.evaluation.rendering import Table, to_text
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import ROUNDING, TABLES, accuracy_text
from gridsum.io.names import DEFAULT_MODEL, EXACT_STORY, MODELS, did_you_mean
from gridsum.model.store import configuration_of, facts, load_runs, shipped, shipped_records

_ANSWERS = "answers where no model is named"


def add_options(parser: Parser) -> None:
    parser.option("names NAME...", "models to show in full (default: an overview of all)")
    told = "print a JSON list: name, variant, seed, parameters, epochs, use, file, configuration, records"
    parser.option("--json", told)


def run(options: Options) -> int:
    known = shipped()
    unknown = next((name for name in options.names if name not in known), None)
    if unknown is not None:
        hint = did_you_mean(unknown, known, f"the shipped models are {', '.join(known) or 'none'}")
        raise UsageError(f"unknown model {unknown!r}; {hint}")
    models = {name: known[name] for name in options.names or known}
    if options.json:
        print_text(json.dumps([_described(name, path) for name, path in models.items()], indent=2) + "\n")
    elif options.names:
        print_text("\n".join(_listed(name, path) for name, path in models.items()))
    elif models:
        print_text(to_text(_overview(models), terminal_width() or 100))
    else:
        print_text("no models come with this gridsum; train one: gridsum train --variant base --out runs/base\n")
    return 0


def _described(name: str, path: Path) -> dict[str, Any]:
    return {
        **facts(load_runs(name, [path])),
        "use": MODELS.get(name),
        "file": str(path),
        "configuration": asdict(configuration_of(path)),
        "records": [asdict(record) for record in _records(name)],
    }


def _overview(models: Mapping[str, Path]) -> Table:
    """A line for each model, with the scores that tell the paper's variants apart."""
    random, structured = (
        [suite.name for suite in suites] for suites in (COLLECTIONS["ablation"], COLLECTIONS["structured"][:3])
    )
    rows = []
    for name, path in models.items():
        known = facts(load_runs(name, [path]))
        scores = {record.suite: accuracy_text(record.seq) for record in _records(name)}
        trained = str(known["epochs"]), f"{known['parameters']:,}"
        shown = [[scores.get(suite, NOTHING) for suite in suites] for suites in (random, structured)]
        rows.append((name, MODELS.get(name, NOTHING), *trained, *shown[0], "/".join(shown[1])))
    rules = ", ".join(task for task, name in shipped_tasks().items() if name not in MODELS)
    caption = (
        "The last columns: whole results right, from the records, of random digits, where carries are short; the very "
        f"last is of structured sums: {', '.join(structured)}. {ROUNDING} "
        f"`gridsum models NAME` shows all scores. {DEFAULT_MODEL} {_ANSWERS}. "
        f"Proved rules for other tasks, without their networks: {rules}; gridsum solve --task NAME."
    )
    header = ("model", "use this for", "epochs", "parameters", *random, "structured")
    return Table("Models that come with gridsum", caption, header, tuple(rows))


def _listed(name: str, path: Path) -> str:
    known, records = facts(load_runs(name, [path])), _records(name)
    lines = [
        f"{name}: variant {known['variant']}, seed {known['seed']}, {known['parameters']:,} parameters, "
        f"trained for {known['epochs']} epochs",
        MEANINGS.get(known["variant"], ""),
        f"use it for {MODELS[name]}" if name in MODELS else "",
        _ANSWERS if name == DEFAULT_MODEL else "",
        *(f"{what}: {text}" for what, text in EXACT_STORY.items() if name == DEFAULT_MODEL),
        "" if records else "no scores are kept of it",
    ]
    width = terminal_width() or max(map(len, lines)) + 2
    title = "\n  ".join(textwrap.fill(line, width - 2, subsequent_indent="  ") for line in lines if line)
    # Scores without a title of their own.
    scores = "\n" + to_text(TABLES["scores"](records), terminal_width()).split("\n", 2)[2] if records else ""
    return f"{title}\n{scores}"


def _records(name: str) -> list[Record]:
    path = shipped_records(name)
    return read([path]) if path.exists() else []
