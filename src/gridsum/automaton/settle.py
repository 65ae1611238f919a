"""From trained runs to proofs: rounds of consolidation, until a run's rule is proved or a round brings nothing more."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from gridsum.automaton.consolidate import consolidate
from gridsum.automaton.proof import prove
from gridsum.automaton.rule import LearnedRule, RuleError, agreement
from gridsum.config.exact import PROVABLE, ConsolidationConfig
from gridsum.model.rule import RuleNetwork

Report = Callable[[str], None]


def settle(
    network: RuleNetwork, config: ConsolidationConfig, seeds: Sequence[int], report: Report = lambda _: None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Consolidate all runs of a network together, in place, and prove each.

    Yields the number of each run and what it came to, as soon as that is known. `round` there is the one after which it
    was proved. A run is examined after it was taught: before, no run was ever proved. Where there are no rounds, it is
    examined as it is, and `round` may be 0.
    """
    started = time.monotonic()

    def tell(run: int, news: str) -> None:
        report(f"seed {seeds[run]}: {news}")

    def ended(run: int, result: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return run, result | {"seconds": round(time.monotonic() - started, 1)}

    going: dict[int, dict[str, Any]] = {run: {"seed": seed, "rounds": []} for run, seed in enumerate(seeds)}
    if not config.rounds or set(network.config.positions) != set(PROVABLE):
        for run, result in going.items():
            found = _examine(network.alone(run))
            yield ended(run, {**result, **found, "round": 0 if found["proved"] else None})
        return
    for number in range(1, config.rounds + 1):
        if not going:
            break
        rounds = consolidate(network, config, {run: seeds[run] * 1000 + number - 1 for run in going}, tell)
        for run, found in rounds.items():
            before = going.pop(run)
            result = {"proved": False, **before, "rounds": [*before["rounds"], asdict(found)], "why": found.why}
            if found.fitted:
                result |= {"why": "", **_examine(network.alone(run))}
            result["round"] = number if result["proved"] else None
            tell(run, _verdict(result))
            if result["proved"] or number == config.rounds or not _brought_something(before, result):
                yield ended(run, result)
            else:
                going[run] = result


def _brought_something(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether the last round did, so that another may."""
    *earlier, last = after["rounds"]
    if not earlier or not last["fitted"]:
        return last["fitted"]
    fewer = _open(after) < _open(before)
    return fewer or last["right"] > earlier[-1]["right"]


def _open(result: dict[str, Any]) -> int:
    return result.get("failures", 0) + result["leaves"]


def _examine(network: RuleNetwork) -> dict[str, Any]:
    """Whether the rule of a network is proved: its table is, and the network does what the table says."""
    try:
        rule = LearnedRule(network)
        table = rule.table()
    except RuleError as error:
        return {"proved": False, "why": str(error)}
    follows = agreement(rule, table)
    about = {
        "table": hashlib.sha256(table.to_json().encode()).hexdigest(),
        "states": len(table.states),
        "entries": follows.entries,
        "leaves": follows.different,
        "margin": follows.margin,
    }
    if network.task.row is None:
        return {**about, "proved": False, "why": f"the task {network.task.name} has no row rule to prove"}
    proof = prove(table)
    return {
        **about,
        "proved": proof.proved and not follows.different,
        "contexts": proof.contexts,
        "evaluations": proof.evaluations,
        "failures": len(proof.failures),
        "first_failures": [str(failure) for failure in proof.failures[:5]],
    }


def _verdict(result: dict[str, Any]) -> str:
    if result["proved"]:
        return f"proved: {result['contexts']} contexts, nearest logit {result['margin']:.2f} from 0"
    if not result["rounds"][-1]["fitted"]:
        return "it is left as it is"
    leaves = f"{result['leaves']} of {result['entries']} entries lead out of its states"
    return f"{result['failures']} conditions fail, {leaves}" if "failures" in result else f"{result['why']}; {leaves}"
