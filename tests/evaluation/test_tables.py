"""Tables of records: their numbers, what their captions say, and how they are printed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.evaluation.rendering import TableError, to_markdown, to_text
from gridsum.evaluation.suites import COLLECTIONS, NINES
from gridsum.evaluation.tables import TABLES, accuracy_text, score_text
from tests.oracles.records import make_record

shares = st.integers(1, 10**9).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@given(shares)
def test_an_accuracy_and_its_interval_as_printed(share: tuple[int, int]) -> None:
    right, total = share
    text = accuracy_text(right / total)
    assert abs(float(text) - right / total) <= 0.01
    assert text == "0.99" or not 0.99 <= right / total < 1
    value, low, high = re.split(r"[ (–)]+", score_text(make_record(sequences_right=right, samples=total), "seq"))[:3]
    assert float(low) <= float(value) <= float(high)
    for printed in (text, value):
        assert (printed == "1.0") == (right == total)
        assert (printed == "0.0") == (right == 0)


def test_comparison() -> None:
    records = [
        make_record(sequences_right=1, evaluation_seed=7),  # of several the last one counts
        make_record(),
        make_record(suite="2x602", chars_right=10, chars_valid=10, sequences_right=0),
        make_record(model="mine", variant="external", seed=None, halting="–", placement="–", sequences_right=640),
    ]
    table = TABLES["comparison"](records)
    assert len(table.rows) == 2 * 7
    assert table.header == ("suite", "model", "char", "paper", "seq", "paper")
    assert table.rows[0] == ("2x15", "base", "0.999 (0.998–1.000)", "1.0", "0.938 (0.916–0.954)", "1.0")
    assert table.rows[1] == ("", "mine", "0.999 (0.998–1.000)", "1.0", "1.0 (0.994–1.000)", "1.0")
    assert table.rows[2] == ("2x100", "base", "–", "0.99", "–", "0.99")
    assert table.rows[4] == ("2x602", "base", "1.0 (0.722–1.000)", "0.98", "0.0 (0.000–0.006)", "0.0")


@pytest.mark.parametrize(("name", "suite"), [("comparison", "2x15"), ("long-terms", "8x5"), ("ablation", "2x602")])
def test_rows_of_nines_stand_under_random_digits(name: str, suite: str) -> None:
    nines = make_record(suite=NINES, sequences_right=320)
    alone = make_record(model="other", suite=NINES)
    *_, line = TABLES[name]([make_record(suite=suite), nines, alone]).rows
    assert line[:2] == (NINES, "base"), "of models that have the table's own suites"
    assert "0.50" in line[-2]


def test_the_caption_says_how_the_numbers_came_about() -> None:
    changes = {"samples": 1280, "evaluation_seed": 10, "halting": "converged"}
    caption = TABLES["comparison"]([make_record(), make_record(suite="2x100", **changes)]).caption
    assert caption.startswith(
        "Halting bernoulli, converged; placement soft; training seed 3; evaluation seed 0, 10; gridsum 0.1.0; "
        "samples per suite 640, 1280. In brackets the Wilson 95% interval"
    )


def test_lines_are_told_apart_by_what_differs() -> None:
    one, other = make_record(), make_record(seed=10)
    assert TABLES["comparison"]([other, one]).header[:4] == ("suite", "model", "seed", "char")
    assert [row[2] for row in TABLES["comparison"]([other, one]).rows[:2]] == ["3", "10"]
    table = TABLES["comparison"]([one, make_record(model="long", halting="converged", placement="hard")])
    assert table.header[:6] == ("suite", "model", "variant", "halting", "placement", "char")
    assert table.rows[1][:5] == ("", "long", "base", "converged", "hard")


def test_the_paper_stands_beside_the_variant_it_reports() -> None:
    models = [("base", "base"), ("noGroups", "noGroups"), ("mine", "external")]
    records = [make_record(model=model, variant=variant, suite="2x2000") for model, variant in models]
    rows = [row for row in TABLES["long-digits"](records).rows if row[-2] != "–"]
    assert [row[-1] for row in rows] == ["–", "0.81", "0.81"], "what the paper does not have stands beside its first"
    many = TABLES["long-terms"]([make_record(suite="8x5")])
    assert [row[-1] for row in many.rows] == ["1.0", "0.98", "0.86", "0.40", "0.09", "0.03"]


def test_ablation() -> None:
    """Means over seeds; two models that were trained from one seed are never mixed."""
    runs = [("base", "base", right) for right in (0, 320, 640)]
    runs += [("SASA", "SASA", 64), ("more", "base", 640), ("mine", "external", 640)]
    records = [
        make_record(model=model, variant=variant, suite="2x602", seed=seed, sequences_right=right)
        for seed, (model, variant, right) in enumerate(runs)
    ]
    table = TABLES["ablation"](records)
    assert table.header == ("suite", "model", "variant", "n", "char", "paper", "seq", "paper")
    ours, papers = ("0.99±0.00 (0.99)", "0.50±0.50 (1.0)"), ("0.23±0.27 (0.98)", "0.0±0.00 (0.0)")
    assert table.rows[0] == ("2x602", "base", "base", "3", ours[0], papers[0], ours[1], papers[1])
    assert [(row[1], row[3], row[-2]) for row in table.rows[1:3]] == [("more", "1", "1.0"), ("SASA", "1", "0.10")]
    assert table.rows[3][2:] == ("base", "0", "–", "0.93±0.09 (0.98)", "–", "0.72±0.24 (0.90)")
    assert len(table.rows) == 3 * 3


def test_examples() -> None:
    answers = ("11139", "11139", "no\nidea | " + "x" * 99, "", "1", "2", "3", "7")
    record = make_record(suite="examples", samples=8, sequences_right=3, answers=answers)
    table = TABLES["examples"]([make_record(suite="examples", seed=9), record])
    assert table.header == ("problem", "sum", "paper", "base")
    assert table.rows[0] == ("11134+1+1+1+1+1=", "11139", "139", "11139 ✓")
    assert table.rows[3] == ("99999+1=", "100000", "100000 ✓", "–")
    assert table.rows[-1] == ("right", "", "3 of 8", "3 of 8")
    assert max(len(row[3]) for row in table.rows) <= 24


def test_scores_hold_every_model_on_every_suite() -> None:
    records = [make_record(suite="3x50", steps_max=None), make_record(model="mine", variant="external", seed=None)]
    rows = TABLES["scores"]([*records, make_record(suite="3x50", seed=4, steps_mean=None)]).rows
    assert [row[:3] for row in rows] == [("3x50", "base", "3"), ("", "base", "4"), ("2x15", "mine", "–")]
    assert [row[-1] for row in rows] == ["11.7", "–", "11.7 (19)"]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_records_says_how_to_make_them(name: str) -> None:
    known = name in COLLECTIONS
    others = [make_record(suite="3x50"), make_record(suite="examples")] if known else []
    suite = name if known else "comparison"
    with pytest.raises(TableError, match=rf"gridsum evaluate --model \w+ --suite {suite} --out records.jsonl"):
        TABLES[name](others)


@pytest.mark.parametrize("name", TABLES)
def test_text_fits_the_terminal_and_markdown_has_every_cell(name: str) -> None:
    """Two runs of three models on everything, and answers with what could break a table."""
    changes = {"answers": ("a|b", "\\_", "[*]", "\x1b[1m", "表")}
    full = [
        make_record(model=model, variant=model, suite=suite.name, seed=seed, **changes)
        for model in ("base", "noGroups", "mine")
        for seed in (3, 4)
        for suite in COLLECTIONS["all"]
    ]
    table = TABLES[name](full)
    words = {word for row in table.rows for cell in row for word in cell.split() if word.isprintable()}
    for width in (60, 200, None):
        text = to_text(table, width)
        assert max(map(len, text.split("\n"))) <= (width or 140)
        assert all(word in text for word in words) or width == 60
        assert "\x1b" not in text
    lines = [line for line in to_markdown(table).split("\n") if line.startswith("|")]
    assert len(lines) == len(table.rows) + 2
    assert all(len(re.findall(r"(?<!\\)\|", line)) == len(table.header) + 1 for line in lines)
