import random
from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.tasks import FIRST_DIGIT, PAD, ExpressionError
from tests.oracles.column_addition import ADD

numbers = st.text("0123456789", min_size=1, max_size=12)
expressions = st.lists(numbers, min_size=1, max_size=6).map(tuple)
blanks = st.sampled_from(["", " ", "  ", "\t", "\n"])


def test_alphabet_is_the_paper_s():
    assert ADD.alphabet.symbols == tuple(" 0123456789+=")
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
    ("hint", "texts"),
    {
        "the expression is empty": ["", " \t\n", "="],
        "term is empty": ["1++2", "1+ +2"],
        r"begins with '\+'": ["+1", "+"],
        r"ends with '\+'": ["1+", "1+="],
        "before the end": ["1+2==", "=1+2=", "1=+2", "=1+2", "1+2= 3"],
        r"'([aex_]|\\u200b)' is not allowed": ["12a+3", "1e5", "0x1F", "1_000", "1\u200b+2"],
        "signs": ["-1+2", "1-2", "1−2"],
        "whole numbers": ["1.5+2", "1,00+2"],
        r"U\+(FF11|0663|00B2|00BD)": ["１２+3", "٣+4", "2²+1", "½+1"],
        "space inside a number": ["1 2+3", "3+1\t2="],
    }.items(),
)
def test_what_cannot_be_read_is_explained(hint, texts):
    for text in texts:
        with pytest.raises(ExpressionError, match=hint):
            ADD.parse(text)


@pytest.mark.parametrize("length", [4300, 4301, 8001, 12345])
@pytest.mark.parametrize("count", [1, 11])
def test_exact_sum_of_long_terms(length, count):
    chooser = random.Random(length * 100 + count)
    terms = ["".join(chooser.choices("0123456789", k=length - chooser.randrange(3) * 1000)) for _ in range(count)]
    with localcontext(prec=20_000):  # Python refuses to write integers beyond 4300 digits
        assert ADD.answer(terms) == str(sum(map(Decimal, terms)))
