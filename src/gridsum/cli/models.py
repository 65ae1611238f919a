"""`gridsum models`: what comes with the package."""

import dataclasses
import json
import textwrap
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gridsum.cli.options import UsageError, Value, flag, several
from gridsum.cli.output import emit, terminal_width, write_result
from gridsum.io.names import DEFAULT_MODEL, MODELS, did_you_mean

if TYPE_CHECKING:
    from gridsum.evaluation.records import Record

_ANSWERS = "answers where no model is named"


@dataclass(frozen=True, kw_only=True)
class Options:
    """List the models that come with gridsum: what to use each for, and how it scored; then the best runs of the
    systems that ours is compared with. With NAME, all its scores.

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
    from gridsum.model.store import shipped

    known, compared = shipped(), _best_of_systems()
    names = [called for name in options.names for called in _both_settings(name, compared)]
    unknown = next((name for name in names if name not in known and name not in compared), None)
    if unknown is not None:
        hint = did_you_mean(unknown, [*known, *compared], f"the shipped models are {', '.join(known) or 'none'}")
        raise UsageError(f"no model {unknown!r} comes with gridsum; {hint}")
    models = {name: known[name] for name in names or known if name in known}
    systems = {name: compared[name] for name in names or compared if name in compared}
    if options.json:
        described = [_described(name, path) for name, path in models.items()]
        emit(json.dumps(described + [_system_described(best) for best in systems.values()], indent=2))
    elif not models and not systems:
        emit("no models come with this gridsum; train one: gridsum train --variant base --out runs/base")
    elif not names:
        write_result("-", "\n".join([_overview(models)] * bool(models) + [_systems_overview(systems)] * bool(systems)))
    else:
        shown = [_listed(name, path) for name, path in models.items()]
        write_result("-", "\n".join(shown + [_system_listed(best) for best in systems.values()]))
    return 0


def _described(name: str, path: Path) -> dict[str, Any]:
    from gridsum.model.store import configuration_of, facts, load_runs

    return {
        **facts(load_runs(name, [path])),
        "use": MODELS.get(name),
        "file": str(path),
        "configuration": dataclasses.asdict(configuration_of(path)),
        "records": [dataclasses.asdict(record) for record in _records(name)],
    }


def _overview(models: dict[str, Path]) -> str:
    """A line for each model, with the scores that tell the paper's variants apart."""
    from gridsum.evaluation.records import NOTHING
    from gridsum.evaluation.rendering import Table, to_text
    from gridsum.evaluation.suites import COLLECTIONS
    from gridsum.evaluation.tables import ROUNDING, accuracy_text
    from gridsum.model.store import facts, load_runs

    suites = [suite.name for suite in COLLECTIONS["ablation"]]
    rows = []
    for name, path in models.items():
        known = facts(load_runs(name, [path]))
        scores = {record.suite: accuracy_text(record.seq) for record in _records(name)}
        trained = str(known["epochs"]), f"{known['parameters']:,}"
        rows.append((name, MODELS.get(name, NOTHING), *trained, *(scores.get(suite, NOTHING) for suite in suites)))
    caption = (
        f"The last columns: whole results right, from the records. {ROUNDING} `gridsum models NAME` shows all scores."
        + (f" {DEFAULT_MODEL} {_ANSWERS}." if DEFAULT_MODEL in models else "")
    )
    header = ("model", "use this for", "epochs", "parameters", *suites)
    return to_text(Table("Models that come with gridsum", caption, header, tuple(rows)), terminal_width() or 100)


def _listed(name: str, path: Path) -> str:
    from gridsum.config.variants import MEANINGS
    from gridsum.model.store import facts, load_runs

    known = facts(load_runs(name, [path]))
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


def _best_of_systems() -> "dict[str, dict[str, Record]]":
    """The best run of each system that ours is compared with, by suite, where there are records of them."""
    from gridsum.model.store import system_records

    path = system_records()
    if path is None:
        return {}
    from gridsum.evaluation.baselines import best_runs
    from gridsum.evaluation.records import read

    return best_runs(read([path]))


def _both_settings(name: str, compared: Collection[str]) -> list[str]:
    """A system's name alone stands for all of its settings."""
    return [known for known in compared if known.partition("/")[0] == name] or [name]


def _system_described(best: "dict[str, Record]") -> dict[str, Any]:
    from gridsum.evaluation.baselines import training_command

    first = next(iter(best.values()))
    return {
        "name": first.variant,
        "variant": first.variant,
        "seed": first.seed,
        "parameters": first.parameters,
        "held_out": first.held_out,
        "file": None,
        "train": training_command(first),
        "records": [dataclasses.asdict(record) for record in best.values()],
    }


def _systems_overview(systems: "dict[str, dict[str, Record]]") -> str:
    from gridsum.evaluation.records import NOTHING
    from gridsum.evaluation.rendering import Table, to_text
    from gridsum.evaluation.suites import COLLECTIONS
    from gridsum.evaluation.tables import accuracy_text
    from gridsum.study.baselines import unmeasured

    suites = [suite.name for suite in COLLECTIONS["comparison"]]
    rows = []
    for name, best in systems.items():
        first = next(iter(best.values()))
        scores = (accuracy_text(best[suite].seq) if suite in best else NOTHING for suite in suites)
        rows.append((name, str(first.seed), f"{first.held_out:.2f}", *scores))
    caption = (
        "Weights do not come with gridsum; `gridsum models NAME` shows all scores of a system and the command that "
        "trains it. Shown is the seed with most of the held-out problems of its training right."
    )
    without = unmeasured(systems)
    if without:
        caption += f" Not measured yet: {', '.join(without)}."
    header = ("system", "seed", "held out", *suites)
    title = "Best runs of the systems that ours is compared with"
    return to_text(Table(title, caption, header, tuple(rows)), terminal_width() or 100)


def _system_listed(best: "dict[str, Record]") -> str:
    from gridsum.evaluation.baselines import training_command
    from gridsum.evaluation.rendering import to_text
    from gridsum.evaluation.tables import TABLES

    first = next(iter(best.values()))
    table = to_text(TABLES["scores"](list(best.values())), terminal_width()).split("\n", 2)[2]
    return (
        f"{first.variant}: seed {first.seed}, {first.parameters or 0:,} parameters, was given {first.given}, "
        f"{first.held_out:.2f} of the held-out problems right\n"
        f"  its weights do not come with gridsum; train it: {training_command(first)}\n\n{table}"
    )


def _records(name: str) -> "list[Record]":
    from gridsum.evaluation.records import read
    from gridsum.model.store import shipped_records

    path = shipped_records(name)
    return read([path]) if path.exists() else []
