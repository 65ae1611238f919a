"""Check, by enumeration of every local context, that a learned rule is right for any number of terms of any length. The
checker knows what the task's columns do; the network was never told. docs/proof.md gives the argument. The exit status
is 1 if a condition fails. With --certify the proof assistant Coq checks the argument and the rule.

examples:
  gridsum prove
  gridsum prove --certify
  gridsum prove --model runs/exact/seed-3
  gridsum prove --model rule.json --json > proof.json
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gridsum.api.loading import rule_model
from gridsum.api.rules import RuleModel
from gridsum.cli.options import Options, Parser, UsageError, add_model
from gridsum.cli.output import print_prose, print_text

if TYPE_CHECKING:
    from gridsum.automaton.table import RuleTable


def add_options(parser: Parser) -> None:
    add_model(parser)
    parser.option("--certify", "let Coq check the argument and the rule; it must be installed")
    parser.option("--json", "print what was found as a JSON object")


def run(options: Options) -> int:
    model = rule_model(options.model)
    table, proof = model.table, model.prove()
    if options.certify and not getattr(table.task.row, "coq", False):
        raise UsageError(f"Coq's theorems are not about the task {table.task.name}; leave out --certify")
    found: dict[str, Any] = {
        "proved": proof.proved,
        "contexts": proof.contexts,
        "evaluations": proof.evaluations,
        "states": len(proof.states),
        "failures": [str(failure) for failure in proof.failures],
        "network": {},
        "rounding": {},
        "coq": {},
    }
    if proof.proved and model.weights is not None:
        found |= _of_network(model, options.certify)
    if proof.proved and options.certify:
        from gridsum.automaton.certify import CoqError, certify

        try:
            found["coq"] = asdict(certify(table, proof.certificate))
        except CoqError as error:
            raise UsageError(str(error)) from None
    found["proved"] &= not any(part["different"] for part in found["network"].values())
    found["proved"] &= found["coq"].get("holds", True)
    if options.json:
        print_text(json.dumps(found, indent=2) + "\n")
    else:
        print_prose([*_checked(found, table), "", *(_theorem(table) if found["proved"] else _failed(found))])
    return 0 if found["proved"] else 1


def _of_network(model: RuleModel, certify: bool) -> dict[str, Any]:
    """Whether the network itself does what the table says, in every entry and in two precisions; and whether it can do
    anything else in float32, in whatever order sums are rounded."""
    from gridsum.automaton.rounding import certainty
    from gridsum.automaton.rule import LearnedRule, agreement

    single = agreement(LearnedRule(model.network), model.table)
    rule = LearnedRule(model.network.double())
    return {
        "network": {"float32": asdict(single), "float64": asdict(agreement(rule, model.table))},
        "rounding": asdict(certainty(rule, model.table)) if certify else {},
    }


def _checked(found: dict[str, Any], table: "RuleTable") -> Iterator[str]:
    """What was checked, and how that went: of the rule, its network, rounding, and by Coq."""
    failures, network, rounding, coq = (found[part] for part in ("failures", "network", "rounding", "coq"))
    said = f"{len(failures)} conditions fail" if failures else "every condition holds"
    yield (
        f"The rule: {said} in {found['contexts']:,} contexts and {found['evaluations']:,} evaluations; "
        f"{found['states']} of its {len(table.states)} states occur at a fixed point, any other only on the way."
    )
    for precision, part in network.items():
        same = f"does the same in all {part['entries']:,} entries of the rule"
        differs = f"differs from it in {part['different']:,} of its {part['entries']:,} entries"
        margin = f"its nearest logit is {part['margin']:.2f} from 0"
        yield f"The network in {precision} {differs if part['different'] else f'{same}; {margin}'}."
    if rounding:
        surplus = f"each is at least {rounding['surplus']:.2f} further from 0 than it can be off"
        certain = f"{rounding['different']:,} entries are not certain" if rounding["different"] else ""
        off = f"logits are off by {rounding['error']:.2f} at most" + ("" if certain else f", and {surplus}")
        yield f"In float32, summed in any order, {certain or 'every entry is certain'}: {off}."
    if coq and not coq["holds"]:
        yield f"Coq does not accept that the rule passes its checks: {coq['said']}"
    elif coq:
        from gridsum.automaton.certify import NO_AXIOMS

        rests = "on no axiom" if coq["said"] == NO_AXIOMS else f"on these axioms: {coq['said']}"
        yield (
            "Coq has checked the theorem below for every rule that passes its checks, and that this rule passes them. "
            f"The theorem rests {rests}."
        )


def _theorem(table: "RuleTable") -> list[str]:
    rightward = table.task.row is not None and table.task.row.rightward
    first, then = ("left to right", "right to left") if rightward else ("right to left", "left to right")
    return [
        "Theorem. For any number of terms N of at most D digits, D any number, on a grid of N + 1 rows and as many "
        "columns as the result needs, at least D + 2: from any start made of its states, the rule "
        f"({len(table.states)} states of {table.bits} bits) comes to rest within 2 · rows · columns steps, and the top "
        f"row then reads as the result ({table.task.name}, base {table.task.alphabet.base}), without leading zeros.",
        "",
        "Placement writes every digit, opens a row at every sign, and skips the rest. Rows come to rest from the "
        f"lowest up; in a row digits and carries are right from {first}, then leading zeros from {then}.",
    ]


def _failed(found: dict[str, Any]) -> list[str]:
    if not found["failures"]:
        return ["Not proved: every condition holds of the rule, but the rest, said above, does not."]
    return [
        "Not proved. The first conditions that fail:",
        *(f"  {failure}" for failure in found["failures"][:5]),
        "How often its answers are wrong, gridsum evaluate measures.",
    ]
