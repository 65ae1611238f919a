"""`gridsum models`: what comes with the package."""

import json
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from gridsum.cli.options import UsageError, Value, flag, several
from gridsum.cli.output import emit, print_text, terminal_width
from gridsum.config.variants import MEANINGS
from gridsum.evaluation.baselines import best_runs, training_command
from gridsum.evaluation.records import NOTHING, Record, read
from gridsum.evaluation.rendering import Table, to_text
from gridsum.evaluation.suites import COLLECTIONS, NINES
from gridsum.evaluation.tables import ROUNDING, TABLES, accuracy_text
from gridsum.io.names import DEFAULT_MODEL, EXACT_STORY, MODELS, did_you_mean
from gridsum.model.store import baseline_records, configuration_of, facts, load_runs, shipped, shipped_records

_ANSWERS = "answers where no model is named"
Best = dict[str, Record]
"""The best run of a baseline that ours is compared with: its records by suite."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """List the models that come with gridsum: what to use each for, and how it scored; then the best runs of the
    baselines that ours is compared with. With NAME, all its scores.

    examples:
      gridsum models
      gridsum models base
      gridsum models --json
    """

    names: tuple[Annotated[str, Value("NAME")], ...] = several(
        "models to show in full (default: an overview of all)", argument=True
    )
    json: bool = flag("print a JSON list: name, variant, seed, parameters, epochs, use, file, configuration, records")


def run(options: Options) -> int:
    known, kept = shipped(), baseline_records()
    compared = {} if kept is None else best_runs(read([kept]))
    # A baseline's name alone stands for all of its settings.
    settings = {name: [other for other in compared if other.partition("/")[0] == name] for name in options.names}
    names = [called for name in options.names for called in settings[name] or [name]]
    unknown = next((name for name in names if name not in known and name not in compared), None)
    if unknown is not None:
        hint = did_you_mean(unknown, [*known, *compared], f"the shipped models are {', '.join(known) or 'none'}")
        raise UsageError(f"no model {unknown!r} comes with gridsum; {hint}")
    models = {name: known[name] for name in names or known if name in known}
    baselines = {name: compared[name] for name in names or compared if name in compared}
    if options.json:
        described = [_described(name, path) for name, path in models.items()]
        emit(json.dumps(described + [_baseline_described(best) for best in baselines.values()], indent=2))
    elif not models and not baselines:
        emit("no models come with this gridsum; train one: gridsum train --variant base --out runs/base")
    elif names:
        shown = [_listed(name, path) for name, path in models.items()]
        print_text("\n".join(shown + [_baseline_listed(best) for best in baselines.values()]))
    else:
        tables = [_overview(models)] * bool(models) + [_baselines_overview(baselines)] * bool(baselines)
        print_text("\n".join(to_text(table, terminal_width() or 100) for table in tables))
    return 0


def _described(name: str, path: Path) -> dict[str, Any]:
    return {
        **facts(load_runs(name, [path])),
        "use": MODELS.get(name),
        "file": str(path),
        "configuration": asdict(configuration_of(path)),
        "records": [asdict(record) for record in _records(name)],
    }


def _baseline_described(best: Best) -> dict[str, Any]:
    first = next(iter(best.values()))
    return {
        "name": first.variant,
        "variant": first.variant,
        "seed": first.seed,
        "parameters": first.parameters,
        "held_out": first.held_out,
        "file": None,
        "train": training_command(first),
        "records": [asdict(record) for record in best.values()],
    }


def _overview(models: Mapping[str, Path]) -> Table:
    """A line for each model, with the scores that tell the paper's variants apart."""
    suites = [*(suite.name for suite in COLLECTIONS["ablation"]), NINES]
    rows = []
    for name, path in models.items():
        known = facts(load_runs(name, [path]))
        scores = {record.suite: accuracy_text(record.seq) for record in _records(name)}
        trained = str(known["epochs"]), f"{known['parameters']:,}"
        rows.append((name, MODELS.get(name, NOTHING), *trained, *(scores.get(suite, NOTHING) for suite in suites)))
    caption = (
        "The last columns: whole results right, from the records, of random digits, where carries are short; the very "
        f"last is of 9…9 + 1, where one carry runs through all columns. {ROUNDING} "
        "`gridsum models NAME` shows all scores." + (f" {DEFAULT_MODEL} {_ANSWERS}." if DEFAULT_MODEL in models else "")
    )
    header = ("model", "use this for", "epochs", "parameters", *suites)
    return Table("Models that come with gridsum", caption, header, tuple(rows))


def _baselines_overview(baselines: Mapping[str, Best]) -> Table:
    from gridsum.study.baselines import unmeasured

    suites = [suite.name for suite in COLLECTIONS["comparison"]]
    rows = []
    for name, best in baselines.items():
        first = next(iter(best.values()))
        scores = (accuracy_text(best[suite].seq) if suite in best else NOTHING for suite in suites)
        rows.append((name, str(first.seed), f"{first.held_out:.2f}", *scores))
    caption = (
        "Weights do not come with gridsum; `gridsum models NAME` shows all scores of a baseline and the command that "
        "trains it. Shown is the seed with most of the held-out problems of its training right."
    )
    without = unmeasured(dict(baselines))
    if without:
        caption += f" Not measured yet: {', '.join(without)}."
    header = ("baseline", "seed", "held out", *suites)
    return Table("Best runs of the baselines that ours is compared with", caption, header, tuple(rows))


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
    title = "".join(
        textwrap.fill(line, width, initial_indent="  " * (number > 0), subsequent_indent="  ") + "\n"
        for number, line in enumerate(lines)
        if line
    )
    return f"{title}\n{_scores(records)}" if records else title


def _baseline_listed(best: Best) -> str:
    first = next(iter(best.values()))
    return (
        f"{first.variant}: seed {first.seed}, {first.parameters or 0:,} parameters, was given {first.given}, "
        f"{first.held_out:.2f} of the held-out problems right\n"
        f"  its weights do not come with gridsum; train it: {training_command(first)}\n\n"
        f"{_scores(list(best.values()))}"
    )


def _scores(records: list[Record]) -> str:
    """The table of scores, without a title of its own."""
    return to_text(TABLES["scores"](records), terminal_width()).split("\n", 2)[2]


def _records(name: str) -> list[Record]:
    path = shipped_records(name)
    return read([path]) if path.exists() else []
