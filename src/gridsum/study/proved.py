"""The study of `exact`: from nothing to proofs, then the run that ships, measured and put into the package.

FOLDER/exact                  the training, as `gridsum train --variant exact` leaves it
FOLDER/exact/records.jsonl    what the chosen run came to on every suite
"""

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gridsum.automaton.rule import LearnedRule
from gridsum.automaton.table import RuleTable
from gridsum.evaluation.evaluate import RuleSubject, evaluate
from gridsum.evaluation.records import Record, append, as_line, read
from gridsum.evaluation.suites import COLLECTIONS, Suite
from gridsum.io.disk import write_atomically
from gridsum.model.store import WEIGHTS, load_exact
from gridsum.training.exact import PROOF
from gridsum.training.folders import seed_folder

EXACT = "exact"
RECORDS = "records.jsonl"
SUITES: tuple[Suite, ...] = tuple(
    {suite.name: suite for suite in (*COLLECTIONS["all"], *COLLECTIONS["exact"])}.values()
)
"""Every suite once: the paper's, and those that a network which adds exactly must hold."""


class NothingProved(ValueError):
    """No run of the study is proved; the message says what to do."""


def outcomes(folder: Path, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What each run came to, as far as they are done."""
    paths = [seed_folder(folder, seed) / PROOF for seed in seeds]
    return [json.loads(path.read_text()) for path in paths if path.is_file()]


def chosen(found: Sequence[dict[str, Any]]) -> int:
    """The seed of the run that ships: of the proved ones, that which had most results right before consolidation.

    Those were problems of the training range, not of a suite. Of equals, the smallest seed.
    """
    proved = [result for result in found if result["proved"]]
    if not proved:
        raise NothingProved(
            f"none of {len(found)} runs is proved; train more seeds, or see what fails: gridsum prove --model FOLDER"
        )
    return max(proved, key=lambda result: (_right_before(result), -result["seed"]))["seed"]


def _right_before(result: dict[str, Any]) -> float:
    return result["rounds"][0]["right"] if result["rounds"] else 1.0


def rule_of(folder: Path, seed: int) -> RuleTable:
    network, _, _ = load_exact(seed_folder(folder, seed) / WEIGHTS)
    return LearnedRule(network).table()


def measure(
    folder: Path, seed: int, samples: int | None, commit: str | None, report: Callable[[str, int, int], None]
) -> list[Record]:
    """The chosen run on every suite; suites that are measured are kept."""
    path = folder / RECORDS
    known = {record.suite: record for record in (read([path]) if path.exists() else []) if record.seed == seed}
    missing = [suite for suite in SUITES if suite.name not in known]
    if missing:
        subject = RuleSubject(EXACT, rule_of(folder, seed), seed)
        for suite in missing:
            heard = functools.partial(report, suite.name)
            (record,) = evaluate(subject, suite, samples, commit=commit, report=heard)
            append(path, [record])
            known[suite.name] = record
    return [known[suite.name] for suite in SUITES]


def ship(folder: Path, seed: int, records: Sequence[Record], to: Path) -> None:
    """Weights, table and scores of the chosen run into `to`."""
    to.mkdir(parents=True, exist_ok=True)
    lines = "".join(as_line(record) for record in records)
    write_atomically(to / f"{EXACT}.safetensors", (seed_folder(folder, seed) / WEIGHTS).read_bytes())
    write_atomically(to / f"{EXACT}.rule.json", (rule_of(folder, seed).to_json() + "\n").encode())
    write_atomically(to / f"{EXACT}.jsonl", lines.encode())
