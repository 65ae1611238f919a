"""What is measured: every table's problems as data, and the one place where they are drawn.

A suite is a problem space with a number of samples (`2x602`), a family of problems within a space (`nines+1:2x[1,100]`,
see `gridsum.evaluation.families`), or the paper's worked examples. A collection is the suites of one table.
"""

import re
from dataclasses import dataclass
from zlib import crc32

import torch

from gridsum.data.problems import Batch, Space, batch_of, sample
from gridsum.data.streams import Stream
from gridsum.evaluation import paper
from gridsum.evaluation.families import CHAINS, FAMILIES, TERMS
from gridsum.io.names import did_you_mean
from gridsum.tasks import Task
from gridsum.tasks import find as find_task

BATCH = 64
"""Problems that are drawn at once. It is part of what a seed means, so nothing else (memory, device) may change it."""
SAMPLES, LONG_SAMPLES, LONG_DIGITS = 640, 128, 1000
"""How many problems of a suite there are by default; fewer where they are long."""


class SuiteError(ValueError):
    """A suite that does not exist; the message says which do."""


@dataclass(frozen=True)
class Suite:
    """`samples` problems of `space`, or of a `family` in it; or fixed `expressions`, which then lie within `space`."""

    name: str
    space: Space
    samples: int
    expressions: tuple[tuple[str, ...], ...] = ()
    family: str = ""

    @classmethod
    def parse(cls, name: str) -> "Suite":
        """A space, or FAMILY:SPACE."""
        family, _, text = name.rpartition(":")
        if family and family not in FAMILIES:
            hint = did_you_mean(family, FAMILIES, f"the families are {', '.join(FAMILIES)}")
            raise SuiteError(f"unknown family {family!r}; {hint}")
        space = Space.parse(text)
        if family and space.terms != (TERMS, TERMS):
            digits = str(space).split("x")[1]
            raise SuiteError(f"{family} is for {TERMS} terms; write {family}:{TERMS}x{digits}")
        samples = LONG_SAMPLES if space.digits[1] >= LONG_DIGITS else SAMPLES
        return cls(f"{family}:{space}" if family else str(space), space, samples, family=family)

    def size(self, samples: int | None = None) -> int:
        """How many problems are measured if so many are asked for; fixed expressions are always given whole."""
        if samples is not None and samples < 1:
            raise SuiteError(f"{samples} samples cannot be evaluated; ask for at least 1")
        return self.samples if samples is None or self.expressions else samples

    def problems(
        self, first: int, last: int, seed: int, device: torch.device | str = "cpu", task: Task | None = None
    ) -> Batch:
        """The problems from number `first` up to `last`, as one run; they depend on the suite's name and the seed."""
        task = task or find_task()
        if task.most_terms is not None and self.space.terms[1] > task.most_terms:
            raise SuiteError(f"{self.name} has more terms than the {task.most_terms} that {task.name} takes")
        if self.expressions:
            return batch_of(self.expressions[first:last], device, task)
        drawn = []
        for index in range(first // BATCH, -(-last // BATCH)):
            stream = Stream.of_seeds([seed], device).fold(crc32(self.name.encode())).fold(index)
            problems = min(BATCH, last - index * BATCH)  # a smaller batch is the beginning of a larger one
            drawn.append(sample(self.space, problems, stream, task=task, change=FAMILIES.get(self.family)))
        left_out = first % BATCH
        symbols = torch.cat([batch.symbols for batch in drawn], 1)[:, left_out:]
        return Batch(symbols, torch.cat([batch.targets for batch in drawn], 1)[:, left_out:], task)


def _suites(*names: str) -> tuple[Suite, ...]:
    return tuple(map(Suite.parse, names))


EXAMPLES = Suite("examples", Space((2, 8), (1, 9)), len(paper.EXAMPLES), tuple(map(find_task().parse, paper.EXAMPLES)))
_TABLES = {
    "comparison": _suites(*paper.COMPARISON["base"]),
    "long-digits": _suites(*paper.LONG_DIGITS["noGroups"]),
    "long-terms": _suites(*paper.LONG_TERMS["base"]),
    "examples": (EXAMPLES,),
    "ablation": _suites(*paper.ABLATION["base"]),
}
TRAINED, NINES = "[1,4]x[1,10]", "nines+1:2x[1,10]"
"""As in training; and within its range and still hard, for one carry runs through all columns."""
COLLECTIONS: dict[str, tuple[Suite, ...]] = {
    **_TABLES,
    # The paper's figure of steps and accuracy against the number of terms, from one term on.
    "terms": _suites(*(f"{terms}x5" for terms in range(1, 11))),
    # For choosing among trained models: one space beyond training in digits, one in terms, neither of them
    # one that a table reports, so that a reported number is never the one a model was chosen by.
    "validation": _suites("2x[250,350]", "[5,8]x[1,8]"),
    # Within the range of training, but not of random digits.
    "structured": _suites(NINES, "0+nines:2x[1,10]", "broken:2x[1,10]", *(f"carry-{n}:2x10" for n in CHAINS)),
    # Every reported suite once; validation is not among them.
    "all": tuple({suite.name: suite for suites in _TABLES.values() for suite in suites}.values()),
}


def find(name: str) -> tuple[Suite, ...]:
    """The suites of a collection, or the one suite of that name or problem space (`3x50`)."""
    if name in COLLECTIONS:
        return COLLECTIONS[name]
    try:
        return (Suite.parse(name),)
    except ValueError as error:
        if re.fullmatch(r"(.+:)?[\d\s\[\],x×]*\d[\d\s\[\],x×]*", name):
            # Meant as a space, so what is wrong with the space is the more useful message.
            raise SuiteError(str(error)) from None
    known = [*COLLECTIONS, *(suite.name for suites in COLLECTIONS.values() for suite in suites)]
    advice = (
        f"use a collection ({', '.join(COLLECTIONS)}), a problem set such as 2x602 or [1,4]x[1,10], or a family of "
        "problems such as nines+1:2x100 (gridsum evaluate --help lists them)"
    )
    raise SuiteError(f"unknown suite {name!r}; {did_you_mean(name, known, advice)}")
