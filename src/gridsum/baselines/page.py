"""The page of the comparison, made of the systems' data and of records: what is not measured is not there."""

from collections.abc import Sequence

from gridsum.baselines.registry import SYSTEMS
from gridsum.evaluation.records import Record
from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.systems import across, by_system, costs, spread_of

_INTRODUCTION = """# Systems side by side

The paper compares itself with systems that it did not run. Here they are trained and tested alike: the same problems,
the same loop, several seeds, every seed shown. Each is [one file](../src/gridsum/baselines), and has two settings:

- **own**: it learns what its own paper trained it on. One number of that paper says whether it is at its strength.
- **paper**: it learns Π([1,4],[1,10]) from results only, as ours does.

```sh
gridsum train --system dngpu --seeds 0-7 --out runs/dngpu
gridsum evaluate --model runs/dngpu --suite comparison --out records.jsonl
gridsum table systems --records records.jsonl
gridsum compare --out runs/systems --seeds 0-7   # all of it, and this page; stopped, the same command goes on
```
"""


def page(records: Sequence[Record]) -> str:
    """Markdown. Records of ours may be among them."""
    parts = [_INTRODUCTION, "## The systems\n", to_markdown(_overview())]
    measured = [record for record in records if record.given is not None]
    if measured:
        table = [suite.name for suite in COLLECTIONS["comparison"]]
        others = dict.fromkeys(record.suite for record in measured if record.suite not in table)
        parts += ["## Measured\n"]
        for title, names in (("The paper's table", table), *_further(list(others))):
            among = [record for record in records if record.suite in names]
            parts += [to_markdown(across(among, names, title))] if among else []
        parts += ["## Against their own papers\n", to_markdown(_claims(measured))]
        parts += ["## What they took\n", to_markdown(costs(measured))]
    parts += ["## What each can and cannot do, by its make\n"]
    parts += [f"- **{system.title}.** {system.reach}" for system in SYSTEMS.values()]
    parts += ["", "## What is other than in their papers\n"]
    parts += [f"- **{system.title}**: {system.differs}." for system in SYSTEMS.values()]
    return "\n".join(parts) + "\n"


def _further(names: list[str]) -> list[tuple[str, list[str]]]:
    """Other suites by what grows in them."""
    carries = [name for name in names if ":" in name]
    digits = [name for name in names if name.startswith("2x")]
    terms = [name for name in names if name.endswith("x5") and name not in digits]
    return [("More digits", digits), ("More terms of 5 digits", terms), ("One carry through all columns", carries)]


def _overview() -> Table:
    rows = []
    for system in SYSTEMS.values():
        parameters = sum(part.numel() for part in system.network(system.configured("paper")).parameters())
        spaces = {setting: system.configured(setting) for setting in ("own", "paper")}
        own = spaces["own"]
        trained = f"{own.space}" + ("" if own.task.name == "add" else f" ({own.task.task.meaning})")
        given = system.given("own") if system.own.given == system.paper.given else _both(system.given, "own", "paper")
        rows.append((system.name, f"{system.title}, {system.source}", f"{parameters:,}", given, trained))
    caption = "Parameters are those of the paper's setting."
    return Table("Seven systems", caption, ("name", "system", "parameters", "was given", "own setting"), tuple(rows))


def _both(given: object, own: str, paper: str) -> str:
    assert callable(given)
    return f"own: {given(own)}; paper: {given(paper)}"


def _claims(records: Sequence[Record]) -> Table:
    """What the own papers say beside what the own settings came to."""
    found = {line.variant: suites for line, suites in by_system(records).items()}
    rows = []
    for system in SYSTEMS.values():
        suites = found.get(f"{system.name}/own", {})
        for suite in [suite for suite in system.held_against if suite in suites]:
            rows.append((system.name, system.claim, suite, *spread_of(suites[suite])[:3]))
    header = ("system", "its paper", "suite", "seeds", "median", "best")
    return Table("Own settings", "Whole results right.", header, tuple(rows))
