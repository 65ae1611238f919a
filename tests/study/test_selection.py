"""Which runs are chosen."""

from hypothesis import given
from hypothesis import strategies as st

from gridsum.evaluation.records import Record
from gridsum.study.selection import AIMS, DIGITS, TERMS, choose, proved_seed

score = st.tuples(st.integers(0, 3), st.integers(0, 20))


def _records(scores: list[tuple[tuple[int, int], tuple[int, int]]]) -> list[Record]:
    common = {"halting": "sampled", "placement": "soft", "steps_mean": 1.0, "steps_max": 1, "evaluation_seed": 7}
    return [
        Record(
            model="base",
            variant="base",
            seed=seed,
            suite=suite,
            samples=3,
            chars_right=chars,
            chars_valid=20,
            sequences_right=right,
            version="0",
            commit=None,
            **common,  # pyright: ignore
        )
        for seed, both in enumerate(scores)
        for suite, (right, chars) in zip((DIGITS, TERMS), both, strict=True)
    ]


@given(st.lists(st.tuples(score, score), min_size=1, max_size=6))
def test_no_run_is_better_than_the_chosen_one(scores: list[tuple[tuple[int, int], tuple[int, int]]]):
    chosen = choose(_records(scores))
    assert list(chosen) == list(AIMS)
    for place, seed in enumerate(chosen.values()):
        best = scores[seed][place]
        assert all(best >= both[place] for both in scores)
        assert best not in [both[place] for both in scores[:seed]]  # of equals, the first


def test_characters_decide_where_no_result_is_right():
    assert choose(_records([((0, 5), (1, 0)), ((0, 9), (0, 20))])) == {"digits": 1, "terms": 0}


def test_the_order_of_records_is_indifferent():
    records = _records([((1, 5), (1, 7)), ((1, 5), (2, 7)), ((0, 19), (2, 7))])
    assert choose(records) == choose(records[::-1]) == {"digits": 0, "terms": 1}


def test_of_the_proved_runs_the_most_accurate_before_consolidation_is_chosen():
    found = [
        {"seed": seed, "proved": proved, "rounds": [{"right": right}]}
        for seed, (proved, right) in enumerate(((False, 1.0), (True, 0.9), (True, 0.95), (True, 0.95)))
    ]
    assert proved_seed(found) == 2
    assert proved_seed([*found, {"seed": 9, "proved": True, "rounds": []}]) == 9, "proved before consolidation"
    assert proved_seed(found[:1]) is None
