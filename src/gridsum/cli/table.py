"""Print a table made of the records that gridsum evaluate kept, in the paper's order and with the paper's numbers
beside ours.

examples:
  gridsum table comparison --records records.jsonl
  gridsum table examples --records base noGroups
  gridsum table ablation --records base.jsonl sasa.jsonl --format markdown
"""

from collections.abc import Sequence
from pathlib import Path

from gridsum.cli.options import Options, Parser, UsageError
from gridsum.cli.output import print_text
from gridsum.io.names import did_you_mean

# These stand here too, to be told without loading what makes them.
TABLES = {
    "comparison": "more digits and more terms than in training (Table III)",
    "long-digits": "two terms of up to 4000 digits (Table IV, left)",
    "long-terms": "5 to 10 terms of 5 digits (Table IV, right)",
    "examples": "the eight worked examples, answer by answer (Table V)",
    "ablation": "the variants, mean and spread over training seeds (Table VI)",
    "scores": "every record: accuracies, intervals and steps",
    "baselines": "baselines side by side: median and best training seed",
}


def add_options(parser: Parser) -> None:
    parser.explain({"tables": TABLES})
    parser.option("table TABLE", "which table", choices=TABLES, required=True)
    parser.option(
        "--records RECORDS...",
        "files of records, or names of shipped models for theirs; of several records for one line the last counts "
        "(default: those of the shipped models; for ablation, of all seeds of each variant; for baselines, theirs too)",
    )
    parser.option("--format text|markdown", "how it is written", default="text")


def run(options: Options) -> None:
    from gridsum.evaluation.records import read
    from gridsum.evaluation.rendering import to_markdown, to_text
    from gridsum.evaluation.tables import TABLES as MAKERS

    table = MAKERS[options.table](read(record_files(options.records, options.table)))
    print_text(to_markdown(table) if options.format == "markdown" else to_text(table))


def record_files(given: Sequence[str], table: str = "") -> list[str]:
    """The files that records are read from: those given, by path or by the name of a shipped model."""
    from gridsum.model.store import BASELINES, SEEDS, SHIPPED, other_records, shipped, shipped_records

    found = {name: str(shipped_records(name)) for name in shipped() if shipped_records(name).exists()}
    unknown = next((name for name in given if name not in found and not Path(name).suffix), None)
    if unknown is not None and not Path(unknown).exists():
        hint = did_you_mean(unknown, found, f"shipped are {', '.join(found)}")
        raise UsageError(f"there is no file {unknown!r}, and no shipped model of that name has records; {hint}")
    if given:
        return [found.get(name, name) for name in given]
    if table == "ablation" and (SHIPPED / SEEDS).exists():
        return [str(SHIPPED / SEEDS)]
    theirs = other_records(BASELINES)
    return [*found.values(), *([str(theirs)] if table == "baselines" and theirs.exists() else [])]
