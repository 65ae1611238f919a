"""What the states of a rule mean: what the check of its proof says of them, and what a column becomes."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from gridsum.automaton.proof import Certificate, Check, find_certificate
from gridsum.automaton.rows import Cell
from gridsum.automaton.rows import Meaning as Sum
from gridsum.automaton.table import RuleTable
from gridsum.tasks.alphabet import LETTERS


@dataclass(frozen=True)
class State:
    number: int
    pattern: int
    digit: int | None
    """What it reads as; None where that is no digit, or its carry hangs on where it stands."""
    carry: int | None
    meaning: str


Case = tuple[int, int | None, int]
"""Own symbol, the digit below or None over a blank, the carry that comes in."""


@dataclass(frozen=True)
class Meaning:
    check: Check
    states: tuple[State, ...]
    carry_bits: dict[int, int]
    """Bits that tell the carry in every state of a digit, and the value of each where there is a carry."""
    sums: dict[Case, set[Sum]]
    """What the cell becomes, whatever else it sees."""
    cases: dict[Case, Sum]
    """What the task's columns do with an own digit; over a blank or a leading 0, where that can be."""

    @property
    def wrong(self) -> int:
        """In how many cases a cell does not become what it should."""
        return sum(self.sums.get(case) != {wanted} for case, wanted in self.cases.items())

    def columns(self) -> Iterator[tuple[str, dict[str, list[set[Sum]]]]]:
        """A heading for every carry that comes in; by own digit, what a cell becomes over a blank and over each digit.
        Where cells of one carry hold no digit, there is one such table for all of these carries."""
        rule, others = self.check.rule, dict[str, list[set[Sum]]]()
        side = "left" if rule.row.rightward else "right"
        for carry in sorted({carry for *_, carry in self.sums}):
            held = sorted({x for x, _, its in self.sums if its == carry})
            rows = {x: [self.sums.get((x, below, carry), set()) for below in (None, *range(rule.base))] for x in held}
            if held[0] in rule.owns:
                name = f"{rule.row.name(carry) or carry} from the {side}" if carry else f"no carry from the {side}"
                signs = ("", *self.check.alphabet.signs[1:])
                own = (f"{signs[x // rule.base]}{LETTERS[x % rule.base]}" for x in rule.owns if x in rows)
                yield name, dict(zip(own, rows.values(), strict=False))
            else:
                others[rule.row.name(carry) or "0"] = rows[held[-1]]
        if others:
            yield f"no digit, but this from the {side}", others

    def carry(self, symbol: int, low: bool, state: int) -> int | None:
        """What a cell at rest carries on; it is low over a blank."""
        held = self.check.held_by(False, [symbol])
        found = (self.check.certificate.meaning_of[Cell(low, holds, sign)].get(state) for _, holds, _, sign in held)
        return next((meaning[1] for meaning in found if meaning), None)


def meaning_of(table: RuleTable) -> Meaning:
    known = find_certificate(table)
    check = Check(table, known)
    rule = check.rule
    sums: defaultdict[Case, set[Sum]] = defaultdict(set)
    for place, kind, context, _, _, end in check.cells():
        if not (place.first or end):
            for state in check.comes_to(kind, context):
                found = check.reads[state] or 0, known.meaning_of[kind][state][1]
                own = context[0] + rule.base * (rule.signs - 1 if place.own is None else place.sign)
                sums[own, place.below, place.carry].add(found)
    states = tuple(_state(check, known, number, pattern) for number, pattern in enumerate(table.states))
    rare = (None, 0) if rule.row.rightward else (None,)
    cases = {
        (own, below, carry): wanted
        for (own, below, carry), wanted in rule.cases()
        if own is not None and (below not in rare or (own, below, carry) in sums)
    }
    return Meaning(check, states, _carry_bits(table.bits, states, rule.base), dict(sums), cases)


def _state(check: Check, known: Certificate, number: int, pattern: int) -> State:
    reads, row = check.reads[number], check.rule.row
    carries = {means[number][1] for kind in check.rule.kinds if number in (means := known.meaning_of[kind])}
    carry = min(carries) if len(carries) == 1 else None
    told = "" if carry == row.nothing else f", carry {'?' if carry is None else row.name(carry)}"
    if not carries and number in known.end:
        return State(number, pattern, reads, None, f"digit {check.table.text(number)}, last column")
    if not carries:
        told = "empty row" if number in known.ground | known.corner else "on the way"
        return State(number, pattern, None, None, told)
    if reads is None:
        return State(number, pattern, None, carry, f"blank{told}")
    kind = "digit" if reads < check.rule.base else "reads"
    digit = reads if kind == "digit" and carry is not None else None
    return State(number, pattern, digit, carry, f"{kind} {check.table.text(number)}{told}")


def _carry_bits(bits: int, states: tuple[State, ...], base: int) -> dict[int, int]:
    valued = [state for state in states if state.digit is not None]
    if {(state.digit, state.carry) for state in valued} != set(product(range(base), (0, 1))):
        return {}
    found = {}
    for bit in range(bits):
        off, on = ({state.pattern >> bit & 1 for state in valued if state.carry == carry} for carry in (0, 1))
        if len(off) == len(on) == 1 and off != on:
            found[bit] = on.pop()
    return found
