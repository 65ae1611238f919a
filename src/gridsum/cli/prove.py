"""`gridsum prove`: whether a model adds any number of terms of any length, checked by enumeration."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gridsum.api.loading import rule_model
from gridsum.cli.output import print_prose, print_text, tell, write_result
from gridsum.cli.parsing import Parser, UsageError, called_now
from gridsum.io.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from gridsum.automaton.proof import Proof
    from gridsum.automaton.table import RuleTable
    from gridsum.tasks import Alphabet

_SEARCHED = 20_000


def _parser() -> Parser:
    parser = Parser(
        "prove",
        "Check, by enumeration of every local context, that a learned rule adds any number of terms of any length. "
        "The checker knows addition; the network was never shown it. docs/proof.md gives the argument. "
        "The exit status is 1 where a condition fails.",
        "gridsum prove [--model MODEL | --table FILE] [--json] [--out FILE]",
        "examples:\n"
        "  gridsum prove\n"
        "  gridsum prove --model runs/exact/seed-3\n"
        "  gridsum prove --table rule.json --out proof.json",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--model", metavar="MODEL", help=f"a run of exact: its name, folder or file (default: {DEFAULT_MODEL})"
    )
    what.add_argument("--table", metavar="FILE", help="a rule that `gridsum rule --out` wrote")
    parser.add_argument("--json", action="store_true", help="print what was found as a JSON object")
    parser.add_argument("--out", metavar="FILE", help="also write that object to a file")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    from gridsum.automaton.proof import prove

    if options.table is not None:
        from gridsum.automaton.files import read_rule

        name, table = None, read_rule(options.table)
    else:
        name = called_now(options.model or DEFAULT_MODEL)
        table = rule_model(name).table
    if not table.task.adds:
        raise UsageError(
            f"what can be proved is that a rule adds, in any base; the task of {name or options.table} is "
            f"{table.task.name}. Measure it instead: gridsum evaluate --model {name or 'FOLDER'}"
        )
    proof = prove(table)
    network = {} if name is None or not proof.proved else _of_network(name, table)
    proved = proof.proved and all(part["different"] == 0 for part in network.values())
    wrong = None if proof.proved else counterexample(table)
    lines = [_line(proof), *(_network_line(precision, part) for precision, part in network.items())]
    lines += _theorem(table) if proved else _failure(proof, wrong)
    if not options.json:
        print_prose(lines)
    if options.json or options.out is not None:
        found = {"proved": proved, **_told(proof), "network": network}
        text = json.dumps(found, indent=2) + "\n"
        if options.json:
            print_text(text)
        if options.out is not None:
            write_result(options.out, text)
            tell(f"gridsum: wrote {options.out}")
    return 0 if proved else 1


def _of_network(name: str, table: "RuleTable") -> dict[str, dict[str, Any]]:
    """Whether the network itself does what the table says, in every entry and in two precisions."""
    from gridsum.automaton.rule import LearnedRule, agreement
    from gridsum.model.store import load_exact, locate

    network, _, _ = load_exact(locate(name)[0])
    single = agreement(LearnedRule(network), table)
    double = agreement(LearnedRule(network.double()), table)
    return {"float32": asdict(single), "float64": asdict(double)}


def _line(proof: "Proof") -> str:
    said = "every condition holds" if proof.proved else f"{len(proof.failures)} conditions fail"
    counts = f"{proof.contexts:,} contexts, {proof.evaluations:,} evaluations, {len(proof.codes)} codes"
    return f"The rule: {said} in {counts}."


def _network_line(precision: str, part: dict[str, Any]) -> str:
    if part["different"]:
        return (
            f"The network in {precision} differs from it in {part['different']:,} of its {part['entries']:,} entries."
        )
    return (
        f"The network in {precision} does the same in all {part['entries']:,} entries of the rule; "
        f"its nearest logit is {part['margin']:.2f} from 0."
    )


def _theorem(table: "RuleTable") -> list[str]:
    return [
        "",
        "Theorem. For any number of terms N of at most D digits, D any number, on a grid of N + 1 rows and as many "
        "columns as the sum needs, at least D + 2: from any state of its cells that is made of its codes, the rule "
        f"({len(table.codes)} codes of {table.bits} bits) comes to rest within 2 · rows · columns steps, and the top "
        f"row then reads as the sum in base {table.task.alphabet.base}, without leading zeros.",
        "",
        "Placement writes every digit, opens a row at every '+', and skips the rest. Rows come to rest from the lowest "
        "up; in a row digits and carries are right from right to left, then leading zeros from left to right.",
    ]


def _failure(proof: "Proof", wrong: tuple[str, ...] | None) -> list[str]:
    if proof.proved:
        return ["", "Not proved of the network: the rule is, but the network does not follow it."]
    lines = ["", "Not proved. The first conditions that fail:", *(f"  {failure}" for failure in proof.failures[:5])]
    if wrong is not None:
        return [*lines, f"A sum that it gets wrong: {'+'.join(wrong)}"]
    return [*lines, f"No wrong sum was found among {_SEARCHED:,} small ones."]


def _told(proof: "Proof") -> dict[str, Any]:
    return {
        "proved": proof.proved,
        "contexts": proof.contexts,
        "evaluations": proof.evaluations,
        "codes": len(proof.codes),
        "failures": [str(failure) for failure in proof.failures],
    }


def counterexample(table: "RuleTable") -> tuple[str, ...] | None:
    """A small sum that the rule gets wrong or cannot place, the shortest of those that are looked at."""
    from gridsum.automaton.run import solve
    from gridsum.automaton.table import TableError

    for terms in _small_sums(table.task.alphabet):
        try:
            if solve(table, terms).answer != table.task.answer(terms):
                return terms
        except TableError:
            return terms
    return None


def _small_sums(alphabet: "Alphabet") -> Iterator[tuple[str, ...]]:
    write, every = alphabet.write, alphabet.digits
    yield from ((write(a),) for a in range(100))
    yield from ((write(a), write(b)) for a in range(100) for b in range(0, 100, 3))
    chance = random.Random(0)
    for index in range(_SEARCHED):
        size = 2 + index // (_SEARCHED // 6)
        digits = chance.choice((every, every[0] + every[-1], every[:2] + every[-1], every[-2:]))
        yield tuple(
            "".join(chance.choice(digits) for _ in range(chance.randint(1, size)))
            for _ in range(chance.randint(1, size))
        )
