"""`gridsum prove`: whether a model adds any number of terms of any length, checked by enumeration."""

import json
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gridsum.cli.output import print_text, tell, write_result
from gridsum.cli.parsing import Parser, called_now
from gridsum.cli.rule import table_of_model
from gridsum.names import DEFAULT_MODEL
from gridsum.symbols import exact_sum, render

if TYPE_CHECKING:
    from gridsum.automaton.proof import Proof
    from gridsum.automaton.table import RuleTable

_SEARCHED = 20_000


def _parser() -> Parser:
    parser = Parser(
        "prove",
        "Check, by enumeration of every local context, that a learned rule adds any number of terms of any length. "
        "The checker knows addition; the network was never shown it. docs/proof.md gives the argument. "
        "The exit status is 1 where a condition fails.",
        "gridsum prove [--model MODEL | --table FILE] [--json FILE]",
        "examples:\n"
        "  gridsum prove\n"
        "  gridsum prove --model runs/exact/seed-3\n"
        "  gridsum prove --table rule.json --json proof.json",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--model", metavar="MODEL", help=f"a run of exact: its name, folder or file ({DEFAULT_MODEL})")
    what.add_argument("--table", metavar="FILE", help="a rule that `gridsum rule --json` wrote")
    parser.add_argument("--json", metavar="FILE", help="also write what was found as JSON; - is standard output")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    found: dict[str, Any] = {}
    if options.table is not None:
        from gridsum.automaton.files import read_rule

        table, proofs = read_rule(options.table), {}
    else:
        name = called_now(options.model or DEFAULT_MODEL)
        table = table_of_model(name)
        proofs = _of_network(name, found)
    from gridsum.automaton.proof import TableSteps, prove

    proofs = {"the table that solves": prove(TableSteps(table)), **proofs}
    proved = all(proof.proved for proof in proofs.values())
    wrong = None if proved else counterexample(table)
    lines = [_line(name, proof) for name, proof in proofs.items()]
    if "margin" in found:
        lines.append(f"Every logit is at least {found['margin']:.2f} away from 0, in either precision.")
    lines += _theorem(table) if proved else _failure(proofs, wrong)
    if options.json != "-":
        print_text("\n".join(lines) + "\n")
    if options.json is not None:
        told = {name: _told(proof) for name, proof in proofs.items()}
        write_result(options.json, json.dumps({"proved": proved, **found, "proofs": told}, indent=2) + "\n")
        if options.json != "-":
            tell(f"gridsum: wrote {options.json}")
    return 0 if proved else 1


def _of_network(name: str, found: dict[str, Any]) -> "dict[str, Proof]":
    """The same of the network itself, with every bit pattern as left neighbour, in two precisions."""
    from gridsum.automaton.proof import prove
    from gridsum.automaton.rule import LearnedRule, NetworkSteps
    from gridsum.store import load_exact, locate

    network, _, _ = load_exact(locate(name)[0])
    single = NetworkSteps(LearnedRule(network))
    proofs = {"the network in float32": prove(single)}
    double = NetworkSteps(LearnedRule(network.double()))
    proofs["the network in float64"] = prove(double)
    found["margin"] = min(single.margin, double.margin)
    return proofs


def _line(name: str, proof: "Proof") -> str:
    said = "every condition holds" if proof.proved else f"{len(proof.failures)} conditions fail"
    counts = f"{proof.contexts:,} contexts, {proof.evaluations:,} evaluations, {len(proof.codes)} codes"
    return f"{name}: {said} in {counts}"


def _theorem(table: "RuleTable") -> list[str]:
    return [
        "",
        "Theorem. For any number of terms N and any number of digits, on a grid of N + 1 rows and enough columns,",
        f"from any state of its cells, the rule ({len(table.codes)} codes of {table.bits} bits) comes to rest, and",
        "the top row then reads as the sum, without leading zeros. It takes at most 2 · rows · columns steps.",
        "",
        "Placement writes every digit, opens a row at every '+', and skips the rest. Rows come to rest from the lowest",
        "up; in a row digits and carries are right from right to left, then leading zeros from left to right.",
    ]


def _failure(proofs: "dict[str, Proof]", wrong: tuple[str, ...] | None) -> list[str]:
    failures = next(proof.failures for proof in proofs.values() if not proof.proved)
    lines = ["", "Not proved. The first conditions that fail:", *(f"  {failure}" for failure in failures[:5])]
    if wrong is not None:
        return [*lines, f"A sum that it gets wrong: {render(wrong).removesuffix('=')}"]
    return [*lines, f"No wrong sum was found among {_SEARCHED:,} small ones."]


def _told(proof: "Proof") -> dict[str, Any]:
    return {
        "proved": proof.proved,
        "contexts": proof.contexts,
        "evaluations": proof.evaluations,
        "codes": proof.codes,
        "failures": [str(failure) for failure in proof.failures],
    }


def counterexample(table: "RuleTable") -> tuple[str, ...] | None:
    """A small sum that the rule gets wrong or cannot place, the shortest of those that are looked at."""
    from gridsum.automaton.run import solve
    from gridsum.automaton.table import TableError

    for terms in _small_sums():
        try:
            if solve(table, terms).answer != exact_sum(terms):
                return terms
        except TableError:
            return terms
    return None


def _small_sums() -> Iterator[tuple[str, ...]]:
    yield from ((str(a),) for a in range(100))
    yield from ((str(a), str(b)) for a in range(100) for b in range(0, 100, 3))
    chance = random.Random(0)
    for index in range(_SEARCHED):
        size = 2 + index // (_SEARCHED // 6)
        digits = chance.choice(("0123456789", "09", "019", "89"))
        yield tuple(
            "".join(chance.choice(digits) for _ in range(chance.randint(1, size)))
            for _ in range(chance.randint(1, size))
        )
