"""`gridsum prove`: whether a model is right for any number of terms of any length, checked by enumeration."""

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gridsum.api.loading import rule_model
from gridsum.cli.options import File, ModelName, UsageError, flag, option
from gridsum.cli.output import print_prose, print_text, tell, write_result
from gridsum.io.names import DEFAULT_MODEL

if TYPE_CHECKING:
    from gridsum.automaton.proof import Certificate, Proof
    from gridsum.automaton.table import RuleTable
    from gridsum.tasks import Alphabet

_SEARCHED = 20_000


@dataclass(frozen=True, kw_only=True)
class Options:
    """Check, by enumeration of every local context, that a learned rule is right for any number of terms of any length.
    The checker knows what the task's columns do; the network was never shown it. docs/proof.md gives the argument. The
    exit status is 1 where a condition fails. With --certify the proof assistant Coq checks all of it: the argument, and
    the rule.

    examples:
      gridsum prove
      gridsum prove --certify
      gridsum prove --model runs/exact/seed-3
      gridsum prove --table rule.json --out proof.json
    """

    model: ModelName | None = option(
        f"a run of exact: its name, folder or file (default: {DEFAULT_MODEL})", instead_of="table"
    )
    table: File | None = option("a rule that `gridsum rule --out` wrote", instead_of="table")
    certify: bool = flag("have the argument and the rule checked by Coq, which must be installed")
    json: bool = flag("print what was found as a JSON object")
    out: File | None = option("also write that object to a file")


def run(options: Options) -> int:
    from gridsum.automaton.proof import prove

    name, table = rule_of(options.model, options.table)
    if table.task.row is None:
        raise UsageError(
            f"nothing can be proved of {name}: its task, {table.task.name}, has no row rule. "
            f"Measure it instead: gridsum evaluate --model {name if options.table is None else 'FOLDER'}"
        )
    if options.certify and not table.task.row.coq:
        raise UsageError(f"Coq's theorems are not about the task {table.task.name}; leave --certify out")
    proof = prove(table)
    network = {} if options.table is not None or not proof.proved else _of_network(name, table)
    rounding = _of_rounding(name, table) if options.certify and network else {}
    coq = _by_coq(table, proof.certificate) if options.certify and proof.proved else {}
    proved = proof.proved and all(part["different"] == 0 for part in network.values()) and coq.get("holds", True)
    if not options.json:
        wrong = None if proof.proved else counterexample(table)
        lines = [_line(proof, table), *(_network_line(precision, part) for precision, part in network.items())]
        lines += [_rounding_line(rounding)] if rounding else []
        lines += [_coq_line(coq)] if coq else []
        print_prose(lines + (_theorem(table) if proved else _failure(proof, wrong)))
    found = {"proved": proved, **_told(proof), "network": network, "rounding": rounding, "coq": coq}
    text = json.dumps(found, indent=2) + "\n"
    if options.json:
        print_text(text)
    if options.out is not None:
        write_result(options.out, text)
        tell(f"gridsum: wrote {options.out}")
    return 0 if proved else 1


def rule_of(model: str | None, file: str | None) -> "tuple[str, RuleTable]":
    """A rule, from a file or of a model, and what to call it."""
    if file is not None:
        from gridsum.automaton.files import read_rule

        return file, read_rule(file)
    name = model or DEFAULT_MODEL
    return name, rule_model(name).table


def _of_network(name: str, table: "RuleTable") -> dict[str, dict[str, Any]]:
    """Whether the network itself does what the table says, in every entry and in two precisions."""
    from gridsum.automaton.rule import LearnedRule, agreement

    network = rule_model(name).network
    single = agreement(LearnedRule(network), table)
    double = agreement(LearnedRule(network.double()), table)
    return {"float32": asdict(single), "float64": asdict(double)}


def _of_rounding(name: str, table: "RuleTable") -> dict[str, Any]:
    """Whether the network can do anything else in float32, in whatever order sums are rounded."""
    from gridsum.automaton.rounding import certainty
    from gridsum.automaton.rule import LearnedRule

    return asdict(certainty(LearnedRule(rule_model(name).network.double()), table))


def _by_coq(table: "RuleTable", certificate: "Certificate") -> dict[str, Any]:
    from gridsum.automaton.certify import CoqError, certify

    try:
        return asdict(certify(table, certificate))
    except CoqError as error:
        raise UsageError(str(error)) from None


def _line(proof: "Proof", table: "RuleTable") -> str:
    said = "every condition holds" if proof.proved else f"{len(proof.failures)} conditions fail"
    counts = f"{proof.contexts:,} contexts and {proof.evaluations:,} evaluations"
    states = f"{len(proof.states)} of its {len(table.states)} states occur at a fixed point, any other only on the way"
    return f"The rule: {said} in {counts}; {states}."


def _network_line(precision: str, part: dict[str, Any]) -> str:
    if part["different"]:
        return (
            f"The network in {precision} differs from it in {part['different']:,} of its {part['entries']:,} entries."
        )
    return (
        f"The network in {precision} does the same in all {part['entries']:,} entries of the rule; "
        f"its nearest logit is {part['margin']:.2f} from 0."
    )


def _rounding_line(rounding: dict[str, Any]) -> str:
    off = f"logits are off by {rounding['error']:.2f} at most"
    if rounding["different"]:
        return f"In float32, summed in any order, {rounding['different']:,} entries are not certain: {off}."
    return (
        f"In float32, summed in any order, every entry is certain: {off}, and each is at least "
        f"{rounding['surplus']:.2f} further from 0 than it can be off."
    )


def _coq_line(coq: dict[str, Any]) -> str:
    from gridsum.automaton.certify import NO_AXIOMS

    if not coq["holds"]:
        return f"Coq does not accept that the rule passes its checks: {coq['said']}"
    rests = "on no axiom" if coq["said"] == NO_AXIOMS else f"on these axioms: {coq['said']}"
    return (
        "Coq has checked the theorem below for every rule that passes its checks, and that this rule passes them. "
        f"The theorem rests {rests}."
    )


def _theorem(table: "RuleTable") -> list[str]:
    return [
        "",
        "Theorem. For any number of terms N of at most D digits, D any number, on a grid of N + 1 rows and as many "
        "columns as the result needs, at least D + 2: from any start made of its states, the rule "
        f"({len(table.states)} states of {table.bits} bits) comes to rest within 2 · rows · columns steps, and the top "
        f"row then reads as the result ({table.task.name}, base {table.task.alphabet.base}), without leading zeros.",
        "",
        "Placement writes every digit, opens a row at every sign, and skips the rest. Rows come to rest from the "
        "lowest up; in a row digits and carries are right from right to left, then leading zeros from left to right.",
    ]


def _failure(proof: "Proof", wrong: str | None) -> list[str]:
    if proof.proved:
        return ["", "Not proved: every condition holds of the rule, but the rest, said above, does not."]
    lines = ["", "Not proved. The first conditions that fail:", *(f"  {failure}" for failure in proof.failures[:5])]
    if wrong is not None:
        return [*lines, f"A problem that it gets wrong: {wrong}"]
    return [*lines, f"No wrong answer was found among {_SEARCHED:,} small ones."]


def _told(proof: "Proof") -> dict[str, Any]:
    return {
        "contexts": proof.contexts,
        "evaluations": proof.evaluations,
        "states": len(proof.states),
        "failures": [str(failure) for failure in proof.failures],
    }


def counterexample(table: "RuleTable") -> str | None:
    """A small problem that the rule gets wrong or cannot place, the shortest of those that are looked at."""
    from gridsum.automaton.solve import solve
    from gridsum.automaton.table import TableError
    from gridsum.tasks import ExpressionError

    for terms in _small_sums(table.task.alphabet):
        shown = table.task.render(terms).removesuffix("=")
        try:
            table.task.check(terms)
            if solve(table, terms).answer != table.task.answer(terms):
                return shown
        except TableError:
            return shown
        except ExpressionError:
            continue
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
