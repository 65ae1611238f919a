"""From trained runs to proofs: rounds of consolidation, until a run's rule is proved or a round brings nothing more."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import torch

from gridsum.automaton.consolidate import Round, consolidate
from gridsum.automaton.proof import prove
from gridsum.automaton.rule import LearnedRule, RuleError, agreement, alone
from gridsum.config.exact import ConsolidationConfig
from gridsum.model.rule import RuleNetwork

Report = Callable[[str], None]


def settle(
    network: RuleNetwork, config: ConsolidationConfig, seeds: Sequence[int], report: Report = lambda _: None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Consolidate all runs of a network together, in place, and prove each.

    Yields the number of each run and what it came to, as soon as that is known. `round` there is the one after which it
    was proved, 0 where it was before the first.
    """
    started = time.monotonic()
    going: dict[int, dict[str, Any]] = {}
    for run, seed in enumerate(seeds):
        found = _examine(alone(network, run))
        result = {"seed": seed, "rounds": [], "proved_before": found["proved"], **found}
        result["round"] = 0 if found["proved"] else None
        if result["proved"] or "entries" not in result or not config.rounds:
            yield run, result | {"seconds": round(time.monotonic() - started, 1)}
        else:
            going[run] = result
    for number in range(1, config.rounds + 1):
        if not going:
            break
        runs = list(going)
        part = alone(network, *runs)
        rounds = consolidate(
            part,
            config,
            [seeds[run] * 1000 + number - 1 for run in runs],
            lambda k, news, runs=runs: report(f"seed {seeds[runs[k]]}: {news}"),
        )
        with torch.no_grad():
            for name, tensor in network.state_dict().items():
                tensor[runs] = part.state_dict()[name]
        for run, found in zip(runs, rounds, strict=True):
            before = going.pop(run)
            result = _after(before, found, alone(network, run), number)
            report(f"seed {seeds[run]}: {_verdict(result)}")
            if (
                result["proved"]
                or number == config.rounds
                or not _may_bring_more(before, result, network.task.row is not None)
            ):
                yield run, result | {"seconds": round(time.monotonic() - started, 1)}
            else:
                going[run] = result


def _after(result: dict[str, Any], found: Round, network: RuleNetwork, number: int) -> dict[str, Any]:
    """What a run has come to with this round."""
    result = {**result, "rounds": [*result["rounds"], asdict(found)]}
    if not found.fitted:
        return {**result, "why": found.why}
    result = {key: value for key, value in result.items() if key != "why"} | _examine(network)
    return {**result, "round": number if result["proved"] else None}


def _may_bring_more(before: dict[str, Any], after: dict[str, Any], provable: bool) -> bool:
    """Whether another round may bring what the last one did not."""
    *_, last = after["rounds"]
    if not last["fitted"]:
        return False
    if not provable:
        return bool(last["right"] < 1 or after["leaves"])
    if not before["rounds"]:
        return True
    fewer = after["failures"] + after["leaves"] < before["failures"] + before["leaves"]
    return fewer or last["right"] > before["rounds"][-1]["right"]


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
