"""Answers of a rule to one sum or to many. They are those of `run.frames`, which is the rule."""

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from gridsum.automaton.run import LARGE, GridSize, Run, grid_size, line_of, size_of
from gridsum.automaton.table import RuleTable
from gridsum.data.answers import Answer, answered
from gridsum.tasks import Task

TOGETHER = 2000
"""Sums that are worked on at once: more would not stay in a processor's cache. Of large ones fewer, or one alone."""
_NARROW = 16
"""A grid up to so wide may lie beside any other such; else one may be twice as wide as another, and not more."""


def solve(table: RuleTable, terms: Sequence[str]) -> Answer:
    """The answer of a rule to one sum."""
    (answer,) = solve_many(table, [terms])
    return answer


def solve_many(table: RuleTable, expressions: Iterable[Sequence[str]]) -> Iterator[Answer]:
    """The answers to sums in their order, as `solve` gives them one by one."""
    some, sizes, cells = list[Sequence[str]](), list[GridSize](), 0
    for terms in expressions:
        size = size_of(terms, table.task)
        cells += size.height * size.width
        if cells > LARGE or len(some) == TOGETHER:
            yield from _together(table, some, sizes)
            some, sizes, cells = [], [], size.height * size.width
        some.append(terms)
        sizes.append(size)
    yield from _together(table, some, sizes)


def answer_lines(table: RuleTable, lines: Sequence[bytes]) -> bytes | None:
    """The answers to sums that are lines of a file, a line each; None where one is not plain, or they are large."""
    task, signs = table.task, table.task.alphabet.signs
    if task.most_terms is not None or type(task).check is not Task.check or len(signs) > 1:
        return None
    sign, number = re.escape(signs.encode()), b"[%b]+" % task.alphabet.digits.encode()
    if not re.fullmatch(b"(?:%b(?:%b%b)*\n)*" % (number, sign, number), b"\n".join((*lines, b""))):
        return None
    every = (line.split(signs.encode()) for line in lines)
    sizes = [grid_size(len(terms), max(map(len, terms)), task) for terms in every]
    if sum(height * width for height, width in sizes) > LARGE:
        return None
    return b"\n".join((*_worked_out(table, lines, sizes)[0], b""))


def _together(table: RuleTable, expressions: Sequence[Sequence[str]], sizes: Sequence[GridSize]) -> Iterator[Answer]:
    lines = [line_of(terms, table.task) for terms in expressions]
    said, steps, capped = _worked_out(table, lines, sizes)
    for terms, text, *rest in zip(expressions, said, steps.tolist(), capped.tolist(), strict=True):
        yield answered(table.task, terms, text.decode(), *rest)


def _worked_out(
    table: RuleTable, lines: Sequence[bytes], sizes: Sequence[GridSize]
) -> tuple[list[bytes], np.ndarray, np.ndarray]:
    """Answers, their steps, and whether they were ended by their limits. Grids about as wide lie together."""
    said, steps, capped = np.empty(len(lines), object), np.zeros(len(lines), np.int64), np.zeros(len(lines), bool)
    every = np.array(sizes).reshape(-1, 2)
    kinds = np.log2(1 + every[:, 1] // _NARROW).astype(int)
    for kind in np.unique(kinds):
        which = np.flatnonzero(kinds == kind)
        run = Run(table, [lines[number] for number in which.tolist()], every[which])
        run.advance()
        said[which], steps[which], capped[which] = run.read(), run.steps, run.capped
    return said.tolist(), steps, capped
