import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.tasks import FIRST_DIGIT, PAD, Addition, ExpressionError

ADD = Addition()

numbers = st.text("0123456789", min_size=1, max_size=12)
expressions = st.lists(numbers, min_size=1, max_size=6).map(tuple)
blanks = st.sampled_from(["", " ", "  ", "\t", "\n"])


@pytest.fixture
def long_integers():
    """Python refuses to write integers beyond 4300 digits unless asked."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(limit)


def test_alphabet_is_the_paper_s():
    assert ADD.alphabet.symbols == (" ", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+", "=")
    codes = (PAD, FIRST_DIGIT, ADD.alphabet.sign_symbol, ADD.alphabet.equals_symbol)
    assert [ADD.alphabet.symbols[code] for code in codes] == [" ", "0", "+", "="]


@given(expressions, st.booleans(), st.data())
def test_parse_ignores_blanks_around_symbols(terms, closed, data):
    text = data.draw(blanks)
    for index, term in enumerate(terms):
        text += ("+" if index else "") + data.draw(blanks) + term + data.draw(blanks)
    text += "=" + data.draw(blanks) if closed else ""
    assert ADD.parse(text) == terms


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "empty"),
        (" \t\n", "empty"),
        ("=", "nothing before '='"),
        ("1++2", "term is empty"),
        ("1+ +2", "term is empty"),
        ("+1", "begins with '\\+'"),
        ("+", "begins with '\\+'"),
        ("1+", "ends with '\\+'"),
        ("1+=", "ends with '\\+'"),
        ("1+2==", "more than one '='"),
        ("=1+2=", "more than one '='"),
        ("1=+2", "before the end"),
        ("=1+2", "before the end"),
        ("12a+3", "'a' is not allowed"),
        ("1e5", "'e' is not allowed"),
        ("0x1F", "'x' is not allowed"),
        ("1_000", "'_' is not allowed"),
        ("-1+2", "signs"),
        ("1-2", "signs"),
        ("1−2", "signs"),
        ("1.5+2", "whole numbers"),
        ("1,00+2", "whole numbers"),
        ("１２+3", "U\\+FF11"),
        ("٣+4", "U\\+0663"),
        ("2²+1", "U\\+00B2"),
        ("½+1", "U\\+00BD"),
        ("1\u200b+2", "not allowed"),
        ("1 2+3", "space inside a number"),
        ("3+1\t2=", "space inside a number"),
        ("1+2= 3", "before the end"),
    ],
)
def test_what_cannot_be_read_is_explained(text, hint):
    with pytest.raises(ExpressionError, match=hint):
        ADD.parse(text)


@given(st.text("0123456789+=-. a٣", max_size=12))
def test_any_text_is_read_or_refused(text):
    """Whatever comes, the outcome is an ExpressionError or terms that mean what the text says."""
    try:
        terms = ADD.parse(text)
    except ExpressionError:
        return
    assert ADD.render(terms).rstrip("=") == "".join(text.split()).rstrip("=")
    assert all(set(term) <= set("0123456789") and term for term in terms)


@pytest.mark.parametrize("length", [4300, 4301, 8001, 12345])
@pytest.mark.parametrize("count", [1, 11])
@pytest.mark.usefixtures("long_integers")
def test_exact_sum_of_long_terms(length, count):
    chooser = random.Random(length * 100 + count)
    terms = ["".join(chooser.choices("0123456789", k=length - chooser.randrange(3) * 1000)) for _ in range(count)]
    assert ADD.answer(terms) == str(sum(map(int, terms)))
