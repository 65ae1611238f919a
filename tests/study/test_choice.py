"""Which runs are chosen, and which are shipped, under which names, with which scores."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ship import ShippingError, ship
from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.records import Record, read
from gridsum.io.names import MODELS
from gridsum.model.store import SEEDS, load_runs
from gridsum.study.jobs import AIMS, DIGITS, TERMS, choose, proved_seed
from gridsum.study.results import Trained, load_results
from gridsum.training.folders import read_setup
from tests.oracles.records import make_record
from tests.study.conftest import rewrite_records

score = st.tuples(st.integers(0, 3), st.integers(0, 20))


def _records(scores: list[tuple[tuple[int, int], tuple[int, int]]]) -> list[Record]:
    return [
        make_record(seed=seed, suite=suite, samples=3, sequences_right=right, chars_valid=20, chars_right=chars)
        for seed, both in enumerate(scores)
        for suite, (right, chars) in zip((DIGITS, TERMS), both, strict=True)
    ]


@given(st.lists(st.tuples(score, score), min_size=1, max_size=6))
def test_no_run_is_better_than_the_chosen_one(scores: list[tuple[tuple[int, int], tuple[int, int]]]):
    records = _records(scores)
    chosen = choose(records, range(len(scores)))
    assert choose(records[1:], range(len(scores))) == {}, "not all are validated"
    assert list(chosen) == list(AIMS)
    for place, seed in enumerate(chosen.values()):
        best = scores[seed][place]
        assert all(best >= both[place] for both in scores)
        assert best not in [both[place] for both in scores[:seed]]  # of equals, the first


def test_characters_decide_where_no_result_is_right():
    assert choose(_records([((0, 5), (1, 0)), ((0, 9), (0, 20))]), (0, 1)) == {"digits": 1, "terms": 0}


def test_of_the_runs_proved_after_the_fewest_rounds_the_one_with_the_largest_margin_is_chosen():
    rows = ((False, None, 9.0), (True, 2, 8.0), (True, 1, 2.0), (True, 1, 3.0), (True, 1, 3.0))
    found = [{"seed": n, "proved": proved, "round": number, "margin": m} for n, (proved, number, m) in enumerate(rows)]
    assert proved_seed(found) == 3
    assert proved_seed(found[:1]) is None


def _make_best(folder: Path, training: str, seed: int, suite: str = "") -> None:
    """Let one run have every validation problem right, and no other of its training; or of one suite alone."""
    rewrite_records(
        folder / training / "validation.jsonl",
        lambda r: {"sequences_right": r.samples * (r.seed == seed)} if suite in ("", r.suite) else {},
    )


def _standing(folder: Path, variant: str) -> Trained:
    run = load_results(folder).standing_for(variant)
    assert run is not None
    return run


def test_every_variant_is_shipped_with_the_scores_of_its_run(quick: Path, tmp_path: Path):
    shipped = ship(load_results(quick), tmp_path)
    assert set(PAPER_VARIANTS) <= set(shipped) <= set(MODELS)
    for name, run in shipped.items():
        model = load_runs(name, [tmp_path / f"{name}.safetensors"])
        assert model.seeds == run.seeds
        assert model.config.variant == read_setup(run.place)[0].variant
        weights = quick / run.name / f"seed-{run.seeds[0]}" / "weights.safetensors"
        assert (tmp_path / f"{name}.safetensors").read_bytes() == weights.read_bytes()
        records = read([tmp_path / f"{name}.jsonl"])
        assert {(record.model, record.seed) for record in records} == {(name, run.seeds[0])}
        assert {record.suite for record in records} == {record.suite for record in run.measured()}
    seeds = read([tmp_path / SEEDS])
    assert {(record.model, record.seed) for record in seeds} == {
        (name, seed) for name in PAPER_VARIANTS for seed in (0, 1)
    }


def test_the_run_that_is_compared_with_the_papers_is_shipped(copied: Path):
    """For what the paper shows it for: base for terms. It is chosen before it is trained further."""
    shutil.rmtree(copied / "base-overtrained")
    shutil.copytree(copied / "base", copied / "base-overtrained")  # which has both runs for certain
    _make_best(copied, "base", 0, DIGITS)
    _make_best(copied, "base", 1, TERMS)
    _make_best(copied, "base-overtrained", 0)
    run = _standing(copied, "base")
    assert (run.name, run.seeds[0]) == ("base-overtrained", 1)
    shutil.rmtree(copied / "base-overtrained")
    assert _standing(copied, "base").name == "base", "the standard run, without overtraining"


def test_of_other_variants_the_run_that_is_best_at_both_is_shipped(copied: Path):
    for seed in (0, 1):
        _make_best(copied, "SASA", seed)
        run = _standing(copied, "SASA")
        assert (run.name, run.seeds[0]) == ("SASA", seed)


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("records/SASA.jsonl", "no scores yet of SASA"),
        ("SASA/seed-*/weights.safetensors", "the weights of SASA have not been kept"),
        ("*/validation.jsonl", "no validated runs"),
    ],
)
def test_where_something_is_missing_nothing_is_shipped(lost: str, said: str, copied: Path, tmp_path: Path):
    for path in copied.glob(lost):
        path.unlink()
    with pytest.raises(ShippingError, match=said):
        ship(load_results(copied), tmp_path / "shipped")
    assert not (tmp_path / "shipped").exists()
