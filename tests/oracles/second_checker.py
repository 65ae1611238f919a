"""A second checker of the theorem in docs/proof.md, written from that page and from the file format of a rule alone.

    python -m tests.oracles.second_checker [FILE]

It shares no code with `gridsum.automaton.proof`, and works in another way. There the contexts are enumerated. Here a
cell is described by formulas: its row, what it holds, what its neighbours are and mean. A solver (z3) is asked for a
cell that breaks a condition. "Unsatisfiable" means that there is none. `every_small_sum` uses no induction at all: it
steps whole grids and compares their top rows with Python's integers.
"""

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import z3

from gridsum.automaton.table import RuleTable
from gridsum.tasks import FIRST_DIGIT, PAD, Addition, find

ADD = Addition()

TEN, PLUS_SIGN, NOTHING = 10, 10, 11
DIGIT_KIND, PLUS_KIND, NOTHING_KIND, GROUND_KIND = "digit", "plus", "nothing", "ground"
LOW = "low "
"""Before the kind of a cell that stands over a blank or the ground, as all cells to its left then do."""
TERM_KINDS = tuple(low + kind for low in ("", LOW) for kind in (DIGIT_KIND, PLUS_KIND, NOTHING_KIND))
SHIPPED = Path(__file__).parents[2] / "src" / "gridsum" / "shipped" / "exact.rule.json"

DIGIT_KINDS = (DIGIT_KIND, LOW + DIGIT_KIND)

Formula = Any
"""A truth value or a number, as z3 writes it. Its own types say little."""
Entry = tuple[int, int, int, int]
"""x, left, right, below."""


@dataclass
class Verdict:
    proved: bool
    condition: str = ""
    """`placement`, `digits`, `rest` or `reading`: the first condition with a counterexample."""
    counterexample: Mapping[str, int] = field(default_factory=dict)
    questions: int = 0
    """How many formulas the solver was given."""


@dataclass
class _Found:
    """What is known so far: the classes C and the codes of the lowest row. All of these only grow."""

    meaning: dict[str, dict[int, tuple[int, int]]] = field(
        default_factory=lambda: {kind: {} for kind in (*TERM_KINDS, GROUND_KIND)}
    )
    """For each kind, code → (digit, carry)."""
    ground: set[int] = field(default_factory=set)
    corner: set[int] = field(default_factory=set)


class SecondChecker:
    """The formulas of one table. `check` may be asked many times, each time with some entries changed."""

    def __init__(self, table: RuleTable) -> None:
        if table.task.name != find().name:
            raise ValueError(f"this rule is for {table.task.name}; the checker knows sums of decimal numbers alone")
        self.table = table
        self.outside = table.outside
        self.x = z3.BitVec("x", 4)
        self.left, self.right, self.below, self.twin = (
            z3.BitVec(name, 8) for name in ("left", "right", "below", "twin")
        )
        self.plain, self.after, self.twin_plain, self.twin_after = (
            z3.BitVec(name, 8) for name in ("plain", "after", "twin plain", "twin after")
        )
        """`plain`: by the table as it is. `after`: with the changed entries. The twin has another code on its right."""
        self.digit_below, self.carry_in = z3.BitVec("digit below", 5), z3.BitVec("carry in", 5)
        self.first = z3.Bool("in the first term's row")
        self.solver = z3.SolverFor("QF_FD")
        self.solver.add(z3.ULT(self.x, 12))
        for variable in (self.left, self.right, self.below):
            self.solver.add(z3.ULE(variable, self.outside))
        self.solver.add(*self._lookup(self.right, self.plain, range(self.outside + 1)))
        self.questions = 0

    def _lookup(self, right: Formula, after: Formula, rights: Iterable[int]) -> Iterator[Formula]:
        """after = F(x, left, right, below), a clause for a context, and one for each left that makes a difference."""
        side = self.outside + 1
        not_x = [self.x != x for x in range(12)]
        is_left, not_left = [self.left == code for code in range(side)], [self.left != code for code in range(side)]
        not_right, not_below = [right != code for code in range(side)], [self.below != code for code in range(side)]
        becomes = [after == code for code in range(self.outside)]
        for x, r, b in itertools.product(range(12), rights, range(side)):
            row = self.table.steps[x, :, r, b]
            usual = int(np.bincount(row).argmax())
            others = [int(left) for left in np.flatnonzero(row != usual)]
            context = (not_x[x], not_right[r], not_below[b])
            yield z3.Or(*context, becomes[usual], *(is_left[left] for left in others))
            for left in others:
                yield z3.Or(*context, not_left[left], becomes[int(row[left])])

    # What a neighbour can be

    @staticmethod
    def _one_of(variable: Formula, codes: Iterable[int]) -> Formula:
        return z3.Or(*(variable == code for code in sorted(codes)))

    def _means(self, found: _Found, kind: str, code: Formula, digit: Formula, carry: Formula) -> Formula:
        return z3.Or(*(z3.And(code == k, digit == d, carry == c) for k, (d, c) in sorted(found.meaning[kind].items())))

    def _blanks(self, found: _Found) -> set[int]:
        """Codes that can stand at rest in a term's row and read blank."""
        return {
            code
            for kind in TERM_KINDS
            for code, meaning in found.meaning[kind].items()
            if meaning == (0, 0) and self.table.outputs[code] == PAD
        }

    def _numbers(self, found: _Found) -> dict[int, int]:
        """Codes that can stand at rest in a term's row and read as the digit that they mean."""
        return {
            code: digit
            for kind in TERM_KINDS
            for code, (digit, _) in found.meaning[kind].items()
            if self.table.outputs[code] == FIRST_DIGIT + digit
        }

    def _number(self, found: _Found, code: Formula, digit: Formula) -> Formula:
        return z3.Or(*(z3.And(code == k, digit == d) for k, d in sorted(self._numbers(found).items())))

    # A cell of a term's row, above a row at rest and beside a cell that is right

    def _cell(self, found: _Found, kind: str, right_kind: str | None) -> Formula:
        """From the shape of rows: which kinds stand beside and below which. `right_kind` is None at the border."""
        low, held = kind.startswith(LOW), kind.removeprefix(LOW)
        beside = None if right_kind is None else right_kind.removeprefix(LOW)
        own = {DIGIT_KIND: z3.ULT(self.x, TEN), PLUS_KIND: self.x == PLUS_SIGN, NOTHING_KIND: self.x == NOTHING}[held]
        last = right_kind is None
        if right_kind is None:
            right = z3.And(self.right == self.outside, self.carry_in == 0)
        else:
            digits = [z3.And(self.right == k, self.carry_in == c) for k, (_, c) in found.meaning[right_kind].items()]
            right = z3.Or(*digits)
        under_first = z3.And(
            self.first,
            self._one_of(self.below, found.corner if last else found.ground),
            self.digit_below == 0,
            self.carry_in == 0,
            # Left of its digits the first term has cells of value 0 alone.
            self._means(found, right_kind, self.right, 0, 0) if right_kind and beside == NOTHING_KIND else True,
        )
        shown = self._number(found, self.below, self.digit_below)
        blank = z3.And(self._one_of(self.below, self._blanks(found)), self.digit_below == 0)
        under_later = z3.And(z3.Not(self.first), blank if low else shown)
        in_first = (
            low and held != PLUS_KIND and (right_kind is None or (right_kind.startswith(LOW) and beside != PLUS_KIND))
        )
        in_later = not (held == NOTHING_KIND and beside == DIGIT_KIND) and not (last and low)
        return z3.And(own, right, z3.Or(z3.And(in_first, under_first), z3.And(in_later, under_later)))

    PAIRS: Sequence[tuple[str, str | None]] = (
        (DIGIT_KIND, None),
        (LOW + DIGIT_KIND, None),
        *(
            (low + kind, right_low + right_kind)
            for kind, right_kind in (
                (DIGIT_KIND, DIGIT_KIND),
                (PLUS_KIND, DIGIT_KIND),
                (NOTHING_KIND, DIGIT_KIND),
                (NOTHING_KIND, PLUS_KIND),
                (NOTHING_KIND, NOTHING_KIND),
            )
            for low, right_low in (("", ""), (LOW, ""), (LOW, LOW))
        ),
    )
    """A cell's kind, and its right neighbour's."""

    def _value(self, kind: str) -> Formula:
        own = z3.ZeroExt(1, self.x) if kind in DIGIT_KINDS else z3.BitVecVal(0, 5)
        return own + self.digit_below + self.carry_in

    def _ground_cell(self, found: _Found, last: bool) -> Formula:
        right = self.right == self.outside if last else self._one_of(self.right, found.meaning[GROUND_KIND])
        return z3.And(self.x == NOTHING, self.below == self.outside, right)

    # Questions

    def _ask(self, *formulas: Formula) -> dict[str, int] | None:
        """A cell for which the formulas hold, or None if there is none."""
        return next(iter(self._ask_all(*formulas, most=1)), None)

    def _ask_all(self, *formulas: Formula, most: int = 256) -> list[dict[str, int]]:
        """Cells for which the formulas hold: one for each next code, or the first `most`."""
        cells: list[dict[str, int]] = []
        variables = (self.x, self.left, self.right, self.below, self.after, self.digit_below, self.carry_in)
        self.solver.push()
        self.solver.add(*formulas)
        while len(cells) < most:
            self.questions += 1
            answer = self.solver.check()
            assert answer != z3.unknown
            if answer == z3.unsat:
                break
            model: Any = self.solver.model()
            cells.append({str(v): model.eval(v, model_completion=True).as_long() for v in variables})
            self.solver.add(self.after != cells[-1]["after"])
        self.solver.pop()
        return cells

    def check(self, changes: Mapping[Entry, int] | None = None) -> Verdict:
        """Of the table with `changes` in its entries. The first condition that fails is told."""
        self.questions = 0
        if not placement_is_right(self.table):
            return Verdict(False, "placement")
        self.solver.push()
        try:
            self.solver.add(self.after == self._changed(self.plain, self.right, changes or {}))
            found = _Found()
            self._settle_lowest_row(found)
            condition, cell = "digits", self._settle_classes(found)
            if cell is None:
                self._add_twin(found, changes or {})
                condition, cell = "rest", self._unrest(found)
            if cell is None:
                condition, cell = "reading", self._misreading(found)
        finally:
            self.solver.pop()
        if cell is None:
            return Verdict(True, questions=self.questions)
        return Verdict(False, condition, cell, self.questions)

    def _changed(self, plain: Formula, right: Formula, changes: Mapping[Entry, int]) -> Formula:
        after = plain
        for (x, left, r, below), code in changes.items():
            here = z3.And(self.x == x, self.left == left, right == r, self.below == below)
            after = z3.If(here, z3.BitVecVal(code, 8), after)
        return after

    def _settle_lowest_row(self, found: _Found) -> None:
        classed = found.meaning[GROUND_KIND]
        while cell := self._ask(
            z3.Or(self._ground_cell(found, True), self._ground_cell(found, False)),
            z3.Not(self._one_of(self.after, classed)),
        ):
            classed[cell["after"]] = (0, 0)
        while cell := self._ask(
            self._ground_cell(found, False),
            self._one_of(self.left, {*found.ground, self.outside}),
            z3.Not(self._one_of(self.after, found.ground)),
        ):
            found.ground.add(cell["after"])
        while cell := self._ask(
            self._ground_cell(found, True),
            self._one_of(self.left, found.ground),
            z3.Not(self._one_of(self.after, found.corner)),
        ):
            found.corner.add(cell["after"])

    def _settle_classes(self, found: _Found) -> dict[str, int] | None:
        """Asks for a cell, with any left neighbour, whose next code is not known to mean what it must; learns from it.

        Ends when there is none, so that the classes are closed, or at a code that would have two meanings in one kind.
        """
        closed = 0
        for kind, right_kind in itertools.cycle(self.PAIRS):
            value = self._value(kind)
            carry: Formula = z3.If(z3.UGE(value, TEN), z3.BitVecVal(1, 5), z3.BitVecVal(0, 5))
            right = self._means(found, kind, self.after, value - TEN * carry, carry)
            cells = self._ask_all(self._cell(found, kind, right_kind), z3.Not(right))
            for cell in cells:
                if cell["after"] in found.meaning[kind]:
                    return cell
                own = cell["x"] if kind in DIGIT_KINDS else 0
                carry_out, digit = divmod(own + cell["digit below"] + cell["carry in"], TEN)
                found.meaning[kind][cell["after"]] = (digit, carry_out)
            closed = 0 if cells else closed + 1
            if closed == len(self.PAIRS):
                return None
        raise AssertionError("the pairs never end")

    def _left_at_rest(self, found: _Found, kind: str) -> tuple[Formula, Formula]:
        """The left neighbour is nothing; it is a number. The border is beside empty cells alone."""
        blanks, numbers = self._blanks(found), self._numbers(found)
        nothing = self._one_of(self.left, {*blanks, self.outside} if kind.endswith(NOTHING_KIND) else blanks)
        return nothing, self._one_of(self.left, numbers)

    def _never(self, found: _Found, kind: str, nothing: Formula, number: Formula) -> Formula:
        """What does not stand beside a value of 0 at rest, outside the last column."""
        low = kind.startswith(LOW)
        if not low:
            return z3.And(self._value(kind) == 0, nothing)
        plain = {code for code, (_, carry) in found.meaning[LOW + DIGIT_KIND].items() if carry == 0}
        beside = z3.Not(self._one_of(self.left, plain)) if kind in DIGIT_KINDS else True
        return z3.And(self._value(kind) == 0, number, beside)

    def _add_twin(self, found: _Found, changes: Mapping[Entry, int]) -> None:
        """A second cell, the same but for the code on its right, which is of the same kind and meaning."""
        rights = {
            code
            for meaning in found.meaning.values()
            for code in meaning
            if list(meaning.values()).count(meaning[code]) > 1
        }
        self.solver.add(*self._lookup(self.twin, self.twin_plain, sorted(rights)))
        self.solver.add(self.twin_after == self._changed(self.twin_plain, self.twin, changes))

    def _twins(self, found: _Found, kind: str) -> Formula:
        meaning = found.meaning[kind]
        pairs = ((a, b) for a, b in itertools.combinations(sorted(meaning), 2) if meaning[a] == meaning[b])
        return z3.Or(*(z3.And(self.right == a, self.twin == b) for a, b in pairs))

    def _unrest(self, found: _Found) -> dict[str, int] | None:
        differ = self.after != self.twin_after
        left = self._one_of(self.left, {*found.ground, self.outside})
        cell = self._ask(self._ground_cell(found, False), left, self._twins(found, GROUND_KIND), differ)
        for kind, right_kind in self.PAIRS:
            if cell is None and right_kind is not None:
                left = z3.Or(*self._left_at_rest(found, kind))
                cell = self._ask(self._cell(found, kind, right_kind), left, self._twins(found, right_kind), differ)
        return cell

    def _misreading(self, found: _Found) -> dict[str, int] | None:
        for kind, right_kind in self.PAIRS:
            value, last = self._value(kind), right_kind is None
            nothing, number = self._left_at_rest(found, kind)
            stands = (
                z3.Or(nothing, number)
                if last
                else z3.And(z3.Or(nothing, number), z3.Not(self._never(found, kind, nothing, number)))
            )
            blank = z3.And(value == 0, nothing, not last)
            reads_blank = self._one_of(self.after, (c for c in range(self.outside) if self.table.outputs[c] == PAD))
            reads_digit = z3.Or(
                *(
                    z3.And(self.after == code, z3.Or(value == digit, value == digit + TEN))
                    for code in range(self.outside)
                    if 0 <= (digit := self.table.outputs[code] - FIRST_DIGIT) < TEN
                )
            )
            right = z3.If(blank, reads_blank, reads_digit)
            cell = self._ask(self._cell(found, kind, right_kind), stands, z3.Not(right))
            if cell is not None:
                return cell
        return None


def placement_is_right(table: RuleTable) -> bool:
    wanted = {ADD.alphabet.sign_symbol: 1, PAD: 2, ADD.alphabet.equals_symbol: 2}
    return all(table.actions[symbol] == wanted.get(symbol, 0) for symbol in range(len(ADD.alphabet.symbols)))


# Without induction: every small sum, from any start


def _settled(table: RuleTable, x: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`state` [B, H, W] after 2·H·W plain steps, and [B] whether it is at rest then."""
    height, width = x.shape[1:]
    before = state
    for _ in range(2 * height * width + 1):
        before = state
        padded = np.pad(state, ((0, 0), (0, 1), (1, 1)), constant_values=table.outside)
        state = table.steps[x, padded[:, :-1, :-2], padded[:, :-1, 2:], padded[:, 1:, 1:-1]]
    return before, (state == before).all((1, 2))


def grids(sums: Sequence[Sequence[str]], width: int) -> np.ndarray:
    """The symbols of the cells [B, H, W]: the last term on top, one empty row below."""
    x = np.full((len(sums), len(sums[0]) + 1, width), NOTHING)
    for grid, terms in zip(x, sums, strict=True):
        for row, term in enumerate(reversed(terms)):
            sign = [PLUS_SIGN] if row < len(terms) - 1 else []
            written = [*sign, *(int(digit) for digit in term)]
            grid[row, width - len(written) :] = written
    return x


@cache
def _small_sums() -> list[tuple[list[tuple[str, ...]], np.ndarray, list[str]]]:
    """All sums of a few small shapes, in the narrowest grid and in a wider one: terms, cells and what must be read."""
    numbers = {size: ["".join(digits) for digits in itertools.product("0123456789", repeat=size)] for size in (1, 2, 3)}
    shapes: list[list[tuple[str, ...]]] = [
        [(number,) for size in numbers for number in numbers[size]],
        list(itertools.product([*numbers[1], *numbers[2]], repeat=2)),
        list(itertools.product(numbers[1], repeat=3)),
        list(itertools.product("0159", repeat=4)),
        list(itertools.product(["0", "9", "09", "99", "199", "901"], repeat=3)),
    ]
    made = []
    for sums in shapes:
        least = max(len(term) for terms in sums for term in terms) + 2
        for width in (least, least + 2):
            made.append((sums, grids(sums, width), [str(sum(map(int, terms))).rjust(width) for terms in sums]))
    return made


def every_small_sum(table: RuleTable, starts: int = 3, seed: int = 0) -> str | None:
    """The first sum that some random start makes wrong, or None.

    One term of 1 to 3 digits, two of 1 or 2, three of 1, four of the digits 0, 1, 5 and 9, and some longer ones of
    three; leading zeros included.
    """
    chance = np.random.default_rng(seed)
    for sums, x, wanted in _small_sums():
        for _ in range(starts):
            state, rests = _settled(table, x, chance.integers(0, table.outside, x.shape, np.uint8))
            letters = np.array(ADD.alphabet.symbols)[np.array(table.outputs)[state[:, 0]]]
            for terms, row, still, result in zip(sums, letters, rests, wanted, strict=True):
                if not still or "".join(row) != result:
                    return "+".join(terms)
    return None


def main(arguments: Sequence[str]) -> int:
    path = Path(arguments[0]) if arguments else SHIPPED
    table = RuleTable.from_json(path.read_text())
    verdict, wrong = SecondChecker(table).check(), every_small_sum(table)
    said = "no cell breaks a condition" if verdict.proved else f"{verdict.condition} fails: {verdict.counterexample}"
    sys.stdout.write(f"{path.name}: {said} ({verdict.questions} questions to the solver)\n")
    sys.stdout.write("every small sum is right, from 3 random starts each\n" if wrong is None else f"wrong: {wrong}\n")
    return 0 if verdict.proved and wrong is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
