"""The alphabet, and expressions as people write them.

Σ = {PAD, 0..9, +, =}: 13 symbols, known to the network by their position in `ALPHABET`. An expression is
a tuple of terms, each a string of ASCII digits, leading zeros included::

    >>> parse("523 + 102 + 9416 =")
    ('523', '102', '9416')
    >>> decode(encode(("523", "102")))
    '523+102='
    >>> exact_sum(("999", "1"))
    '1000'
"""

from collections.abc import Iterable, Sequence

PAD, PLUS, EQUALS = 0, 11, 12
FIRST_DIGIT = 1
ALPHABET = (" ", *"0123456789", "+", "=")

_CODES = {symbol: code for code, symbol in enumerate(ALPHABET)}
_DIGITS = frozenset("0123456789")
# Python refuses (and is slow at) conversions of very long integers, so sums are made in pieces of this size.
_PIECE = 4000


class ExpressionError(ValueError):
    """An expression that cannot be read; the message says what to mend."""


def parse(text: str) -> tuple[str, ...]:
    """The terms of `text`; spaces and a closing `=` are optional."""
    compact = "".join(text.split())
    if not compact:
        raise ExpressionError("the expression is empty; write a sum such as 523+102")
    for character in compact:
        if character not in _DIGITS and character not in "+=":
            raise ExpressionError(_explain(character))
    if compact.count("=") > 1:
        raise ExpressionError("there is more than one '='; write it once, at the end, or leave it out")
    if "=" in compact[:-1]:
        raise ExpressionError("'=' stands before the end; write it last, or leave it out")
    body = compact.removesuffix("=")
    if not body:
        raise ExpressionError("there is nothing before '='; write a sum such as 523+102")
    if body.startswith("+"):
        raise ExpressionError("the expression begins with '+'; put a term before it or remove it")
    if body.endswith("+"):
        raise ExpressionError("the expression ends with '+'; put a term after it or remove it")
    terms = tuple(body.split("+"))
    if "" in terms:
        raise ExpressionError("a term is empty between two '+'; write a number there or remove one '+'")
    _refuse_split_numbers(text)
    return terms


def _explain(character: str) -> str:
    if character == "-" or character in "−–":
        return "signs are not part of the task: only sums of non-negative whole numbers can be solved"
    if character.isdigit() or character.isnumeric():
        code = f"U+{ord(character):04X}"
        return f"{character!r} ({code}) is not one of the digits 0-9; write it with ASCII digits"
    if character in ".,":
        return f"{character!r} is not allowed: terms are whole numbers, written without separators"
    return f"{character!r} is not allowed; an expression holds only the digits 0-9, '+' and one '='"


def _refuse_split_numbers(text: str) -> None:
    """`1 2+3` is more likely a forgotten `+` than the number twelve."""
    for piece in text.replace("=", "+").split("+"):
        if len(piece.split()) > 1:
            shown = " ".join(piece.split())
            raise ExpressionError(f"{shown!r} has a space inside a number; join the digits or put a '+' between them")


def render(terms: Iterable[str]) -> str:
    """`terms` as the network reads them: joined by `+` and closed by `=`."""
    return "+".join(terms) + "="


def encode(terms: Iterable[str]) -> list[int]:
    return [_CODES[character] for character in render(terms)]


def decode(codes: Iterable[int]) -> str:
    """The symbols of `codes`, PAD left out."""
    return "".join(ALPHABET[code] for code in codes if code != PAD)


def exact_sum(terms: Sequence[str]) -> str:
    """The true sum without leading zeros, in time linear in the number of digits."""
    longest = max(len(term) for term in terms)
    pieces: list[str] = []
    carry = 0
    for low in range(0, longest, _PIECE):
        ends = (max(0, len(term) - low) for term in terms)
        column = carry + sum(
            int(term[max(0, end - _PIECE) : end] or "0") for term, end in zip(terms, ends, strict=True)
        )
        carry, rest = divmod(column, 10**_PIECE)
        pieces.append(str(rest).zfill(_PIECE))
    pieces.append(str(carry))
    return "".join(reversed(pieces)).lstrip("0") or "0"


def columns_needed(count: int, digits: int) -> int:
    """Columns that the sum of `count` terms of `digits` digits can need.

    The largest is count · (10^digits − 1), which is (count − 1) · 10^digits and less than 10^digits more.
    """
    if digits < len(str(count)):  # then it may be less; and it is small enough to be written out
        return len(str(count * (10**digits - 1)))
    return digits + (len(str(count - 1)) if count > 1 else 0)
