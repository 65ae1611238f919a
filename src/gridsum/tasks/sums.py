"""Sums, differences, and both in one expression, in any base from 2 to 36."""

from collections.abc import Mapping, Sequence
from typing import Any

from gridsum.tasks.task import BLANKS_COUNT, DECIMAL, LONGER, ExpressionError, RowRule, Task

# Python refuses (and is slow at) conversions of very long integers, so sums are made in pieces of this size.
_PIECE = 4000
# Of so many terms that are taken away one is arranged so that little is left.
_SOME = 3


class Mixed(Task):
    """Numbers that are added and subtracted from left to right, and never below 0 on the way.

    >>> mixed = Mixed()
    >>> mixed.answer(mixed.parse("523-102+416"))
    '837'
    """

    kind, signs, asks = "mixed", "+-", "sums and differences"
    settings: Mapping[str, Any] = {**BLANKS_COUNT, **LONGER, "phases.place.steps": 4000, "rule.bits": 10}

    def check(self, terms: Sequence[str]) -> None:
        super().check(terms)
        digits, *signs = self.numbers(terms)
        so_far = self._carried(self._signed(digits, *signs).cumsum(-2), self.columns(*digits.shape) + 1)[-1]
        below = next((place for place, beyond in enumerate(so_far) if beyond), None)
        if below is not None:
            shown = self.render(terms[: below + 1]).removesuffix("=")
            raise ExpressionError(f"{shown} is less than 0, and negative results are not part of the task {self.name}")

    def columns(self, terms: int, digits: int) -> int:
        """The largest sum is n · (b^d − 1), which is (n − 1) · b^d and less than b^d more."""
        base, write = self.alphabet.base, self.alphabet.write
        if digits < len(write(terms)):  # then it may be less; and it is small enough to be written out
            return len(write(terms * (base**digits - 1)))
        return digits + (len(write(terms - 1)) if terms > 1 else 0)

    def result(self, digits: Any, columns: int, *signs: Any) -> list[Any]:
        return self._carried(self._signed(digits, *signs).sum(-2), columns)

    def arrange(self, lengths: Any, digits: Any, *signs: Any) -> tuple[Any, Any]:
        """The longest term changes places with the first. One that is taken away and too large is made smaller.

        Of some, the difference is taken away instead, which leaves what was drawn: else short results of long terms, in
        which a borrow goes on over leading zeros, would hardly ever come. In others the first term has many zeros, and
        the largest digit is taken from a 0 where it can be: there a borrow goes on.
        """
        first = lengths.argmax(-1, keepdim=True)
        order = ((lengths * 0 + 1).cumsum(-1) - 1).scatter(-1, first, 0)
        order[..., :1] = first
        lengths, digits = lengths.gather(-1, order), digits.gather(-2, order[..., None].expand_as(digits))
        places, zero, most_of_all = range(digits.shape[-1]), lengths[..., 0] * 0, self.alphabet.base - 1
        zeros = digits.sum((-1, -2)) % _SOME == 0
        digits[..., 0, :] *= ~(zeros[..., None] & (2 * digits[..., 0, :] < most_of_all))
        left = [digits[..., 0, place] * (place < lengths[..., 0]) for place in places]
        left += [zero] * (self.columns(*digits.shape[-2:]) - len(left))
        for term in range(1, digits.shape[-2]):
            less = signs[0][..., term] if signs else zero + 1
            instead = (digits[..., term, :].sum(-1) + lengths[..., term] + term) % _SOME == 0
            tight, carry = (sum(left[len(places) :], zero) == 0) & (less == 1), zero
            for place in reversed(places):
                own, most = digits[..., term, place] * (place < lengths[..., term]), left[place]
                own = own - tight * (own > most) * (own - own % most.clamp(min=1))
                on = zeros & ~tight & (less == 1) & (most == 0) & (place < lengths[..., term])
                own = own + on * (most_of_all - own)
                digits[..., term, place] = own
                tight = tight & (own == most)
            rest = left[:]
            for place, before in enumerate(left):
                value = before + carry + (digits[..., term, place] * (1 - 2 * less) if place in places else 0)
                rest[place], carry = value % self.alphabet.base, value // self.alphabet.base
            instead = instead & (less == 1) & (lengths[..., term] > 0) & (sum(rest[len(places) :], zero) == 0)
            for place in places:
                change = instead * (rest[place] - digits[..., term, place])
                digits[..., term, place] += change
                rest[place] = rest[place] - change
            longest = len(places) if signs else lengths[..., 0]
            lengths[..., term] += instead * (longest - lengths[..., term])
            left = rest
        return lengths, digits

    @property
    def row(self) -> RowRule:
        """A carry is 1, and 2 is a borrow. Digits that are taken away are told as so many more than the base."""

        def column(own: int | None, below: int | None, carry: int) -> tuple[int, int] | None:
            less, digit = divmod(own or 0, self.alphabet.base)
            if (own is not None and carry == 2 - less) or (below is None and carry == 2):
                return None
            on, digit = divmod((below or 0) + digit * (1 - 2 * less) + (0, 1, -1)[carry], self.alphabet.base)
            return None if below is None and on < 0 else (digit, on % 3)

        return RowRule(column, name=("", "1", "−").__getitem__)

    def _signed(self, digits: Any, *signs: Any) -> Any:
        """The digits of each term as they count."""
        return digits * (1 - 2 * signs[0])[..., None]

    def _carried(self, totals: Any, columns: int) -> list[Any]:
        """Totals of columns [...,D] as digits. The carry is less than 0 where the total is."""
        carry, result = totals[..., 0] * 0, []
        for column in range(columns):
            value = carry + totals[..., column] if column < totals.shape[-1] else carry
            result.append(value % self.alphabet.base)
            carry = value // self.alphabet.base
        return result


class Subtraction(Mixed):
    """A number less any number of others, never below 0.

    >>> subtract = Subtraction()
    >>> subtract.answer(subtract.parse("900-1-23"))
    '876'
    """

    kind, signs, asks = "subtract", "-", "differences"
    columns = Task.columns
    settings: Mapping[str, Any] = {
        **BLANKS_COUNT,
        "phases.place.steps": 3200,
        "rule.bits": 10,
        "phases.long.steps": 2000,
    }

    def __init__(self, base: int = DECIMAL) -> None:
        super().__init__(base)
        if base == 2:  # a borrow over several columns needs longer terms
            longer = {"phases.place.digits": (1, 5), "phases.long.digits": (1, 8), "phases.long.recurrent": (8, 16)}
            self.settings = {**BLANKS_COUNT, "phases.place.steps": 2400, **longer}

    @property
    def row(self) -> RowRule:
        def column(own: int | None, below: int | None, borrow: int) -> tuple[int, int] | None:
            borrow, digit = divmod((below or 0) - (own or 0) - borrow, self.alphabet.base)
            return None if below is None and borrow else (digit, -borrow)

        return RowRule(column, name=lambda borrow: "−" * borrow)

    def _signed(self, digits: Any, *signs: Any) -> Any:  # noqa: ARG002
        less = digits * -1
        less[..., 0, :] = digits[..., 0, :]
        return less


class Addition(Mixed):
    """Sums of any number of non-negative whole numbers.

    >>> add = Addition(2)
    >>> add.answer(add.parse("101 + 11"))
    '1000'
    """

    kind, signs, asks = "add", "+", "sums"
    check, arrange, settings = Task.check, Task.arrange, Task.settings

    def explain(self, character: str) -> str:
        if character == "-" or character in "−–":
            only = "minus signs are not allowed: only sums of non-negative whole numbers can be solved"
            return f"{only}. Differences are the task subtract: gridsum solve --task subtract 9-4"
        return super().explain(character)

    def answer(self, terms: Sequence[str]) -> str:
        """The true sum without leading zeros, in time linear in the number of digits."""
        base, write, pieces, carry = self.alphabet.base, self.alphabet.write, list[str](), 0
        for low in range(0, self.longest(terms), _PIECE):
            ends = (max(0, len(term) - low) for term in terms)
            parts = (term[max(0, end - _PIECE) : end] for term, end in zip(terms, ends, strict=True))
            carry, rest = divmod(carry + sum(int(part or "0", base) for part in parts), base**_PIECE)
            pieces.append(write(rest).zfill(_PIECE))
        return (write(carry) + "".join(reversed(pieces))).lstrip("0") or "0"

    @property
    def row(self) -> RowRule:
        def column(own: int | None, below: int | None, carry: int) -> tuple[int, int]:
            carry, digit = divmod((own or 0) + (below or 0) + carry, self.alphabet.base)
            return digit, carry

        return RowRule(column, coq="addition")

    def _signed(self, digits: Any, *signs: Any) -> Any:  # noqa: ARG002
        return digits
