"""Check, by enumeration of every local context, that a learned rule is right for any number of terms of any length. The
checker knows what the task's columns do; the network was never told. docs/proof.md gives the argument. The exit status
is 1 if a condition fails. With --certify the proof assistant Coq checks the argument and the rule.

examples:
  gridsum prove
  gridsum prove --certify
  gridsum prove --model runs/exact/seed-3
  gridsum prove --model rule.json
"""

from typing import TYPE_CHECKING

from gridsum.api.loading import rule_model
from gridsum.cli.options import Options, Parser, UsageError, add_model
from gridsum.cli.output import print_prose

if TYPE_CHECKING:
    from gridsum.automaton.certify import Certified
    from gridsum.automaton.proof import Proof
    from gridsum.automaton.rounding import Certainty
    from gridsum.automaton.rule import Agreement
    from gridsum.automaton.table import RuleTable


def add_options(parser: Parser) -> None:
    add_model(parser)
    parser.option("--certify", "let Coq check the argument and the rule; it must be installed")


def run(options: Options) -> int:
    model = rule_model(options.model)
    table, proof = model.table, model.prove()
    if options.certify and not getattr(table.task.row, "coq", False):
        raise UsageError(f"Coq's theorems are not about the task {table.task.name}; leave out --certify")
    conditions = f"{len(proof.failures)} conditions fail" if proof.failures else "every condition holds"
    said = [
        f"The rule: {conditions} in {proof.contexts:,} contexts and {proof.evaluations:,} evaluations; "
        f"{len(proof.states)} of its {len(table.states)} states occur at a fixed point, any other only on the way."
    ]
    holds = proof.proved
    if proof.proved and model.weights is not None:
        from gridsum.automaton.rounding import certainty
        from gridsum.automaton.rule import LearnedRule, agreement

        single, rule = agreement(LearnedRule(model.network), table), LearnedRule(model.network.double())
        double = agreement(rule, table)
        said += [_of_the_network("float32", single), _of_the_network("float64", double)]
        holds = not (single.different or double.different)
        if options.certify:
            said.append(_of_rounding(certainty(rule, table)))
    if proof.proved and options.certify:
        from gridsum.automaton.certify import certify

        certified = certify(table, proof.certificate)
        said.append(_of_coq(certified))
        holds = holds and certified.holds
    print_prose([*said, "", *(_theorem(table) if holds else _failed(proof))])
    return 0 if holds else 1


def _of_the_network(precision: str, found: "Agreement") -> str:
    same = f"does the same in all {found.entries:,} entries of the rule; its nearest logit is {found.margin:.2f} from 0"
    differs = f"differs from it in {found.different:,} of its {found.entries:,} entries"
    return f"The network in {precision} {differs if found.different else same}."


def _of_rounding(found: "Certainty") -> str:
    off = f"logits are off by {found.error:.2f} at most"
    if found.different:
        return f"In float32, summed in any order, {found.different:,} entries are not certain: {off}."
    surplus = f"each is at least {found.surplus:.2f} further from 0 than it can be off"
    return f"In float32, summed in any order, every entry is certain: {off}, and {surplus}."


def _of_coq(found: "Certified") -> str:
    from gridsum.automaton.certify import NO_AXIOMS

    if not found.holds:
        return f"Coq does not accept that the rule passes its checks: {found.said}"
    rests = "on no axiom" if found.said == NO_AXIOMS else f"on these axioms: {found.said}"
    return (
        "Coq has checked the theorem below for every rule that passes its checks, and that this rule passes them. "
        f"The theorem rests {rests}."
    )


def _theorem(table: "RuleTable") -> list[str]:
    rightward = table.task.row is not None and table.task.row.rightward
    first, then = ("left to right", "right to left") if rightward else ("right to left", "left to right")
    several = len(table.task.alphabet.signs) > 1
    signs = "signs are right from left to right, then " * several
    return [
        "Theorem. For any number of terms N of at most D digits, D any number, on a grid of N + 1 rows and as many "
        "columns as the result needs, at least D + 2: from any start made of its states, the rule "
        f"({len(table.states)} states of {table.bits} bits) comes to rest within {2 + several} · rows · columns steps, "
        f"and the top row then reads as the result ({table.task.name}, base {table.task.alphabet.base}), without "
        "leading zeros.",
        "",
        "Placement writes every digit, opens a row at every sign, and skips the rest. Rows come to rest from the "
        f"lowest up; in a row {signs}digits and carries are right from {first}, then leading zeros from {then}.",
    ]


def _failed(proof: "Proof") -> list[str]:
    if proof.proved:
        return ["Not proved: every condition holds of the rule, but the rest, said above, does not."]
    return [
        "Not proved. The first conditions that fail:",
        *(f"  {failure}" for failure in proof.failures[:5]),
        "How often its answers are wrong, gridsum evaluate measures.",
    ]
