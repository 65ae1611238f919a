import csv
import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.evaluation.records import Record
from gridsum.evaluation.rendering import Table, TableError, to_csv, to_json, to_markdown, to_text
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import TABLES, accuracy_text, score_text

Make = Callable[..., Record]
shares = st.integers(1, 10**9).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@given(shares)
def test_the_rule_of_accuracies(share: tuple[int, int]) -> None:
    right, total = share
    text = accuracy_text(right / total)
    assert (text == "1.0") == (right == total)
    assert (text == "0.0") == (right == 0)
    assert abs(float(text) - right / total) <= 0.01
    if 0.99 <= right / total < 1:
        assert text == "0.99"


def test_comparison(make_record: Make) -> None:
    records = [
        make_record(sequences_right=1, evaluation_seed=7),  # of several the last one counts
        make_record(),
        make_record(suite="2x602", chars_right=10, chars_valid=10, sequences_right=0),
        make_record(model="mine", variant="external", seed=None, halting="–", placement="–", sequences_right=640),
    ]
    table = TABLES["comparison"](records)
    assert len(table.rows) == 2 * 7
    assert "evaluation seed 0;" in table.caption
    assert table.header == ("suite", "model", "char", "paper", "seq", "paper")
    assert table.rows[0] == ("2x15", "base", "0.999 (0.998–1.000)", "1.0", "0.938 (0.916–0.954)", "1.0")
    assert table.rows[1] == ("", "mine", "0.999 (0.998–1.000)", "1.0", "1.0 (0.994–1.000)", "1.0")
    assert table.rows[2] == ("2x100", "base", "–", "0.99", "–", "0.99")
    assert table.rows[4] == ("2x602", "base", "1.0 (0.722–1.000)", "0.98", "0.0 (0.000–0.006)", "0.0")


def test_the_caption_says_how_the_numbers_came_about(make_record: Make) -> None:
    records = [
        make_record(),
        make_record(suite="2x100", samples=1280, evaluation_seed=10, halting="converged"),
    ]
    caption = TABLES["comparison"](records).caption
    for part in (
        "Halting rules bernoulli, converged",
        "placement soft",
        "training seed 3",
        "evaluation seeds 0, 10",
        "640 (2x15), 1280 (2x100)",
        "Wilson 95%",
    ):
        assert part in caption
    assert "640 samples per suite" in TABLES["comparison"](records[:1]).caption


def test_lines_are_told_apart_by_what_differs(make_record: Make) -> None:
    one, other = make_record(), make_record(seed=10)
    assert TABLES["comparison"]([one]).header[:3] == ("suite", "model", "char")
    assert TABLES["comparison"]([other, one]).header[:4] == ("suite", "model", "seed", "char")
    assert [row[2] for row in TABLES["comparison"]([other, one]).rows[:2]] == ["3", "10"]
    varied = [one, make_record(model="long", halting="converged", placement="hard")]
    table = TABLES["comparison"](varied)
    assert table.header[:6] == ("suite", "model", "variant", "halting", "placement", "char")
    assert table.rows[1][:5] == ("", "long", "base", "converged", "hard")
    assert table.rows[1][-1] == "1.0"


def test_the_paper_stands_beside_the_variant_it_reports(make_record: Make) -> None:
    long = [
        make_record(model=name, variant=name, suite="2x2000", samples=128, sequences_right=1)
        for name in ("base", "noGroups")
    ]
    rows = [row for row in TABLES["long-digits"](long).rows if row[-2] != "–"]
    assert [(row[1], row[-3], row[-1]) for row in rows] == [("base", "–", "–"), ("noGroups", "0.99", "0.81")]
    mine = TABLES["long-digits"]([make_record(model="mine", variant="external", suite="2x2000")])
    assert [row[-1] for row in mine.rows if row[0] == "2x2000"] == ["0.81"], "what the paper does not have, beside its"
    assert "stand those of its noGroups" in mine.caption
    many = TABLES["long-terms"]([make_record(suite="8x5")])
    assert [row[-1] for row in many.rows] == ["1.0", "0.98", "0.86", "0.40", "0.09", "0.03"]


def seeds(make_record: Make, rights: list[int], **changes: object) -> list[Record]:
    return [make_record(suite="2x602", seed=i, sequences_right=n, **changes) for i, n in enumerate(rights)]


def test_ablation(make_record: Make) -> None:
    records = seeds(make_record, [0, 320, 640]) + seeds(make_record, [64], model="SASA", variant="SASA")
    records += seeds(make_record, [640], model="mine", variant="external")
    table = TABLES["ablation"](records)
    assert len(table.rows) == 2 * 3
    assert table.header == ("suite", "model", "n", "char", "paper", "seq", "paper")
    ours, papers = ("0.99±0.00 (0.99)", "0.50±0.50 (1.0)"), ("0.23±0.27 (0.98)", "0.0±0.00 (0.0)")
    assert table.rows[0] == ("2x602", "base", "3", ours[0], papers[0], ours[1], papers[1])
    assert table.rows[1][-2:] == ("0.10", "0.20±0.33 (0.95)"), "a single seed has no spread"
    assert table.rows[2][1:] == ("base", "0", "–", "0.93±0.09 (0.98)", "–", "0.72±0.24 (0.90)")
    assert "n − 1" in table.caption


def test_ablation_never_mixes_two_trainings_of_one_seed(make_record: Make) -> None:
    records = seeds(make_record, [64, 64]) + seeds(make_record, [640], model="overtrained")
    table = TABLES["ablation"](records)
    assert [row[1:4] for row in table.rows[:2]] == [("base", "base", "2"), ("overtrained", "base", "1")]
    assert [row[-2] for row in table.rows[:2]] == ["0.10±0.00 (0.10)", "1.0"]


def test_ablation_is_no_table_of_single_runs(make_record: Make) -> None:
    records = [make_record(model=name, variant=name, suite="2x602") for name in ("base", "SASA")]
    with pytest.raises(TableError, match=r"means over training seeds.*gridsum evaluate --model FOLDER"):
        TABLES["ablation"](records)


@given(shares)
def test_a_score_lies_in_its_interval_as_printed(make_record: Make, share: tuple[int, int]) -> None:
    right, total = share
    record = make_record(sequences_right=right, samples=total)
    value, low, high = map(float, re.split(r"[ (–)]+", score_text(record, "seq"))[:3])
    assert low <= value <= high
    assert (value == 1) == (right == total)
    assert (value == 0) == (right == 0)


def test_examples(make_record: Make) -> None:
    answers = ("11139", "11139", "no\nidea | " + "x" * 99, "", "1", "2", "3", "7")
    record = make_record(suite="examples", samples=8, sequences_right=3, answers=answers)
    table = TABLES["examples"]([make_record(suite="examples", seed=9), record])
    assert table.header == ("problem", "sum", "paper", "base")
    assert table.rows[0] == ("11134+1+1+1+1+1=", "11139", "139", "11139 ✓")
    assert table.rows[3] == ("99999+1=", "100000", "100000 ✓", "–")
    assert table.rows[-1] == ("right", "", "3 of 8", "3 of 8")
    assert max(len(row[3]) for row in table.rows) <= 24


def test_scores_hold_every_model_on_every_suite(make_record: Make) -> None:
    records = [
        make_record(suite="3x50", steps_max=None),
        make_record(model="mine", variant="external", seed=None),
    ]
    records += [make_record(suite="3x50", seed=4, steps_mean=None)]
    rows = TABLES["scores"](records).rows
    assert [row[:3] for row in rows] == [("3x50", "base", "3"), ("", "base", "4"), ("2x15", "mine", "–")]
    assert [row[-1] for row in rows] == ["11.7", "–", "11.7 (19)"]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_records_says_how_to_make_them(name: str, make_record: Make) -> None:
    of_anything = ("scores", "baselines")
    others = [] if name in of_anything else [make_record(suite="3x50"), make_record(suite="examples")]
    evaluate = r"gridsum evaluate --model \w+ --suite [\w-]+ --out records.jsonl"
    with pytest.raises(TableError, match=evaluate) as caught:
        TABLES[name](others)
    if name not in of_anything:
        assert f"--suite {name} " in str(caught.value)
        assert COLLECTIONS[name][0].name in str(caught.value)


@pytest.fixture
def full(make_record: Make) -> list[Record]:
    """Two runs of three models on everything, and answers with what could break a table."""
    return [
        make_record(
            model=model, variant=model, suite=suite.name, seed=seed, answers=("a|b", "\\_", "[*]", "\x1b[1m", "表")
        )
        for model in ("base", "noGroups", "mine")
        for seed in (3, 4)
        for suite in COLLECTIONS["all"]
    ]


@pytest.mark.parametrize("width", [60, 200, None])
@pytest.mark.parametrize("name", TABLES)
def test_text_fits_the_terminal_and_has_every_word(name: str, width: int | None, full: list[Record]) -> None:
    table = TABLES[name](full)
    text = to_text(table, width)
    assert max(map(len, text.split("\n"))) <= (width or 105)
    words = {word for row in table.rows for cell in row for word in cell.split() if word.isprintable()}
    assert all(word in text for word in words) or width == 60
    assert "\x1b" not in text


def test_cells_are_broken_at_spaces_and_long_words_anywhere() -> None:
    lines = to_text(Table("", "", ("a b", "c"), (("one two", "x"), ("", "y"))), 6).split("\n")
    assert lines[2:8] == ["a b  c", "──────", "one  x", "two", "     y", ""]
    text = to_text(Table("t", "c", ("a", "b"), (("1" * 70, "2" * 30),)), 40)
    assert max(map(len, text.split("\n"))) <= 40
    assert (text.count("1"), text.count("2")) == (70, 30)


@pytest.mark.parametrize("name", TABLES)
def test_markdown_has_every_cell(name: str, full: list[Record]) -> None:
    table = TABLES[name](full)
    lines = [line for line in to_markdown(table).split("\n") if line.startswith("|")]
    assert len(lines) == len(table.rows) + 2
    assert all(len(re.findall(r"(?<!\\)\|", line)) == len(table.header) + 1 for line in lines)


def test_a_table_as_json_and_as_csv():
    """For programs every cell is filled, and every column has a name of its own."""
    table = Table("T", "", ("suite", "char", "paper", "seq", "paper"), (("2x15", "1", "2", "3, 4", "–"), ("", *"5678")))
    rows = [["2x15", "1", "2", "3, 4", "–"], ["2x15", *"5678"]]
    header = ["suite", "char", "char paper", "seq", "seq paper"]
    assert list(csv.reader(to_csv(table).splitlines())) == [header, *rows]
    assert json.loads(to_json(table)) == [dict(zip(header, row, strict=True)) for row in rows]
