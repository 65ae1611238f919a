"""Tables near to rules that add, for checkers to agree about."""

import dataclasses
from pathlib import Path

import numpy as np

from gridsum.automaton.files import read_rule
from gridsum.automaton.proof import find_certificate
from gridsum.automaton.table import RuleTable
from gridsum.tasks import PAD, find
from tests.oracles.column_addition import (
    by_columns,
    column_addition_in_other_codes,
    column_addition_with_two_meanings,
    shipped,
)

BINARY = Path(__file__).parents[2] / "benchmarks" / "records" / "binary-rule-2026-11-16.json"

PLACES = (
    "any",
    "blank",
    "blanks",
    "blanks",
    "kinds",
    "ground",
    "grounds",
    "corner",
    "last",
    "units",
    "border",
    "alike",
)


def changed(table: RuleTable, chance: np.random.Generator) -> RuleTable:
    """One or two entries with another code: anywhere, a blank for a zero and back, what another kind of cell comes to,
    in the lowest row, its corner, the last column, or a code that reads alike."""
    steps, outside, base = table.steps.copy(), table.outside, table.task.alphabet.base
    known = find_certificate(table).meaning_of.values()
    zeros = sorted({code for meanings in known for code, meaning in meanings.items() if meaning == (0, 0)})
    for _ in range(int(chance.integers(1, 3))):
        x, after = int(chance.integers(len(steps))), int(chance.integers(outside))
        left, right, below = (int(code) for code in chance.integers(0, outside + 1, 3))
        match str(chance.choice(PLACES)):
            case "any":
                steps[x, left, right, below] = after
            case "blank":
                right, below, after = chance.choice(zeros, 3)
                steps[chance.choice([0, base, base + 1]), left, right, below] = after
            case "blanks":
                below, after = chance.choice(zeros, 2)
                steps[chance.choice([0, base, base + 1]), left, zeros, below] = after
            case "kinds":
                steps[x, left, right, below] = steps[chance.integers(base, base + 2), left, right, chance.choice(zeros)]
            case "ground":
                steps[base + 1, left, right, outside] = after
            case "grounds":
                steps[base + 1, :, zeros, outside] = chance.choice(zeros, (len(zeros), 1))
            case "corner":
                steps[base + 1, left, outside, outside] = after
            case "last":
                steps[x % base, left, outside, below] = after
            case "units":
                steps[0, left, outside, zeros] = chance.choice(zeros)
            case "border":
                among = [state for state in zeros if table.outputs[state] == PAD] if after % 2 else zeros
                steps[base + 1, outside, zeros, chance.choice(zeros)] = chance.choice(among, len(zeros))
            case "alike":
                reads = table.outputs[steps[x, left, right, below]]
                steps[x, left, right, below] = chance.choice([c for c in range(outside) if table.outputs[c] == reads])
    return dataclasses.replace(table, steps=steps)


def with_twins(table: RuleTable, chance: np.random.Generator) -> RuleTable:
    """One to three states more, which behave as others, the first often as a blank. Which of a pair follows hangs on
    the context, on its left, or on whether this is the lowest row. A few read as something else."""
    outside, many = table.outside, int(chance.integers(1, 4))
    of = chance.integers(0, outside, many) * ([chance.integers(2)] + [1] * (many - 1))
    same = np.array([*range(outside), *of, outside])
    steps = table.steps[:, same][:, :, same][:, :, :, same]
    symbols, side = steps.shape[:2]
    lowest = np.arange(side) == side - 1
    for twin, state in enumerate(of, outside):
        shapes = ((1, side, 1, 1), (symbols, 1, 1, side), (symbols, 1, side, side))
        there = lowest if chance.random() < 0.3 else chance.random(shapes[int(chance.integers(3))]) < 0.3
        steps = np.where((steps == state) & there, twin, steps)
    reading = [*table.outputs, *(table.outputs[state] for state in of)]
    if chance.random() < 0.2:
        reading[-1] = int(chance.integers(table.task.alphabet.base + 1))
    return RuleTable(8, tuple(range(side - 1)), steps.astype(np.uint8), tuple(reading), table.actions, table.task)


def some_tables(count: int, chance: np.random.Generator) -> list[RuleTable]:
    """Learned ones and others that add, and so many changed ones of few codes: the shipped one takes Coq a second."""
    small = [read_rule(BINARY), *(by_columns(find(f"add:base={base}")) for base in (2, 3))]
    large = [shipped(), column_addition_in_other_codes(1)]
    tables = small + [column_addition_with_two_meanings()] + [changed(table, chance) for table in large]
    for number in range(count):
        table = small[number % 3 if number % 6 else 2]
        tables.append(changed(with_twins(table, chance) if chance.random() < 0.5 else table, chance))
    return tables
