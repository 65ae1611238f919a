"""`gridsum rule`: the rule that a network has learned, as a table that a person can read."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gridsum.cli.output import check_writable, print_text, tell, terminal_width, write_result
from gridsum.cli.parsing import Parser, UsageError, called_now
from gridsum.io.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from gridsum.api.terminal import Line
    from gridsum.automaton.meaning import Code, Meaning, Sum
    from gridsum.automaton.table import RuleTable

_DOES = ("written at the right end of the top row", "the start of a new top row", "skipped")
_SHOWN = 4
"""So many bit patterns of one meaning stand on a line."""


def _parser() -> Parser:
    parser = Parser(
        "rule",
        "Show the rule that a network of bits has learned: what each code of a cell means, and what a cell "
        "becomes for every symbol and every code around it. The meanings are found out from what the rule "
        "does with sums.",
        "gridsum rule [--model MODEL | --table FILE] [--json] [--out FILE]",
        "examples:\n"
        "  gridsum rule\n"
        "  gridsum rule --out rule.svg\n"
        "  gridsum rule --model runs/exact/seed-3 --out rule.json\n"
        "  gridsum rule --table rule.json",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--model",
        metavar="MODEL",
        help=f"a shipped model's name, the folder of one trained seed, or a weights file (default: {DEFAULT_MODEL})",
    )
    source.add_argument("--table", metavar="FILE", help="a rule that --out FILE.json wrote")
    parser.add_argument("--json", action="store_true", help="print the whole table as a JSON object")
    parser.add_argument(
        "--out", metavar="FILE", help="write the table, if the name ends in .json; draw it, if in .svg, .png or .pdf"
    )
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    as_table = options.out is not None and options.out.lower().endswith(".json")
    drawing = None if options.out is None or as_table else _drawing(options.out)
    if options.out is not None:
        check_writable(options.out)
    name, table = _find(options)
    if options.out is not None and as_table:
        write_result(options.out, table.to_json() + "\n")
    if options.json:
        print_text(table.to_json() + "\n")
    if drawing is not None or not options.json:
        from gridsum.api.terminal import render
        from gridsum.automaton.meaning import meaning_of

        meaning = meaning_of(table)
        if not options.json:
            print_text(render(describe(name, table, meaning, terminal_width()), sys.stdout))
        if drawing is not None:
            drawing(table, meaning)
    if options.out is not None:
        tell(f"gridsum: wrote {options.out}")
    return 0


def _drawing(name: str) -> "Callable[[RuleTable, Meaning], None]":
    """What draws the picture into a file, if what it needs is installed."""
    try:
        from gridsum.figures.rule import plot_rule
        from gridsum.figures.style import check_format, to_bytes
    except ImportError as error:
        raise UsageError(str(error)) from None
    suffix = check_format(name)
    return lambda table, meaning: write_result(name, to_bytes(plot_rule(table, meaning), suffix))


def _find(options: Any) -> "tuple[str, RuleTable]":
    from gridsum.automaton.files import read_rule

    if options.table is not None:
        return options.table, read_rule(options.table)
    name = called_now(options.model or DEFAULT_MODEL)
    from gridsum.api.loading import rule_model

    return name, rule_model(name).table


def describe(name: str, table: "RuleTable", meaning: "Meaning", width: int | None = None) -> "list[Line]":
    """All that a person needs to see what the rule does, on a terminal of so many columns."""
    seen = f"{meaning.windows:,} of them seen at rest in {meaning.sums_shown} sums"
    return [
        [(f"The rule of {name}", "title")],
        [(f"{len(table.codes)} codes of {table.bits} bits. A cell sees its own symbol and the codes of its left,", "")],
        [(f"right and lower neighbour, or the border: {table.steps.size:,} contexts,", "")],
        [(f"{seen}.", "")],
        [],
        [("Placement", "title")],
        *_placement(table),
        [],
        [
            ("Codes", "title"),
            (f"   bits {table.bits - 1} … 0", "quiet"),
        ],
        *_codes(table, meaning),
        [],
        *_carry(meaning),
        [],
        [("A column", "title"), ("   own digit ↓ + digit below →; a 1 before the digit is a carry", "quiet")],
        *_columns(meaning, width),
        [],
        *_verdict(meaning),
    ]


def _placement(table: "RuleTable") -> "list[Line]":
    from gridsum.tasks import PAD

    alphabet = table.task.alphabet
    by_action: dict[int, list[str]] = {}
    for symbol, action in enumerate(table.actions):
        if symbol != PAD:
            by_action.setdefault(action, []).append(alphabet.symbols[symbol])
    return [
        [(f"  {_listed(symbols, alphabet.digits):<12}", "answer"), (_DOES[action], "")]
        for action, symbols in sorted(by_action.items())
    ]


def _listed(symbols: list[str], digits: str) -> str:
    found = [symbol for symbol in symbols if symbol in digits]
    if len(found) == len(digits) > 2:
        return " ".join([f"{digits[0]} … {digits[-1]}", *(symbol for symbol in symbols if symbol not in digits)])
    return " ".join(symbols)


def _codes(table: "RuleTable", meaning: "Meaning") -> "list[Line]":
    def patterns(codes: "list[Code]") -> str:
        shown = [f"{code.pattern:0{table.bits}b}" for code in codes[:_SHOWN]]
        return " ".join(shown) + (f" and {len(codes) - _SHOWN} more" if len(codes) > _SHOWN else "") or "none"

    def of(digit: int, carry: int) -> str:
        return patterns([code for code in meaning.codes if code.value == (digit, carry)])

    width = max(len("no carry"), *(len(of(digit, 0)) for digit in range(meaning.base))) + 3
    lines: list[Line] = [[(f"  {'digit':<12}{'no carry':<{width}}carry", "quiet")]]
    lines += [
        [(f"  {letter:<12}", "answer"), (f"{of(digit, 0):<{width}}{of(digit, 1)}", "")]
        for digit, letter in enumerate(table.task.alphabet.digits)
    ]
    others: dict[str, list[Code]] = {}
    for code in meaning.codes:
        if code.value is None:
            others.setdefault(code.meaning, []).append(code)
    return lines + [[(f"  {name:<12}", "answer"), (patterns(codes), "")] for name, codes in others.items()]


def _carry(meaning: "Meaning") -> "list[Line]":
    if not meaning.carry_bits:
        return [[("No single bit is the carry: several bits together tell it.", "")]]
    lines: list[Line] = []
    for found in meaning.carry_bits:
        alone = ": the two codes of a digit differ in it alone" if found.alone else ""
        lines.append([(f"Bit {found.bit} is the carry", "changed"), (f" ({found.on} is a carry){alone}.", "")])
    return lines


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
    from gridsum.automaton.meaning import Sum

    def cell(x: int, below: int) -> str:
        found = meaning.sums.get((x, below, carry), frozenset())
        return _written(min(found), meaning.base) if len(found) == 1 else "?"

    def row(cells: Sequence[str]) -> str:
        return "".join(f"{text:>3}" for text in cells)

    digits = [_written(Sum(digit, 0), meaning.base) for digit in range(meaning.base)]
    lines: list[Line] = [
        [(f"{'':3}{'a carry' if carry else 'no carry'} from the right", "")],
        [(f"{'':3}{row(digits)}", "quiet")],
    ]
    for x, own in enumerate(digits):
        lines.append([(f"{own:<3}", "quiet"), (row([cell(x, below) for below in range(meaning.base)]), "")])
    return lines


def _written(value: "Sum", base: int) -> str:
    """A digit, behind a 1 where there is a carry."""
    from gridsum.tasks.alphabet import LETTERS

    return (LETTERS[value.carry] if value.carry else "") + LETTERS[value.digit % base]


def _verdict(meaning: "Meaning") -> "list[Line]":
    lines: list[Line] = []
    if meaning.is_addition:
        zeros = "; a + and an empty cell count as 0" if meaning.others_are_zero else ""
        lines.append([("This is column addition", "right"), (f" in all {len(meaning.cases)} cases{zeros}.", "")])
        lines.append([("So it was seen in sums. gridsum prove checks it for all of them.", "quiet")])
    else:
        lines.append(
            [("This is not column addition", "wrong"), (f": {meaning.wrong} of {len(meaning.cases)} cases differ.", "")]
        )
    if meaning.restless:
        lines.append([(f"{meaning.restless} of {meaning.sums_shown} sums never came to rest.", "wrong")])
    return lines
