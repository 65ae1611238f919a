"""Show the rule that a network of bits has learned: what each state of a cell means, and what a cell becomes for every
symbol and every state around it. The meanings are those of its proof.

examples:
  gridsum rule
  gridsum rule --model runs/exact/seed-3 --out rule.json
  gridsum rule --table rule.json
  gridsum rule --task subtract
"""

import sys
from typing import TYPE_CHECKING

from gridsum.cli.options import Options, Parser
from gridsum.cli.output import print_text, tell, terminal_width, write_result
from gridsum.cli.prove import add_rule, rule_of

if TYPE_CHECKING:
    from gridsum.api.terminal import Line
    from gridsum.automaton.meaning import Meaning
    from gridsum.automaton.table import RuleTable

_DOES = ("written at the right end of the top row", "the start of a new top row", "skipped")
_SHOWN = 4
"""So many bit patterns of one meaning are shown."""


def add_options(parser: Parser) -> None:
    parser.option("--task TASK", "a hand-written rule, made from what the columns of a task do", add_rule(parser))
    parser.option("--json", "print the whole table as a JSON object")
    parser.option("--out FILE", "also write that object to a file")


def run(options: Options) -> int:
    if options.task is not None:
        from gridsum.automaton.construct import construct
        from gridsum.tasks import find

        name, table = f"{options.task}, by hand", construct(find(options.task))
    else:
        model = rule_of(options)
        name, table = model.name, model.table
    if options.out is not None:
        write_result(options.out, table.to_json() + "\n")
        tell(f"gridsum: wrote {options.out}")
    if options.json:
        print_text(table.to_json() + "\n")
    else:
        from gridsum.api.terminal import render
        from gridsum.automaton.meaning import meaning_of

        print_text(render(_described(name, table, meaning_of(table), terminal_width()), sys.stdout))
    return 0


def _described(name: str, table: "RuleTable", meaning: "Meaning", width: int | None) -> "list[Line]":
    """All that a person needs to see what the rule does, on a terminal of so many columns."""
    bits = [f"Bit {found.bit} is the carry ({found.on} is a carry)." for found in meaning.carry_bits]
    known = "column addition" if table.task.name.startswith("add") else f"what a column of {table.task.name} does"
    verdict: Line = [
        (f"This is {known}", "right"),
        (f" in all {len(meaning.cases)} cases. gridsum prove checks the rest.", ""),
    ]
    if meaning.wrong:
        verdict = [(f"This is not {known}", "wrong"), (f": {meaning.wrong} of {len(meaning.cases)} cases differ.", "")]
    return [
        [(f"The rule of {name}", "title")],
        [(f"{len(table.states)} states of {table.bits} bits. A cell sees its own symbol and the states of its", "")],
        [(f"left, right and lower neighbour, or the border: {table.steps.size:,} entries.", "")],
        [],
        [("Placement", "title")],
        *_placement(table),
        [],
        [("States", "title"), (f"   bits {table.bits - 1} … 0", "quiet")],
        *_states(table, meaning),
        [],
        *([(line, "changed")] for line in bits or ["No single bit is the carry: several bits together tell it."]),
        [],
        [("A column", "title"), ("   own digit ↓, digit below →; a 1 before the digit is a carry", "quiet")],
        *_columns(meaning, "left" if table.task.row and table.task.row.rightward else "right", width),
        [],
        verdict,
    ]


def _placement(table: "RuleTable") -> "list[Line]":
    from gridsum.tasks import PAD

    symbols, digits = table.task.alphabet.symbols, table.task.alphabet.digits
    placed = [
        "".join(symbols[code] for code, done in enumerate(table.actions) if done == action and code != PAD)
        for action in range(len(_DOES))
    ]
    shown = [text.replace(digits, f"{digits[0]} … {digits[-1]}") for text in placed]
    return [[(f"  {text:<12}", "answer"), (does, "")] for text, does in zip(shown, _DOES, strict=True) if text]


def _states(table: "RuleTable", meaning: "Meaning") -> "list[Line]":
    """The bit patterns of every meaning; of a digit without a carry, then with one."""
    found: dict[str, tuple[list[str], list[str]]] = {letter: ([], []) for letter in table.task.alphabet.digits}
    for state in meaning.states:
        name, carry = (state.meaning, 0) if state.value is None else (table.text(state.number), state.value.carry)
        found.setdefault(name, ([], []))[carry].append(f"{state.pattern:0{table.bits}b}")
    told = {name: [" ".join(patterns[:_SHOWN]) for patterns in both] for name, both in found.items()}
    width = max(len("no carry"), *(len(plain) for plain, _ in told.values())) + 3
    names = max(14, *map(len, told)) + 2
    rows = [
        [(f"  {name:<{names}}", "answer"), (f"{plain:<{width}}{carry}", "")] for name, (plain, carry) in told.items()
    ]
    return [[(f"  {'digit':<{names}}{'no carry':<{width}}carry", "quiet")], *rows]


def _columns(meaning: "Meaning", side: str, width: int | None) -> "list[Line]":
    """What a column becomes, without and with a carry from a side: beside each other where there is room."""
    plain, carried = (_column(meaning, side, carry) for carry in (0, 1))
    apart = max(map(len, plain)) + 6
    if width is not None and 2 + apart + max(map(len, carried)) > width:
        return [[(f"  {line}", "")] for line in (*plain, "", *carried)]
    return [[(f"  {left:<{apart}}{right}", "")] for left, right in zip(plain, carried, strict=True)]


def _column(meaning: "Meaning", side: str, carry: int) -> list[str]:
    from gridsum.tasks.alphabet import LETTERS

    def cell(own: int, below: int) -> str:
        found = meaning.sums.get((own, below, carry), set())
        values = [
            (LETTERS[value.carry] if value.carry else "") + LETTERS[value.digit % meaning.base] for value in found
        ]
        return f"{values[0] if len(values) == 1 else '?':>3}"

    digits = range(meaning.base)
    return [
        f"   {'a carry' if carry else 'no carry'} from the {side}",
        "   " + "".join(f"{LETTERS[digit]:>3}" for digit in digits),
        *(f"{LETTERS[own]:<3}" + "".join(cell(own, below) for below in digits) for own in digits),
    ]
