"""Measure models on suites of problems and print how often they are right. With --out, a record for every seed and
suite is added to a file, from which gridsum table makes the paper's tables.

examples:
  gridsum evaluate --model base --suite 2x100 '[5,6]x[1,10]' --samples 1000
  gridsum evaluate --model runs/base runs/SASA --suite ablation --out my.jsonl
  gridsum evaluate --model exact --suite structured
"""

from gridsum.cli.options import Options, Parser, add_device, add_rules, whole_number
from gridsum.cli.output import check_writable, kept_if_stopped, print_text, tell
from gridsum.io.names import DEFAULT_MODEL

# These stand here too, to be told without torch.
SUITES = {
    "2x602": "a problem set, terms x digits; ranges as in '[1,4]x[1,10]'",
    "comparison": "Table III of the paper",
    "long-digits": "Table IV, left",
    "long-terms": "Table IV, right",
    "examples": "Table V",
    "ablation": "Table VI",
    "all": "these together",
    "terms": "1x5 to 10x5, for the figure of that name",
    "validation": "for choosing among models; no table reports it",
    "structured": "nines, broken carries, and carries through 1 to 10 columns",
}
FAMILIES = {
    "nines+1": "9…9 + 1, in either order: one carry through all columns",
    "0+nines": "0 + 9…9, in either order: no carry at all",
    "broken": "columns that hand a carry on, broken at random places",
    "carry-1": "one carry through so many columns, from carry-1 to carry-10",
}


def add_options(parser: Parser) -> None:
    families = "families, such as nines+1:2x100, for problems that random digits hardly make"
    parser.explain({"suites": SUITES, families: FAMILIES})
    parser.option(
        "--model MODEL...",
        "shipped models, weights files or folders; a training folder means all its seeds, which are measured together "
        f"(default: {DEFAULT_MODEL}). A function of yours is measured in Python: gridsum.evaluate(function, '2x100')",
    )
    parser.option("--suite SUITE...", "what to measure on (default: comparison)")
    told = "problems per suite (default: 640, or 128 where terms have 1000 digits or more)"
    parser.option("--samples N", told, type=whole_number(1, 10**9))
    parser.option("--out FILE", "add the records to this file; without it they are only printed")
    parser.option(
        "--grids every|published",
        "which grids networks get. every: all sizes that training draws from, equally often; published: the five of "
        "the published test code",
        default="every",
    )
    add_rules(parser, "random seed for problems, grid sizes and halting")
    add_device(parser)


def run(options: Options) -> None:
    if options.out is not None:
        check_writable(options.out)
    from gridsum.api.scores import evaluate

    names = ("samples", "seed", "halting", "placement", "grids", "device", "out")
    how = {name: getattr(options, name) for name in names}
    with kept_if_stopped(lambda: f"; what was done is kept in {options.out}" if options.out else ""):
        scores = evaluate(options.model or [DEFAULT_MODEL], options.suite or "comparison", **how)
    print_text(str(scores))
    count = f"{len(scores)} record{'' if len(scores) == 1 else 's'}"
    kept = f"added {count} to {options.out}" if options.out else "nothing was kept; add --out FILE to keep the records"
    tell(f"gridsum: {kept}")
