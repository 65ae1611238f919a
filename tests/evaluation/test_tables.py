import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.ablations import ablations_of
from gridsum.evaluation import paper
from gridsum.evaluation.records import Record
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.evaluation.tables import TABLES, Table, TableError, accuracy_text, to_latex, to_markdown, to_text
from gridsum.evaluation.targets import TARGETS

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


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (1 - 1e-12, "0.99"),
        (0.99, "0.99"),
        (0.984, "0.98"),
        (0.1, "0.10"),
        (0.004, "0.00"),
        (0.0, "0.0"),
    ],
)
def test_accuracies(value: float, text: str) -> None:
    assert accuracy_text(value) == text


def by_header(table: Table, row: int) -> dict[str, str]:
    """A line by its columns; the paper's are named after the column before them."""
    keys = [f"paper {table.header[i - 1]}" if key == "paper" else key for i, key in enumerate(table.header)]
    return dict(zip(keys, table.rows[row], strict=True))


def test_comparison(make_record: Make) -> None:
    records = [
        make_record(),
        make_record(suite="2x602", chars_right=10, chars_valid=10, sequences_right=0),
        make_record(model="mine", variant="external", seed=None, halting="–", placement="–", sequences_right=640),
    ]
    table = TABLES["comparison"](records)
    assert len(table.rows) == 2 * 7
    assert by_header(table, 0) == {
        "suite": "2x15",
        "model": "base",
        "char": "0.99 (0.998–1.000)",
        "paper char": "1.0",
        "seq": "0.94 (0.916–0.954)",
        "paper seq": "1.0",
    }
    assert by_header(table, 1) == {
        "suite": "",
        "model": "mine",
        "char": "0.99 (0.998–1.000)",
        "paper char": "–",
        "seq": "1.0 (0.994–1.000)",
        "paper seq": "–",
    }
    assert table.rows[2] == ("2x100", "base", "–", "0.99", "–", "0.99")
    assert by_header(table, 4) == {
        "suite": "2x602",
        "model": "base",
        "char": "1.0 (0.722–1.000)",
        "paper char": "0.98",
        "seq": "0.0 (0.000–0.006)",
        "paper seq": "0.0",
    }


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


def test_the_last_of_several_records_counts(make_record: Make) -> None:
    records = [make_record(sequences_right=1, evaluation_seed=7), make_record(sequences_right=640)]
    table = TABLES["comparison"](records)
    assert len(table.rows) == 7
    assert by_header(table, 0)["seq"].startswith("1.0 ")
    assert "evaluation seed 0;" in table.caption


def test_lines_are_told_apart_by_what_differs(make_record: Make) -> None:
    one, other = make_record(), make_record(seed=10)
    assert TABLES["comparison"]([one]).header[:3] == ("suite", "model", "char")
    assert TABLES["comparison"]([other, one]).header[:4] == ("suite", "model", "seed", "char")
    assert [row[2] for row in TABLES["comparison"]([other, one]).rows[:2]] == ["3", "10"]
    varied = [one, make_record(model="long", halting="converged", placement="hard")]
    table = TABLES["comparison"](varied)
    assert table.header[:6] == ("suite", "model", "variant", "halting", "placement", "char")
    assert table.rows[1][:5] == ("", "long", "base", "converged", "hard")
    assert by_header(table, 1)["paper seq"] == "1.0"


def test_the_paper_stands_beside_the_variant_it_reports(make_record: Make) -> None:
    long = [
        make_record(model=name, variant=name, suite="2x2000", samples=128, sequences_right=1)
        for name in ("base", "noGroups")
    ]
    rows = [row for row in TABLES["long-digits"](long).rows if row[-2] != "–"]
    assert [(row[1], row[-3], row[-1]) for row in rows] == [("base", "–", "–"), ("noGroups", "0.99", "0.81")]
    many = TABLES["long-terms"]([make_record(suite="8x5")])
    assert [by_header(many, row)["paper seq"] for row in range(6)] == [
        "1.0",
        "0.98",
        "0.86",
        "0.40",
        "0.09",
        "0.03",
    ]


def seeds(make_record: Make, rights: list[int], **changes: object) -> list[Record]:
    return [make_record(suite="2x602", seed=i, sequences_right=n, **changes) for i, n in enumerate(rights)]


def test_ablation(make_record: Make) -> None:
    records = seeds(make_record, [0, 320, 640]) + seeds(make_record, [64], model="SASA", variant="SASA")
    records += seeds(make_record, [640], model="mine", variant="external")
    table = TABLES["ablation"](records)
    assert len(table.rows) == 2 * 3
    assert by_header(table, 0) == {
        "suite": "2x602",
        "model": "base",
        "n": "3",
        "char": "0.99±0.00 (0.99)",
        "paper char": "0.23±0.27 (0.98)",
        "seq": "0.50±0.50 (1.0)",
        "paper seq": "0.0±0.00 (0.0)",
    }
    assert by_header(table, 1)["seq"] == "0.10±0.00 (0.10)"
    assert by_header(table, 1)["paper seq"] == "0.20±0.33 (0.95)"
    assert table.rows[2][1:] == ("base", "0", "–", "0.93±0.09 (0.98)", "–", "0.72±0.24 (0.90)")
    assert "n − 1" in table.caption


def test_ablation_averages_over_seeds_that_have_names_of_their_own(make_record: Make) -> None:
    records = [make_record(suite="2x602", model=f"run-{seed}", seed=seed) for seed in range(4)]
    table = TABLES["ablation"](records)
    assert by_header(table, 0)["n"] == "4"
    assert by_header(table, 0)["model"] == "base"


def test_ablation_never_mixes_two_trainings_of_one_seed(make_record: Make) -> None:
    records = seeds(make_record, [64, 64]) + seeds(make_record, [640], model="overtrained")
    table = TABLES["ablation"](records)
    assert [row[1:4] for row in table.rows[:2]] == [("base", "base", "2"), ("overtrained", "base", "1")]
    assert [row[-2] for row in table.rows[:2]] == ["0.10±0.00 (0.10)", "1.0±0.00 (1.0)"]


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
    others = [] if name == "scores" else [make_record(suite="3x50"), make_record(suite="examples")]
    evaluate = r"gridsum evaluate --model \w+ --suite [\w-]+ --out records.jsonl"
    made_by = "gridsum reproduce --variants exact --ablations " if name == "exact-ablation" else evaluate
    with pytest.raises(TableError, match=made_by) as caught:
        TABLES[name](others)
    if name != "scores":
        assert name == "exact-ablation" or f"--suite {name} " in str(caught.value)
        assert COLLECTIONS[name][0].name in str(caught.value)


@pytest.fixture
def full(make_record: Make) -> list[Record]:
    """Two models on everything, and answers with what could break a table."""
    return [
        make_record(model=model, variant=model, suite=suite.name, answers=("a|b", "\\_", "[*]", "\x1b[1m", "表"))
        for model in ("base", "noGroups", "exact")
        for suite in COLLECTIONS["all"]
    ] + [make_record(model="exact-whole", variant="exact", suite="20x[1,20]")]


def _of_exact(make_record: Make, right: dict[int, int], suite: str = "2x602") -> list[Record]:
    """Records of a suite, with so many results of 1000 right, by seed."""
    shared = {"model": "exact", "variant": "exact", "suite": suite, "samples": 1000}
    return [make_record(seed=seed, sequences_right=count, **shared) for seed, count in right.items()]


def test_exact_shows_the_run_that_validation_chose(make_record: Make) -> None:
    reported = _of_exact(make_record, {0: 1000, 1: 999, 2: 500})
    digits, terms = (suite.name for suite in COLLECTIONS["validation"])
    validated = [
        *_of_exact(make_record, {0: 800, 1: 900, 2: 1000}, digits),
        *_of_exact(make_record, {0: 800, 1: 900, 2: 700}, terms),
    ]
    row = by_header(TABLES["exact"](reported + validated), 0)
    assert (row["suite"], row["target"], row["errors"]) == ("2x602", "0.999", "1")
    assert row["best run"].startswith("0.99 (")
    assert row["at target"] == "2 of 3"
    assert row["all runs"] == "0.83±0.29 (1.0)"
    assert row["paper all runs"] == "0.99"
    assert "the best run is seed 1" in TABLES["exact"](reported + validated).caption
    unchosen = TABLES["exact"](reported + validated[:-1])
    assert by_header(unchosen, 0)["best run"] == "–"
    assert "no run is chosen" in unchosen.caption


def test_exact_has_a_target_for_every_suite_and_leaves_other_variants_out(make_record: Make) -> None:
    table = TABLES["exact"]([*_of_exact(make_record, {4: 1000}), make_record(suite="2x1000")])
    assert [row[0] for row in table.rows] == [suite.name for suite in COLLECTIONS["exact"]] == list(TARGETS)
    assert by_header(table, 0)["best run"].startswith("1.0 (")
    assert by_header(table, 1)["best run"] == by_header(table, 1)["all runs"] == "–"
    assert TARGETS["examples"] == 1.0


def test_exact_leaves_its_ablations_out(make_record: Make) -> None:
    own = _of_exact(make_record, {4: 1000})
    dropped = make_record(model="exact-without-noise", variant="exact", suite="2x602", sequences_right=0)
    assert TABLES["exact"]([*own, dropped]) == TABLES["exact"](own)


def test_exact_ablation_has_a_line_for_every_ingredient(make_record: Make) -> None:
    def runs(ablation: str, suite: str, right: list[int], hardened: bool | None) -> list[Record]:
        shared = {"variant": "exact", "suite": suite, "samples": 1000, "hardened": hardened}
        return [
            make_record(model=f"exact-{ablation}", seed=seed, sequences_right=count, **shared)
            for seed, count in enumerate(right)
        ]

    records = [
        *runs("without-hardening", "2x602", [0, 500], None),
        *runs("without-hardening", "[1,4]x[1,10]", [989, 990], None),
        *runs("whole", "2x602", [0, 0, 0], True),
        *runs("whole", "2x602", [1000, 900, 800], True),  # the last count
        *runs("whole", "[1,4]x[1,10]", [1000, 1000], True),
        *runs("whole", "[1,4]x[1,10]", [0, 0, 500], False)[2:],
        *runs("whole", "3x50", [1000], True),
        *_of_exact(make_record, {0: 1000, 7: 1000}),  # the variant itself was trained for another time
    ]
    table = TABLES["exact-ablation"](records)
    lines = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert list(lines) == [ablation.name for ablation in ablations_of("exact").values()]
    assert list(table.header[4:]) == [suite.name for suite in COLLECTIONS["exact-ablation"]]
    whole, dropped = lines["whole"], lines["without-hardening"]
    assert [whole[name] for name in ("runs", "hardened", "learned")] == ["3", "2 of 3", "2 of 3"]
    assert (whole["2x602"], whole["20x[1,20]"]) == ("0.90±0.10 (1.0)", "–")
    assert [dropped[name] for name in ("runs", "hardened", "learned")] == ["2", "–", "1 of 2"]
    assert dropped["2x602"] == "0.25±0.35 (0.50)"
    assert set(lines["without-noise"].values()) == {"without-noise", "0", "–"}
    assert "training seeds 0, 1, 2;" in table.caption


@pytest.mark.parametrize("name", TABLES)
def test_text_is_aligned_and_narrow(name: str, full: list[Record]) -> None:
    table = TABLES[name](full)
    title, blank, *lines = to_text(table).split("\n")
    assert (title, blank) == (table.title, "")
    # That table has a column a suite, so that a line is an ingredient.
    assert max(map(len, lines)) <= (160 if name == "exact-ablation" else 100)
    rule = lines[1]
    starts = [match.start() for match in re.finditer("─+", rule)]
    assert len(starts) == len(table.header)
    for line, row in zip(lines[2:], table.rows, strict=False):
        if "表" not in line and all(map(str.isprintable, row)):
            assert tuple(line[a:b].rstrip() for a, b in zip(starts, [*starts[1:], None], strict=True)) == row
    assert "\x1b" not in to_text(table)


def test_wide_characters_take_two_columns() -> None:
    lines = to_text(Table("", "", ("a", "b"), (("表", "1"), ("xyz", "2")))).split("\n")
    assert lines[4:6] == ["表   1", "xyz  2"]


@pytest.mark.parametrize("name", TABLES)
def test_markdown_has_every_cell(name: str, full: list[Record]) -> None:
    table = TABLES[name](full)
    lines = [line for line in to_markdown(table).split("\n") if line.startswith("|")]
    assert len(lines) == len(table.rows) + 2
    for line in lines:
        assert len(re.findall(r"(?<!\\)\|", line)) == len(table.header) + 1


@pytest.mark.parametrize("name", TABLES)
def test_latex_has_every_cell(name: str, full: list[Record]) -> None:
    table = TABLES[name](full)
    text = to_latex(table)
    lines = [line for line in text.split("\n") if line.endswith(r"\\")]
    assert len(lines) == len(table.rows) + 1
    assert all(len(re.findall(r"(?<!\\)&", line)) == len(table.header) - 1 for line in lines)
    # \\ takes a [ that follows it, be it on the next line, for a length.
    assert not re.search(r"\\\\\s*[\[*]", text)
    assert not set("±–✓−|") & set(text)


def test_latex_is_escaped() -> None:
    table = Table("A & B", "5% of _x_", ("a_b",), ((r"\^~{}#$",),))
    text = to_latex(table)
    assert r"\caption{A \& B. 5\% of \_x\_}" in text
    assert r"a\_b" in text
    assert r"\textbackslash{}\textasciicircum{}\textasciitilde{}\{\}\#\$" in text


def test_the_papers_numbers_add_up() -> None:
    for rows in (paper.COMPARISON, paper.LONG_DIGITS, paper.LONG_TERMS):
        assert all(0 <= score.seq <= score.char <= 1 for row in rows.values() for score in row.values())
    for row in paper.ABLATION.values():
        assert all(s.mean <= s.best and 0 <= s.sd < 0.5 for spreads in row.values() for s in spreads)
