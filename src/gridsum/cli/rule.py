"""`gridsum rule`: the rule that a network has learned, as a table that a person can read."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gridsum.cli.options import File, ModelName, flag, option
from gridsum.cli.output import print_text, tell, terminal_width, write_result
from gridsum.cli.prove import rule_of
from gridsum.io.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from gridsum.api.terminal import Line
    from gridsum.automaton.meaning import Meaning
    from gridsum.automaton.table import RuleTable

_DOES = ("written at the right end of the top row", "the start of a new top row", "skipped")
_SHOWN = 4
"""So many bit patterns of one meaning are shown."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Show the rule that a network of bits has learned: what each state of a cell means, and what a cell becomes for
    every symbol and every state around it. The meanings are those of its proof.

    examples:
      gridsum rule
      gridsum rule --model runs/exact/seed-3 --out rule.json
      gridsum rule --table rule.json
      gridsum rule --task subtract
    """

    model: ModelName | None = option(
        f"a shipped model's name, the folder of one trained seed, or a weights file (default: {DEFAULT_MODEL})",
        instead_of="table",
    )
    table: File | None = option("a rule that --out wrote", instead_of="table")
    task: str | None = option("a rule made by hand, from what the columns of a task do", instead_of="table")
    json: bool = flag("print the whole table as a JSON object")
    out: File | None = option("also write that object to a file")


def run(options: Options) -> int:
    if options.task is not None:
        from gridsum.automaton.construct import construct
        from gridsum.tasks import find

        name, table = f"{options.task}, by hand", construct(find(options.task))
    else:
        name, table = rule_of(options.model, options.table)
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
        (f"This is not {known}", "wrong"),
        (f": {meaning.wrong} of {len(meaning.cases)} cases differ.", ""),
    ]
    if not meaning.wrong:
        verdict = [
            (f"This is {known}", "right"),
            (f" in all {len(meaning.cases)} cases. gridsum prove checks the rest.", ""),
        ]
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
        *_columns(meaning, width),
        [],
        verdict,
    ]


def _placement(table: "RuleTable") -> "list[Line]":
    from gridsum.tasks import PAD

    symbols, digits = table.task.alphabet.symbols, table.task.alphabet.digits
    lines: list[Line] = []
    for action, does in enumerate(_DOES):
        placed = "".join(symbols[code] for code, done in enumerate(table.actions) if done == action and code != PAD)
        if placed:
            shown = placed.replace(digits, f"{digits[0]} … {digits[-1]}")
            lines.append([(f"  {shown:<12}", "answer"), (does, "")])
    return lines


def _states(table: "RuleTable", meaning: "Meaning") -> "list[Line]":
    """The bit patterns of every meaning; of a digit without a carry, then with one."""
    found: dict[str, tuple[list[str], list[str]]] = {letter: ([], []) for letter in table.task.alphabet.digits}
    for state in meaning.states:
        name, carry = (state.meaning, 0) if state.value is None else (table.text(state.number), state.value.carry)
        found.setdefault(name, ([], []))[carry].append(f"{state.pattern:0{table.bits}b}")
    told = {name: [" ".join(patterns[:_SHOWN]) for patterns in both] for name, both in found.items()}
    width = max(len("no carry"), *(len(plain) for plain, _ in told.values())) + 3
    title: Line = [(f"  {'digit':<16}{'no carry':<{width}}carry", "quiet")]
    return [
        title,
        *([(f"  {name:<16}", "answer"), (f"{plain:<{width}}{carried}", "")] for name, (plain, carried) in told.items()),
    ]


def _columns(meaning: "Meaning", width: int | None) -> "list[Line]":
    """What a column becomes, without and with a carry: side by side where there is room."""
    plain, carried = (_column(meaning, carry) for carry in (0, 1))
    wide = 3 * meaning.base + 3
    apart = max(wide, 23) + 6
    if width is not None and 2 + apart + wide > width:
        return [[("  ", ""), *line] if line else [] for line in (*plain, [], *carried)]

    def beside(left: "Line", right: "Line") -> "Line":
        return [("  ", ""), *left, (" " * (apart - sum(len(text) for text, _ in left)), ""), *right]

    return [beside(left, right) for left, right in zip(plain, carried, strict=True)]


def _column(meaning: "Meaning", carry: int) -> "list[Line]":
    from gridsum.tasks.alphabet import LETTERS

    def cell(x: int, below: int) -> str:
        found = meaning.sums.get((x, below, carry), set())
        if len(found) != 1:
            return "  ?"
        (value,) = found
        return f"{(LETTERS[value.carry] if value.carry else '') + LETTERS[value.digit % meaning.base]:>3}"

    digits = LETTERS[: meaning.base]
    return [
        [(f"{'':3}{'a carry' if carry else 'no carry'} from the right", "")],
        [(f"{'':3}" + "".join(f"{digit:>3}" for digit in digits), "quiet")],
        *(
            [(f"{own:<3}", "quiet"), ("".join(cell(x, below) for below in range(meaning.base)), "")]
            for x, own in enumerate(digits)
        ),
    ]
