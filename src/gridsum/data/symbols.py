"""The alphabet and the expressions of the default task, sums of decimal numbers.

A network knows symbols by their position in `ALPHABET`. An expression is a tuple of terms, each a string of ASCII
digits, leading zeros included::

    >>> parse("523 + 102 + 9416 =")
    ('523', '102', '9416')
    >>> decode(encode(("523", "102")))
    '523+102='
    >>> exact_sum(("999", "1"))
    '1000'
"""

from gridsum.tasks import FIRST_DIGIT, PAD, ExpressionError, find

__all__ = [
    "ALPHABET",
    "EQUALS",
    "FIRST_DIGIT",
    "PAD",
    "PLUS",
    "ExpressionError",
    "columns_needed",
    "decode",
    "encode",
    "exact_sum",
    "parse",
    "render",
]

_TASK = find()
ALPHABET = _TASK.alphabet.symbols
PLUS, EQUALS = _TASK.alphabet.sign_code, _TASK.alphabet.equals_code
parse, render, encode, decode = _TASK.parse, _TASK.render, _TASK.encode, _TASK.decode
exact_sum, columns_needed = _TASK.answer, _TASK.columns
