"""List the models that come with gridsum, and what to use each for. Their scores: gridsum table scores --records MODEL.
Those of the baselines that ours are compared with: gridsum table baselines.

examples:
  gridsum models
  gridsum models | grep noGroups
"""

from gridsum.automaton.files import shipped_rules
from gridsum.cli.options import Options, Parser, columns
from gridsum.cli.output import print_text, terminal_width
from gridsum.io.names import DEFAULT_MODEL, MODELS


def add_options(parser: Parser) -> None:
    """It takes none."""


def run(options: Options) -> int:  # noqa: ARG001
    rules = {name: f"any {table.task.meaning}: proved" for name, table in shipped_rules().items()}
    used_for = rules | MODELS | {DEFAULT_MODEL: f"{MODELS[DEFAULT_MODEL]} (default)"}
    print_text(columns({name: used_for[name] for name in (*MODELS, *rules)}, width=terminal_width()) + "\n")
    return 0
