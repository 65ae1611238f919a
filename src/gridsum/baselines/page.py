"""The page of the comparison, made of the systems' data and of records; it says what has not been measured."""

import re
from collections.abc import Container, Mapping, Sequence

from gridsum.baselines.registry import SYSTEMS
from gridsum.baselines.system import System
from gridsum.evaluation.metrics import wilson
from gridsum.evaluation.records import Record
from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.systems import across, by_system, costs, spread_of

PICTURE = "pictures/comparison.svg"
"""Beside the page; drawn by `gridsum figure systems`."""
OURS = ("exact", "base", "noGroups")
"""Those of ours that stand in the tables: the default, and the two of the paper's own."""
_TOLD = ("[1,4]x[1,10]", "2x20", "2x100", "[5,6]x[1,10]", "nines+1:2x[1,10]")
_NOT_MEASURED = "not measured"
_TRAINED = {"paper": "Trained as ours.", "own": "Trained as in its paper."}
_NUMBER = re.compile(r"\{(.+?)( best)?\}")
"""What stands for a number in a system's texts."""
Suites = Mapping[str, Mapping[int | None, Record]]
"""Of one system in one setting, by suite and training seed."""

_INTRODUCTION = """# Systems side by side

The paper compares itself with systems that it did not run. Here they are trained and tested alike: the same problems,
the same loop, several seeds. Each is [one file](../src/gridsum/baselines), and has two settings:

- **own**: it learns what its own paper trained it on. A number of that paper says whether it is at its strength.
- **paper**: it learns Π([1,4],[1,10]) from results only, as ours does.

A problem such as a system was trained on is asked as it was in training, whatever suite it stands in. Larger ones get
as much more room as they need.

```sh
gridsum train --system dngpu --seeds 0-7 --out runs/dngpu
gridsum evaluate --model runs/dngpu --suite comparison --out records.jsonl
gridsum table systems --records records.jsonl    # every seed
gridsum figure systems --records exact base records.jsonl --out systems.svg
gridsum compare --out runs/systems --seeds 0-7 --at-once 5   # all of it, and this page; stopped, it goes on
```
"""
_RULE = (
    "The rule: a number is reached if the best seed's 95% interval does not lie wholly below it. Whole results right."
)


def page(records: Sequence[Record]) -> str:
    """Markdown. Records of ours may be among them."""
    measured = [record for record in records if record.given is not None]
    found = {line.variant: suites for line, suites in by_system(measured).items()} if measured else {}
    parts = [_INTRODUCTION, "## What came out\n", _missing(found)]
    if measured:
        ours = [record for record in records if record.given is None and record.model in OURS]
        parts += [
            f"![Whole results right against digits and against terms, a line for each system]({PICTURE})\n",
            "Thick lines are the best seeds, thin ones the medians.\n",
            *_tables([*ours, *measured]),
        ]
    parts += ["## Against their own papers\n", _RULE + "\n", to_markdown(_claims(found)), *_short(found)]
    parts += ["## What each can and cannot do, and why\n"]
    parts += [_told(system, found) for system in SYSTEMS.values()]
    parts += ["## What they are and what they took\n", to_markdown(_overview())]
    parts += [to_markdown(costs(measured))] if measured else []
    return "\n".join(parts).rstrip("\n") + "\n"


def unmeasured(found: Container[str]) -> list[str]:
    """The systems and settings, such as dngpu/own, that are not among those found."""
    wanted = [f"{name}/{setting}" for name in SYSTEMS for setting in _TRAINED]
    return [variant for variant in wanted if variant not in found]


def _missing(found: Mapping[str, Suites]) -> str:
    if not found:
        return "**Nothing has been measured yet.** Numbers and a picture stand here once there are records.\n"
    without = unmeasured(found)
    return f"**Not measured yet**: {', '.join(without)}.\n" if without else ""


def _tables(records: list[Record]) -> list[str]:
    """The paper's table, and then what grows beyond it."""
    table = [suite.name for suite in COLLECTIONS["comparison"]]
    others = dict.fromkeys(record.suite for record in records if record.given is not None)
    digits = [name for name in others if name.startswith("2x") and name not in table]
    terms = [name for name in others if name.endswith("x5") and name not in digits and name not in table]
    carries = [name for name in others if ":" in name]
    groups = (
        ("The paper's Table III, measured", table),
        ("More digits of two terms", digits),
        ("More terms of 5 digits, and one carry through all columns", terms + carries),
    )
    made = [(title, names, [record for record in records if record.suite in names]) for title, names in groups]
    return [to_markdown(across(among, names, title)) for title, names, among in made if among]


def reached(seeds: Mapping[int | None, Record], number: float) -> bool:
    """Whether the best seed's interval does not lie wholly below a number."""
    best = max(seeds.values(), key=lambda record: record.seq)
    return wilson(best.sequences_right, best.samples)[1] >= number


def _claims(found: Mapping[str, Suites]) -> Table:
    rows = []
    for system in SYSTEMS.values():
        suites, claim = found.get(f"{system.name}/own", {}), system.claim
        for suite, number in system.numbers:
            seeds = suites.get(suite, {})
            verdict = ("yes" if reached(seeds, number) else "no") if seeds else _NOT_MEASURED
            measured = spread_of(seeds)[:3] if seeds else ("0", "–", "–")
            rows.append((system.name, claim, suite, f"{number:g}", *measured, verdict))
            claim = ""
    header = ("system", "its paper says", "suite", "to reach", "seeds", "median", "best", "reached")
    caption = (
        "Own settings. Numbers of Neural GPU, Grid LSTM and LSTM + ACT are as our paper quotes them. Where a paper has "
        "no such suite, the nearest stands for it."
    )
    return Table("Own papers' numbers", caption, header, tuple(rows))


def _short(found: Mapping[str, Suites]) -> list[str]:
    """Of systems that fall short of their papers: every seed, from small problems to large."""
    parts = []
    for system in SYSTEMS.values():
        suites = found.get(f"{system.name}/own", {})
        missed = [suite for suite, number in system.numbers if suite in suites and not reached(suites[suite], number)]
        if missed:
            along = sorted((name for name in suites if name.startswith("2x") and name[2:].isdigit()), key=_digits)
            along = along or list(suites)
            rows = tuple((name, spread_of(suites[name])[3]) for name in along)
            parts += [
                f"**{system.title}** does not reach {', '.join(missed)}. The likeliest cause is what is other here: "
                f"{system.differs}.\n",
                to_markdown(
                    Table(f"{system.title}, own setting", "Whole results right.", ("suite", "every seed"), rows)
                ),
            ]
    return parts


def _digits(name: str) -> int:
    return int(name.partition("x")[2])


def _told(system: System, found: Mapping[str, Suites]) -> str:
    outcomes = [
        f"*{title}* {_outcome(system.found.get(setting, ''), found.get(f'{system.name}/{setting}', {}))}"
        for setting, title in _TRAINED.items()
    ]
    differs = f"*Other than in its paper.* {system.differs[0].upper()}{system.differs[1:]}.\n"
    return "\n\n".join((f"**{system.title}** ({system.source}). {system.reach}", *outcomes, differs))


def _outcome(text: str, suites: Suites) -> str:
    """A text with its numbers filled in; without a text, some numbers alone."""

    def number(place: re.Match[str]) -> str:
        if place[1] not in suites:
            return _NOT_MEASURED
        _, median, best, _ = spread_of(suites[place[1]])
        return best.partition(" ")[0] if place[2] else median

    if not suites:
        return "Not measured yet."
    told = [f"{{{name}}} of {name}" for name in _TOLD if name in suites]
    return _NUMBER.sub(number, text or f"Median seed: {', '.join(told)}.")


def _overview() -> Table:
    rows = []
    for system in SYSTEMS.values():
        parameters = sum(part.numel() for part in system.network(system.configured("paper")).parameters())
        own = system.configured("own")
        trained = f"{own.space}" + ("" if own.task.name == "add" else f" ({own.task.task.meaning})")
        given = system.given("own")
        if system.own.given != system.paper.given:
            given = f"own: {given}; paper: {system.given('paper')}"
        rows.append((system.name, f"{system.title}, {system.source}", f"{parameters:,}", given, trained))
    caption = "Parameters are those of the paper's setting."
    return Table("Seven systems", caption, ("name", "system", "parameters", "was given", "own setting"), tuple(rows))
