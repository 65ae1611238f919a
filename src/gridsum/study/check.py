"""Models measured again, against the records that came with them.

A record keeps its counts grid by grid, so one of its parts can be measured alone: the same problems, grid and draws.
Every record gets one part looked at before any gets a second, the cheap ones first, for as long as there is time.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch

from gridsum.automaton.files import read_rule
from gridsum.evaluation.evaluate import PaperSubject, RuleSubject, evaluate
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.rendering import Table
from gridsum.evaluation.suites import find
from gridsum.model.store import Model, load_runs

# Another processor rounds otherwise: a network that is undecided about a symbol then answers otherwise.
_SHARE = 0.02
# What a rule costs beside a network, cell for cell.
_RULE = 0.01


class Counted(NamedTuple):
    problems: int
    sequences_right: int
    chars_right: int
    chars_valid: int


@dataclass(frozen=True)
class Part:
    """Of one record: a grid of it by its number, or all of it where it keeps no grids."""

    record: Record
    number: int | None

    @property
    def known(self) -> Counted:
        record = self.record
        if self.number is None or record.batches is None:
            return Counted(record.samples, record.sequences_right, record.chars_right, record.chars_valid)
        batch = record.batches[self.number]
        return Counted(batch.problems, batch.sequences_right, batch.chars_right, batch.chars_valid)

    @property
    def cost(self) -> float:
        (suite,) = find(self.record.suite)
        cells = (suite.space.terms[1] + 2) * (suite.space.digits[1] + 4)
        steps = self.record.steps_mean or 1
        return self.known.problems * cells * steps * (_RULE if self.record.variant == "exact" else 1)


class Checked(NamedTuple):
    part: Part
    now: Counted

    @property
    def verdict(self) -> str:
        known, now = self.part.known, self.now
        if known == now:
            return "the same"
        results = abs(known.sequences_right - now.sequences_right) <= max(1, _SHARE * known.problems)
        chars = abs(known.chars_right / known.chars_valid - now.chars_right / now.chars_valid) <= _SHARE
        return "close" if results and chars else "differs"


def parts(records: Iterable[Record]) -> list[Part]:
    """All parts of all records, in the order they are looked at."""
    rounds: dict[int, list[Part]] = {}
    for record in records:
        for number in range(len(record.batches or ())) if record.batches else [None]:
            rounds.setdefault(number or 0, []).append(Part(record, number))
    return [part for number in sorted(rounds) for part in sorted(rounds[number], key=lambda part: part.cost)]


def check(folder: Path, device: torch.device, goes_on: Callable[[Checked, int], bool]) -> list[Checked]:
    """Measure the models of a folder again; `goes_on` hears of each part and how many there are, and may end it."""
    records = {path.stem: read([path]) for path in sorted(folder.glob("*.jsonl"))}
    weights = {name: folder / f"{name}.safetensors" for name in records}
    known = [record for name in records if weights[name].exists() for record in records[name]]
    models: dict[str, Model] = {}
    found: list[Checked] = []
    asked = parts(known)
    for part in asked:
        name = part.record.model
        if part.record.variant != "exact" and name not in models:
            models[name] = load_runs(name, [weights[name]], device)
        found.append(Checked(part, _measured(part, models.get(name), folder)))
        if not goes_on(found[-1], len(asked)):
            break
    return found


def _measured(part: Part, model: Model | None, folder: Path) -> Counted:
    record = part.record
    (suite,) = find(record.suite)
    only = None if part.number is None else [part.number]
    if model is None:
        subject = RuleSubject(record.model, read_rule(folder / f"{record.model}.rule.json"), record.seed)
    else:
        subject = PaperSubject(model, record.halting, record.placement, record.grids)  # type: ignore[arg-type]
    (again,) = evaluate(subject, suite, record.samples, record.evaluation_seed, only=only)
    return Counted(again.samples, again.sequences_right, again.chars_right, again.chars_valid)


def account(found: list[Checked]) -> Table:
    """A line for each record: how much of it was looked at, and what came out."""
    by_record: dict[int, list[Checked]] = {}
    for checked in found:
        by_record.setdefault(id(checked.part.record), []).append(checked)
    rows = []
    for group in by_record.values():
        record = group[0].part.record
        known = [checked.part.known for checked in group]
        now = [checked.now for checked in group]
        worst = max((checked.verdict for checked in group), key=_ORDER.index)
        problems = f"{sum(one.problems for one in known)} of {record.samples}"
        rows.append((record.model, record.suite, *record.way, problems, _scores(known), _scores(now), worst))
    header = ("model", "suite", "grids", "placement", "problems", "record", "now", "verdict")
    caption = (
        "Accuracy by character / of whole results on the problems looked at. The same: every count is. Close: as close "
        f"as another processor's rounding may bring it, {_SHARE:.0%}."
    )
    return Table("Models against their records", caption, header, tuple(rows))


_ORDER = ("the same", "close", "differs")


def _scores(counts: list[Counted]) -> str:
    char = sum(one.chars_right for one in counts) / sum(one.chars_valid for one in counts)
    seq = sum(one.sequences_right for one in counts) / sum(one.problems for one in counts)
    return f"{char:.4f} / {seq:.4f}"


def in_brief(found: list[Checked], total: int) -> str:
    counts = {verdict: sum(checked.verdict == verdict for checked in found) for verdict in _ORDER}
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"{len(found)} of {total} parts of records measured again: {told}"
