"""Products with one-digit factors, the largest of numbers, and prefix sums of bits."""

from collections.abc import Mapping, Sequence
from typing import Any

from gridsum.tasks.alphabet import Alphabet
from gridsum.tasks.task import BLANKS_COUNT, LONGER, ExpressionError, RowRule, Task


class Times(Task):
    """A number times factors of one digit each.

    >>> times = Times()
    >>> times.answer(times.parse("123*4*7"))
    '3444'
    """

    kind, signs, asks = "times", "*", "a number times one-digit factors"
    unwritten = -1  # a factor that is not there is not a 0
    settings: Mapping[str, Any] = {**BLANKS_COUNT, **LONGER, "phases.place.steps": 3200, "rule.bits": 10}

    @property
    def problem(self) -> str:
        return f"{self.alphabet.write(523)}*{self.alphabet.digits[-1]}"

    def check(self, terms: Sequence[str]) -> None:
        super().check(terms)
        long = next((term for term in terms[1:] if len(term) > 1), None)
        if long is not None:
            raise ExpressionError(
                f"{long} has more than one digit, and times takes factors of one; the first may be long"
            )

    def columns(self, terms: int, digits: int) -> int:
        return digits + terms - 1

    def result(self, digits: Any, columns: int, *signs: Any) -> list[Any]:  # noqa: ARG002
        base, number = self.alphabet.base, digits[..., 0, :] * (digits[..., 0, :] >= 0)
        found = [number[..., place] if place < digits.shape[-1] else number[..., 0] * 0 for place in range(columns)]
        for term in range(1, digits.shape[-2]):
            factor, carry = digits[..., term, 0] + 2 * (digits[..., term, 0] < 0), 0
            for place in range(columns):
                value = found[place] * factor + carry
                found[place], carry = value % base, value // base
        return found

    def arrange(self, lengths: Any, digits: Any, *signs: Any) -> tuple[Any, Any]:  # noqa: ARG002
        """Factors have one digit. A 0 or 1, which makes a product say little, is drawn again."""
        lengths[..., 1:] = lengths[..., 1:].clamp(max=1)
        digits[..., 1:, 0] += (digits[..., 1:, 0] < 2) * (digits[..., 1:, -1] - digits[..., 1:, 0])
        return lengths, digits

    @property
    def row(self) -> RowRule:
        """A carry is 1 where the rest is 0; else it holds what is carried and, times the base, the factor."""
        base, zero = self.alphabet.base, 1

        def column(own: int | None, below: int | None, carry: int) -> tuple[int, int] | None:
            if own is not None:  # the factor, which stands in the last column
                factor, carried = own, 0
            else:
                factor, carried = divmod(carry - 2, base) if carry > zero else (0, 0)
            if (own is None) == (carry == 0) or (below is None and own is not None):
                return None
            carried, digit = divmod((below or 0) * factor + carried, base)
            rest = factor and (below is not None or carried)
            return digit, 2 + factor * base + carried if rest else zero

        def name(carry: int) -> str:
            factor, carried = divmod(carry - 2, base)
            return f"×{factor}" + (f"+{carried}" if carried else "") if carry > zero else ""

        return RowRule(column, zero, name=name)


class Maximum(Task):
    """The largest of any number of numbers.

    >>> largest = Maximum()
    >>> largest.answer(largest.parse("523^102^9416"))
    '9416'
    """

    kind, signs, asks = "max", "^", "the largest of numbers"
    # What goes right begins at the left border: few columns beyond the digits, and steps enough to cross them.
    settings: Mapping[str, Any] = {
        **BLANKS_COUNT,
        **LONGER,
        "rule.bits": 10,
        "discovery.spare_columns": 1,
        "phases.bits.recurrent": (5, 10),
        "phases.long.recurrent": (8, 16),
    }

    def result(self, digits: Any, columns: int, *signs: Any) -> list[Any]:  # noqa: ARG002
        found = [digits[..., 0, place] for place in range(columns)]
        for term in range(1, digits.shape[-2]):
            order, other = found[0] * 0, [digits[..., term, place] for place in range(columns)]
            for before, own in zip(found, other, strict=True):
                order = (own > before) * 1 - (own < before) * 1 + (own == before) * order
            found = [before + (order > 0) * (own - before) for before, own in zip(found, other, strict=True)]
        return found

    def arrange(self, lengths: Any, digits: Any, *signs: Any) -> tuple[Any, Any]:  # noqa: ARG002
        """Half of the terms begin as the first does: else the first digits would nearly always decide."""
        for term in range(1, digits.shape[-2]):
            drawn = digits[..., term, :].sum(-1) + lengths[..., term] + term
            alike = (drawn % 2 == 0) & (lengths[..., term] > 0)
            own = drawn // 2 % lengths[..., 0].clamp(min=1)  # so many of its last digits are its own
            for place in range(digits.shape[-1]):
                change = (alike & (place > own)) * (digits[..., 0, place] - digits[..., term, place])
                digits[..., term, place] += change
            lengths[..., term] += alike * (lengths[..., 0] - lengths[..., term])
        return lengths, digits

    @property
    def row(self) -> RowRule:
        """A carry says which number is larger by the digits so far: 1 its own, 2 the one below, 3 neither; 0 is before
        the first digit that is not 0."""

        def column(own: int | None, below: int | None, larger: int) -> tuple[int, int]:
            one, other = own or 0, below or 0
            if larger not in (1, 2):
                larger = 1 if one > other else 2 if one < other else 3 if one else larger
            return (one if larger == 1 else other), larger

        return RowRule(column, rightward=True, name=("", ">", "<", "=").__getitem__)


class Prefix(Task):
    """Prefix sums modulo two of one row of bits: at every place, whether the ones so far are odd in number.

    >>> prefix = Prefix()
    >>> prefix.answer(prefix.parse("0110"))
    '100'
    """

    kind = name = "prefix"
    asks = "prefix sums modulo 2 of a row of bits"
    most_terms = 1
    suites = ("1x32", "1x128", "1x512")

    def __init__(self) -> None:
        self.alphabet, self.meaning = Alphabet(2, self.signs), self.asks

    def result(self, digits: Any, columns: int, *signs: Any) -> list[Any]:  # noqa: ARG002
        odd, written = digits[..., 0, 0] * 0, []
        for place in reversed(range(columns)):
            odd = (odd + digits[..., 0, place]) % 2 if place < digits.shape[-1] else odd
            written.append(odd)
        return written[::-1]
