"""List the models that come with gridsum: what to use each for, and how it scored. All scores of a model: gridsum table
scores --records MODEL. Those of the baselines that ours are compared with: gridsum table baselines.

examples:
  gridsum models
  gridsum models | grep noGroups
"""

from gridsum.automaton.files import shipped_rules
from gridsum.cli.options import Options, Parser
from gridsum.cli.output import print_text, terminal_width
from gridsum.evaluation.records import NOTHING, read
from gridsum.evaluation.rendering import Table, to_text
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import ROUNDING, accuracy_text
from gridsum.io.names import DEFAULT_MODEL, MODELS
from gridsum.model.store import facts, load_runs, shipped, shipped_records

_LONG_CARRY = "carry-6:2x10"


def add_options(parser: Parser) -> None:
    """It takes none."""


def run(options: Options) -> int:  # noqa: ARG001
    suites = [*(suite.name for suite in COLLECTIONS["ablation"]), _LONG_CARRY]
    rows = []
    for name, path in shipped().items():
        known, records = facts(load_runs(name, [path])), shipped_records(name)
        scores = {record.suite: accuracy_text(record.seq) for record in (read([records]) if records.exists() else ())}
        shown = (scores.get(suite, NOTHING) for suite in suites)
        rows.append((name, MODELS.get(name, NOTHING), str(known["epochs"]), f"{known['parameters']:,}", *shown))
    for name, table in shipped_rules().items():
        if name not in MODELS:
            rows.append((name, f"any {table.task.meaning}: proved", *[NOTHING] * (2 + len(suites))))
    caption = (
        f"The last columns: whole results right, from the records; {_LONG_CARRY} is of sums whose carry crosses 6 "
        f"columns, the others are of random digits, where carries are short. {ROUNDING} {DEFAULT_MODEL} answers where "
        "no model is named. Models without parameters here are rules without their networks."
    )
    table = Table(
        "Models that come with gridsum",
        caption,
        ("model", "use this for", "epochs", "parameters", *suites),
        tuple(rows),
    )
    print_text(to_text(table, terminal_width() or 100))
    return 0
