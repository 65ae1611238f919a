"""`gridsum table`: the paper's tables from records."""

from collections.abc import Sequence

from gridsum.cli.output import STANDARD, check_writable, emit, write_result
from gridsum.cli.parsing import Parser, UsageError, one_of, suggest

TABLES = {
    "comparison": "more digits and more terms than in training (Table III)",
    "long-digits": "two terms of up to 4000 digits (Table IV, left)",
    "long-terms": "5 to 10 terms of 5 digits (Table IV, right)",
    "examples": "the eight worked examples, answer by answer (Table V)",
    "ablation": "the variants, mean and spread over training seeds (Table VI)",
    "exact": "how far the variant exact reaches, beside what it is meant to",
    "exact-ablation": "what each ingredient of exact buys, dropped one at a time",
    "scores": "every record: accuracies, intervals and steps",
}
FORMATS = ("text", "markdown", "latex")


def _parser() -> Parser:
    width = max(map(len, TABLES)) + 2
    tables = "\n".join(f"  {name:<{width}}{what}" for name, what in TABLES.items())
    parser = Parser(
        "table",
        "Print a table made of the records that gridsum evaluate kept, in the paper's order and with the "
        "paper's numbers beside ours. Without NAME, list the tables.",
        "gridsum table [NAME] [--records FILE...] [options]",
        f"tables:\n{tables}\n\n"
        "examples:\n"
        "  gridsum table\n"
        "  gridsum table comparison --records records.jsonl\n"
        "  gridsum table ablation --records base.jsonl sasa.jsonl --format latex",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="which table")
    parser.add_argument(
        "--records",
        nargs="+",
        action="extend",
        metavar="FILE",
        help="files of records; of several records for one line the last counts (default: those of the "
        "models that come with gridsum)",
    )
    parser.add_argument(
        "--format",
        type=one_of("format", FORMATS, {"md": "markdown", "tex": "latex", "txt": "text"}),
        default="text",
        metavar="FORMAT",
        help=f"one of {', '.join(FORMATS)} (default: text)",
    )
    parser.add_argument(
        "--out", default=STANDARD, metavar="FILE", help="write to a file (default: - for standard output)"
    )
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    if options.name is None:
        if options.records:
            raise UsageError(f"which table? Name one of: {', '.join(TABLES)}")
        width = max(map(len, TABLES)) + 2
        for name, what in TABLES.items():
            emit(f"{name:<{width}}{what}")
        return 0
    if options.name not in TABLES:
        mend = suggest(options.name, TABLES, f"the tables are {', '.join(TABLES)}")
        raise UsageError(f"there is no table {options.name!r}; {mend}")
    if options.out != STANDARD:
        check_writable(options.out)

    from gridsum.evaluation import rendering, tables
    from gridsum.evaluation.records import read

    records = read(options.records or shipped_records())
    render = {"text": rendering.to_text, "markdown": rendering.to_markdown, "latex": rendering.to_latex}
    write_result(options.out, render[options.format](tables.TABLES[options.name](records)))
    return 0


def shipped_records() -> list[str]:
    """The files of records that come with the package."""
    from gridsum.store import shipped
    from gridsum.store import shipped_records as records_of

    paths = [str(records_of(name)) for name in shipped() if records_of(name).exists()]
    if not paths:
        raise UsageError("no records come with this gridsum; give some with --records FILE")
    return paths
