"""`gridsum table`: the paper's tables from records."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from gridsum.cli.options import File, Records, UsageError, Value, columns, option, several
from gridsum.cli.output import STANDARD, check_writable, emit, terminal_width, write_result
from gridsum.io.names import did_you_mean

# These stand here too, to be told without loading what makes them.
TABLES = {
    "comparison": "more digits and more terms than in training (Table III)",
    "long-digits": "two terms of up to 4000 digits (Table IV, left)",
    "long-terms": "5 to 10 terms of 5 digits (Table IV, right)",
    "examples": "the eight worked examples, answer by answer (Table V)",
    "ablation": "the variants, mean and spread over training seeds (Table VI)",
    "scores": "every record: accuracies, intervals and steps",
    "baselines": "baselines side by side: median, best and every training seed",
}
Format = Literal["text", "markdown"]
RECORDS_BY_DEFAULT = "those of the shipped models"


@dataclass(frozen=True, kw_only=True)
class Options:
    """Print a table made of the records that gridsum evaluate kept, in the paper's order and with the paper's numbers
    beside ours. Without NAME, list the tables.

    examples:
      gridsum table
      gridsum table comparison --records records.jsonl
      gridsum table examples --records base noGroups
      gridsum table ablation --records base.jsonl sasa.jsonl --format markdown
    """

    lists: ClassVar = {"tables": TABLES}
    name: Annotated[str | None, Value("NAME")] = option("which table", argument=True)
    records: tuple[Records, ...] = several(
        "files of records, or names of shipped models for theirs; of several records for one line the last counts "
        f"(default: {RECORDS_BY_DEFAULT}; for ablation, of all seeds of each variant; for baselines, theirs too)"
    )
    format: Format = option("how it is written", "text")
    out: File = option("write to a file (default: - for standard output)", STANDARD)


def run(options: Options) -> int:
    if options.name is None:
        if options.records:
            raise UsageError(f"which table? Name one of: {', '.join(TABLES)}")
        emit(columns(TABLES, 0, terminal_width()))
        return 0
    if options.name not in TABLES:
        hint = did_you_mean(options.name, TABLES, f"the tables are {', '.join(TABLES)}")
        raise UsageError(f"unknown table {options.name!r}; {hint}")
    if options.out != STANDARD:
        check_writable(options.out)

    from gridsum.evaluation import tables
    from gridsum.evaluation.records import read
    from gridsum.evaluation.rendering import to_markdown, to_text

    table = tables.TABLES[options.name](read(record_files(options.records, options.name)))
    width = terminal_width() if options.out == STANDARD else None
    write_result(options.out, to_markdown(table) if options.format == "markdown" else to_text(table, width))
    return 0


def record_files(given: Sequence[str], table: str = "") -> list[str]:
    """The files that records are read from: those given, by path or by the name of a shipped model."""
    from gridsum.model.store import SEEDS, SHIPPED, baseline_records, shipped, shipped_records

    found = {name: str(shipped_records(name)) for name in shipped() if shipped_records(name).exists()}
    if given:
        unknown = next((name for name in given if name not in found and not Path(name).suffix), None)
        if unknown is not None and not Path(unknown).exists():
            hint = did_you_mean(unknown, found, f"shipped are {', '.join(found) or 'none'}")
            raise UsageError(f"there is no file {unknown!r}, and no shipped model of that name has records; {hint}")
        return [found.get(name, name) for name in given]
    if table == "ablation" and (SHIPPED / SEEDS).exists():
        return [str(SHIPPED / SEEDS)]
    usual, theirs = list(found.values()), baseline_records()
    if table == "baselines" and theirs is not None:
        usual.append(str(theirs))
    if not usual:
        raise UsageError("no records come with this gridsum; give some with --records FILE")
    return usual
