"""Models measured again, against the records that came with them.

A record keeps its counts grid by grid, so one of its parts can be measured alone. Every record gets one part looked at
before any gets a second: first those of which some results are right and some are not, and of these the cheap ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import torch

from gridsum.automaton.files import read_rule
from gridsum.evaluation.evaluate import evaluate, paper_subject, rule_subject
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.suites import find
from gridsum.model.store import load_runs

# Another processor rounds otherwise: a network that is undecided about a symbol then answers otherwise.
_SHARE = 0.02
# What a rule costs beside a network, cell for cell.
_RULE = 0.01
_COUNTS = ("sequences_right", "chars_right", "chars_valid")
_VERDICTS = ("the same", "close", "differs")


class Part(NamedTuple):
    """One grid of a record, by its number, or all of it where it keeps no grids."""

    whole: Record
    number: int | None
    known: Record
    """What the record says of this part alone."""

    @property
    def cost(self) -> float:
        (suite,) = find(self.whole.suite)
        cells = (suite.space.terms[1] + 2) * (suite.space.digits[1] + 4)
        steps = self.whole.steps_mean or 1
        return self.known.samples * cells * steps * (_RULE if self.whole.variant == "exact" else 1)


class Checked(NamedTuple):
    part: Part
    now: Record

    @property
    def verdict(self) -> str:
        known, now = self.part.known, self.now
        if all(getattr(known, name) == getattr(now, name) for name in _COUNTS):
            return "the same"
        results = abs(known.sequences_right - now.sequences_right) <= max(1, _SHARE * known.samples)
        return "close" if results and abs(known.char - now.char) <= _SHARE else "differs"


def parts(records: Iterable[Record]) -> list[Part]:
    """All parts of all records, in the order they are looked at."""
    found = []
    for record in records:
        for number, batch in enumerate(record.batches or ()):
            counts = {name: getattr(batch, name) for name in _COUNTS}
            found.append(Part(record, number, replace(record, samples=batch.problems, batches=(batch,), **counts)))
        if not record.batches:
            found.append(Part(record, None, record))
    return sorted(found, key=lambda part: (part.number or 0, part.whole.seq in (0, 1), part.cost))


def check(folder: Path, device: torch.device) -> Iterator[tuple[Checked, int]]:
    """Measure the models of a folder again, part by part; with each, how many parts there are."""
    weights = {path.stem: path.with_suffix(".safetensors") for path in sorted(folder.glob("*.jsonl"))}
    asked = parts(r for name, path in weights.items() if path.exists() for r in read([folder / f"{name}.jsonl"]))
    load = cache(lambda name: load_runs(name, [weights[name]], device))
    for part in asked:
        record, only = part.whole, None if part.number is None else [part.number]
        if record.variant == "exact":
            subject = rule_subject(record.model, read_rule(folder / f"{record.model}.rule.json"), record.seed)
        else:
            subject = paper_subject(load(record.model), record.halting, record.placement, record.grids)  # type: ignore[arg-type]
        (suite,) = find(record.suite)
        (again,) = evaluate(subject, suite, record.samples, record.evaluation_seed, only=only)
        yield Checked(part, again), len(asked)


def told(checked: Checked) -> str:
    known, now = ((one.char, one.seq) for one in (checked.part.known, checked.now))
    way = ", ".join(checked.now.way)
    return (
        f"{checked.verdict}: {checked.now.model} on {checked.now.suite} ({way}) had {known[0]:.4f} of characters and "
        f"{known[1]:.4f} of whole results right, and has {now[0]:.4f} and {now[1]:.4f}"
    )


def in_brief(found: Sequence[Checked], total: int) -> str:
    counts = [f"{sum(checked.verdict == verdict for checked in found)} {verdict}" for verdict in _VERDICTS]
    return f"{len(found)} of {total} parts of records measured again: {', '.join(counts)}"
