"""What a task is."""

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gridsum.tasks.alphabet import LETTERS, PAD, Alphabet

if TYPE_CHECKING:
    import numpy as np

BLANKS_COUNT: Mapping[str, Any] = {f"phases.{phase}.pad_weight": 1.0 for phase in ("soft", "bits", "long")}
"""Settings for a task whose results have leading zeros that its terms do not have: a blank counts as a digit does."""
LONGER: Mapping[str, Any] = {"phases.bits.steps": 4000, "phases.long.steps": 2000}
"""Settings for a task whose columns hand on more than one carry."""
DECIMAL = 10
_THOUSANDS = re.compile(r"(?<![\d,])\d{1,3}(,\d{3})+(?![\d,])")


class ExpressionError(ValueError):
    """An expression that cannot be read; the message says what to mend."""


@dataclass(frozen=True)
class RowRule:
    """What the columns of a task do, by which a rule that was learned can be proved; training never sees it.

    The first term stands as it is. Every other one changes the number in the row below, column by column, from right to
    left or from left to right. Carries are numbers, and 0 comes in at the border.
    """

    column: Callable[[int | None, int | None, int], tuple[int, int] | None]
    """Own digit, the digit below, the carry that comes in → digit and carry; None where this never happens. There is
    no own digit at a sign or where a cell is empty, and no digit below over a blank."""
    nothing: int = 0
    """The carry of a digit of the first term, and of a blank."""
    rightward: bool = False
    """Whether carries go to the right. Then the first term is treated as the others are."""
    name: Callable[[int], str] = str
    """What a carry is called, in a few letters."""
    coq: str = ""
    """What the theorem about it is called in `proof/`, and the rule there; empty where there is none."""


class Task(ABC):
    """Problems of terms that are joined by signs: how they are written, and what the answer is.

    A new task says its `kind`, `signs` and what it `asks`, defines `result`, and `columns` where an answer can be
    longer than the longest term. Of several signs each term but the first begins with its own: ("523", "-102").
    """

    kind: str
    """Its name, but for its base."""
    signs: str = "+"
    """Those that stand between terms, mostly one."""
    asks: str = ""
    """What is asked, in a few words."""
    most_terms: int | None = None
    """The most terms that a problem can have, where there is such a number."""
    suites: tuple[str, ...] = ("[1,4]x[1,10]", "2x15", "2x100", "[5,6]x[1,10]")
    """What it is measured on, where nothing else is said; of those with too many terms, none."""
    unwritten: int = 0
    """What `result` is given where nothing is written."""
    settings: Mapping[str, Any] = {}
    """What is different in the configuration of `exact` where it learns this task."""

    def __init__(self, base: int = DECIMAL) -> None:
        self.alphabet = Alphabet(base, self.signs)
        plain = base == DECIMAL
        self.name = self.kind if plain else f"{self.kind}:base={base}"
        self.meaning = self.asks if plain else f"{self.asks} in base {base}"

    def __deepcopy__(self, memo: Any) -> "Task":
        """A task never changes, so copies of a network share it."""
        return self

    def answer(self, terms: Sequence[str]) -> str:
        """The exact answer, without leading zeros."""
        digits, *signs = self.numbers(terms)
        found = self.result(digits, self.columns(*digits.shape), *signs)
        return "".join(LETTERS[int(digit)] for digit in reversed(found)).lstrip("0") or "0"

    def numbers(self, terms: Sequence[str]) -> "tuple[np.ndarray, ...]":
        """The digits of terms [N,D], units first; and where there are several signs the number of each one's [N]."""
        import numpy as np

        digits, signs = np.full((len(terms), self.longest(terms)), self.unwritten), self.alphabet.signs
        for row, term in zip(digits, terms, strict=True):
            written = term.lstrip(signs)
            row[: len(written)] = [LETTERS.index(digit) for digit in reversed(written)]
        several = (np.array([max(0, signs.find(term[0])) for term in terms]),) if len(signs) > 1 else ()
        return digits, *several

    def longest(self, terms: Iterable[str]) -> int:
        """How many digits the longest term has."""
        return max(len(term.lstrip(self.alphabet.signs)) for term in terms)

    def columns(self, terms: int, digits: int) -> int:  # noqa: ARG002
        """The most digits that an answer to so many terms of so many digits can have."""
        return digits

    @abstractmethod
    def result(self, digits: Any, columns: int, *signs: Any) -> list[Any]:
        """The digits of the answers, units first, one tensor [...] for each of so many columns.

        `digits` [...,N,D] are those of N terms, units first, and `unwritten` where nothing is. Where the alphabet has
        several signs, their numbers [...,N] follow. Tensors are used as arrays are, so both will do.
        """

    def arrange(self, lengths: Any, digits: Any, *signs: Any) -> tuple[Any, Any]:  # noqa: ARG002
        """Drawn lengths [...,N], 0 where there is no term, and digits [...,N,D] as a problem may have them."""
        return lengths, digits

    @property
    def row(self) -> RowRule | None:
        """What its columns do, by which a rule can be proved; None where nothing can."""
        return None

    def check(self, terms: Sequence[str]) -> None:
        """Refuse terms that have no answer, with an `ExpressionError`."""
        if self.most_terms is not None and len(terms) > self.most_terms:
            raise ExpressionError(f"{self.name} takes at most {self.most_terms} terms, and these are {len(terms)}")

    def render(self, terms: Iterable[str]) -> str:
        """Terms as the network reads them: joined by the sign and closed by `=`."""
        return (self.alphabet.signs if len(self.alphabet.signs) == 1 else "").join(terms) + "="

    def encode(self, terms: Iterable[str]) -> list[int]:
        return self.alphabet.encode(self.render(terms))

    def decode(self, codes: Iterable[int]) -> str:
        """The symbols of codes, PAD left out."""
        return "".join(self.alphabet.symbols[code] for code in codes if code != PAD)

    def parse(self, text: str) -> tuple[str, ...]:
        """The terms of `text`; spaces and a closing `=` are optional. Thousands may be set apart by commas, and numbers
        may stand under each other."""
        signs = self.alphabet.signs
        if self._usual.fullmatch(text):
            terms = self._split(text)
            self.check(terms)
            return terms
        if self.alphabet.base > 10:
            text = text.lower()
        text = self._in_a_line(_THOUSANDS.sub(lambda number: number[0].replace(",", ""), text))
        body = "".join(text.split()).removesuffix("=")
        if not body:
            raise ExpressionError(f"the expression is empty; write a problem such as {self.problem}")
        for character in body:
            if character not in self.alphabet.digits and character not in f"{signs}=":
                raise ExpressionError(self.explain(character))
        if "=" in body:
            raise ExpressionError("'=' stands before the end; write it once, last, or leave it out")
        for letter, stands, side in ((body[0], "begins", "before"), (body[-1], "ends", "after")):
            if letter in signs:
                raise ExpressionError(f"the expression {stands} with '{letter}'; put a term {side} it or remove it")
        for one, other in itertools.pairwise(body):
            if one in signs and other in signs:
                two = f"two '{one}'" if one == other else f"'{one}' and '{other}'"
                raise ExpressionError(f"a term is empty between {two}; write a number there or remove one '{other}'")
        # `1 2+3` is more likely a forgotten `+` than the number twelve.
        for piece in map(str.split, re.split(f"[{re.escape(signs)}=]", text)):
            if len(piece) > 1:
                mend = f"join the digits or put a '{signs[0]}' between them"
                raise ExpressionError(f"'{' '.join(piece)}' has a space inside a number; {mend}")
        terms = self._split(body)
        self.check(terms)
        return terms

    def _split(self, text: str) -> tuple[str, ...]:
        signs = self.alphabet.signs
        return tuple(text.split(signs) if len(signs) == 1 else re.split(f"(?=[{re.escape(signs)}])", text))

    def _in_a_line(self, text: str) -> str:
        """Numbers that stand under each other, as they were pasted, with signs between them; rules are left out."""
        signs = tuple(self.alphabet.signs)
        lines = [line.strip() for line in text.splitlines()]
        joined = ""
        for line in (line for line in lines if line.strip("-_=─ ") or line == "="):
            between = joined and not joined.endswith(signs) and not line.startswith((*signs, "="))
            joined += f"{signs[0] if between else ''}{line}"
        return joined if len(lines) > 1 else text

    @cached_property
    def _usual(self) -> re.Pattern[str]:
        """A problem in which nothing is to be mended."""
        number = f"[{self.alphabet.digits}]+"
        return re.compile(f"{number}(?:[{re.escape(self.alphabet.signs)}]{number})*")

    @property
    def problem(self) -> str:
        """One to try a solver with."""
        return f"{self.alphabet.write(523)}{self.alphabet.signs[-1]}{self.alphabet.write(102)}"

    def explain(self, character: str) -> str:
        """Why a character cannot stand in an expression."""
        alphabet = self.alphabet
        if character.isnumeric():
            if character.isascii():
                return f"{character!r} is not a digit in base {alphabet.base}; write numbers with the digits {alphabet}"
            code = f"U+{ord(character):04X}"
            return f"{character!r} ({code}) is not one of the digits {alphabet}; write it with ASCII digits"
        if character in ".,":
            return f"{character!r} is not allowed here: terms are whole numbers, such as 1000 or 1,000"
        signs = ", ".join(f"'{sign}'" for sign in alphabet.signs)
        return f"{character!r} is not allowed; an expression holds only the digits {alphabet}, {signs} and one '='"

    def __repr__(self) -> str:
        return f"<task {self.name}: {self.meaning}>"
