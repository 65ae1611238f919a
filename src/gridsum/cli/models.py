"""List the models that come with gridsum: what to use each for, and how it scored. All scores of a model: gridsum table
scores --records MODEL. Those of the baselines that ours are compared with: gridsum table baselines.

examples:
  gridsum models
  gridsum models | grep noGroups
"""

from gridsum.automaton.files import shipped_rules
from gridsum.cli.options import Options, Parser
from gridsum.cli.output import print_text
from gridsum.evaluation.records import NOTHING, read
from gridsum.evaluation.rendering import Table, terminal_width, to_text
from gridsum.evaluation.tables import ROUNDING, accuracy_text
from gridsum.io.names import DEFAULT_MODEL, MODELS
from gridsum.model.store import shipped_records

_LONG_CARRY = "carry-6:2x10"
_SUITES = ("2x602", "[5,6]x[1,10]", _LONG_CARRY)


def add_options(parser: Parser) -> None:
    """It has none."""


def run(options: Options) -> None:  # noqa: ARG001
    found = {name: table.task for name, table in shipped_rules().items() if name not in MODELS}
    rules = {name: f"{task.meaning}: proved for any length" for name, task in found.items()}
    rows = []
    for name, use in (MODELS | rules).items():
        records = shipped_records(name)
        scores = {record.suite: accuracy_text(record.seq) for record in (read([records]) if records.exists() else ())}
        rows.append((name, use, *(scores.get(suite, NOTHING) for suite in _SUITES)))
    caption = (
        f"The last columns: whole results right, from the records; {_LONG_CARRY} is of sums whose carry crosses 6 "
        f"columns, the others are of random digits, where carries are short. {ROUNDING} {DEFAULT_MODEL} answers where "
        "no model is named."
    )
    table = Table("Models that come with gridsum", caption, ("model", "use this for", *_SUITES), tuple(rows))
    print_text(to_text(table, terminal_width() or 100))
