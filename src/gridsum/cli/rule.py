"""Show the rule that a network of bits has learned: what each state of a cell means, and what a column becomes. The
meanings are those of its proof. With --task, show what cells of this kind can do at all: a rule by hand.

examples:
  gridsum rule
  gridsum rule --model runs/exact/seed-3
  gridsum rule --task subtract 900-1-23 --out subtract.svg
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gridsum.api.loading import rule_model
from gridsum.cli.options import Options, Parser, add_model
from gridsum.cli.output import print_prose, tell
from gridsum.tasks import PAD, find

if TYPE_CHECKING:
    from gridsum.automaton.meaning import Meaning, Sum
    from gridsum.automaton.table import RuleTable

_DOES = ("written at the right end of the top row", "the start of a new top row", "skipped")


def add_options(parser: Parser) -> None:
    parser.add_argument("expression", nargs="?", metavar="EXPR", help="a problem for the picture")
    source = parser.add_mutually_exclusive_group()
    add_model(parser, within=source)
    parser.option("--task TASK", "a rule by hand, made from what the columns of a task do", source)
    parser.option("--out FILE", "also draw a picture; its name ends in .svg, .png or .pdf (gridsum export writes JSON)")


def run(options: Options) -> None:
    if options.task is not None:
        from gridsum.automaton.construct import construct

        name, table = f"{options.task}, by hand", construct(find(options.task))
    else:
        model = rule_model(options.model)
        name, table = model.name, model.table
    if options.out is not None:
        from gridsum.figures.rule import plot_rule
        from gridsum.figures.style import save

        save(plot_rule(table, table.task.parse(options.expression or table.task.problem)), options.out)
        tell(f"gridsum: wrote {options.out}")
    from gridsum.automaton.meaning import meaning_of

    print_prose([*_described(name, table, meaning_of(table))])


def _described(name: str, table: "RuleTable", meaning: "Meaning") -> Iterator[str]:
    yield f"The rule of {name}"
    yield f"{len(table.states)} states of {table.bits} bits. A cell sees its own symbol and the states of its"
    yield f"left, right and lower neighbour, or the border: {table.steps.size:,} entries."
    yield from ("", "Placement", *_placement(table), "", f"States   bits {table.bits - 1} … 0")
    patterns: dict[str, list[str]] = {}
    for state in meaning.states:
        patterns.setdefault(state.meaning, []).append(f"{state.pattern:0{table.bits}b}")
    wide = max(map(len, patterns)) + 3
    yield from (f"  {told:<{wide}}{' '.join(found)}" for told, found in sorted(patterns.items()))
    yield from (f"Bit {bit} is the carry ({on} is a carry)." for bit, on in meaning.carry_bits.items())
    for heading, rows in meaning.columns():
        yield from ("", f"A column   own digit ↓, digit or blank below →; {heading}", *_column(table, meaning, rows))
    known = "column addition" if table.task.name.startswith("add") else f"what a column of {table.task.name} does"
    cases, wrong = len(meaning.cases), meaning.wrong
    right = f"This is {known} in all {cases} cases. gridsum prove checks the rest."
    yield from ("", f"This is not {known}: {wrong} of {cases} cases differ." if wrong else right)


def _placement(table: "RuleTable") -> list[str]:
    symbols, digits = table.task.alphabet.symbols, table.task.alphabet.digits
    placed = [
        "".join(symbols[code] for code, done in enumerate(table.actions) if done == action and code != PAD)
        for action in range(len(_DOES))
    ]
    shown = [text.replace(digits, f"{digits[0]} … {digits[-1]}") for text in placed]
    return [f"  {text:<12}{does}" for text, does in zip(shown, _DOES, strict=True) if text]


def _column(table: "RuleTable", meaning: "Meaning", rows: "dict[str, list[set[Sum]]]") -> list[str]:
    """A carry stands before its digit."""
    letters, row = table.task.alphabet.digits, meaning.check.rule.row

    def cell(values: "set[Sum]") -> str:
        named = [("" if carry == row.nothing else row.name(carry), letters[digit]) for digit, carry in values]
        told = [name + " " * (len(name) > 1) + letter for name, letter in named]
        return told[0] if len(told) == 1 else "?" * bool(told)

    lines = [("", "·", *letters), *((name, *map(cell, cells)) for name, cells in rows.items())]
    wide = max(len(text) for line in lines for text in line) + 2
    return ["  " + "".join(f"{text:>{wide}}" for text in line) for line in lines]
