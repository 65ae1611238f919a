"""A rule as a file."""

import base64
import hashlib
import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.automaton.files import shipped_rule
from gridsum.automaton.table import RuleTable, TableError
from tests.oracles.column_addition import column_addition, random_table


def same(one: RuleTable, other: RuleTable) -> bool:
    fields = ("bits", "states", "outputs", "actions")
    return np.array_equal(one.steps, other.steps) and all(getattr(one, key) == getattr(other, key) for key in fields)


@given(st.integers(2, 12), st.integers(0, 999))
def test_a_rule_comes_back_from_its_file(codes, seed):
    for table in (column_addition(), random_table(codes, seed)):
        assert same(RuleTable.from_json(table.to_json()), table)


@given(st.integers(2, 12), st.integers(0, 999))
def test_a_rule_in_the_order_of_its_readings_takes_the_same_steps(codes, seed):
    table = random_table(codes, seed)
    other = table.by_reading()
    place = [*(other.states.index(pattern) for pattern in table.states), other.outside]
    assert place[0] == 0
    assert list(other.outputs[1:]) == sorted(other.outputs[1:])
    assert [other.outputs[number] for number in place[:-1]] == list(table.outputs)
    renamed = np.array(place)[table.steps]
    assert np.array_equal(other.steps[:, place][:, :, place][:, :, :, place], renamed)


@pytest.mark.parametrize("field", ["bits", "states", "outputs", "actions", "steps"])
def test_an_edited_file_is_refused(field):
    data = json.loads(column_addition().to_json())
    data[field] = [*data[field][:-1], 1] if isinstance(data[field], list) else 7 if field == "bits" else "AAAA"
    with pytest.raises(TableError, match="checksum"):
        RuleTable.from_json(json.dumps(data))


WRITTEN = column_addition().to_json()
OTHER = json.dumps(json.loads(WRITTEN) | {"format": "gridsum-rule-9"})
NO_RULES = ["", "no JSON", "[]", "3", "null", "{}", '{"format": "gridsum-rule-1"}']
CUT = [WRITTEN[: int(share * len(WRITTEN))] for share in (0.1, 0.5, 0.9, 0.999)]


@pytest.mark.parametrize("text", [*NO_RULES, *CUT, OTHER])
def test_what_is_no_rule_is_refused(text):
    with pytest.raises(TableError, match="not a rule as gridsum wrote it"):
        RuleTable.from_json(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bits", 2),
        ("bits", "6"),
        ("bits", float("inf")),
        ("bits", True),
        ("task", None),
        ("states", [float(code) for code in range(21)]),
        ("states", []),
        ("states", [*range(300)]),
        ("states", [0] * 21),
        ("states", 7),
        ("outputs", [0] * 20),
        ("outputs", [99] * 21),
        ("actions", [0] * 12),
        ("actions", [3] * 13),
        ("steps", "AAAA"),
        ("steps", 5),
        ("steps", base64.b64encode(zlib.compress(bytes([21]) * 12 * 22**3)).decode()),
        ("steps", base64.b64encode(zlib.compress(bytes(10**8))).decode()),
    ],
)
def test_parts_that_do_not_fit_are_refused_under_any_checksum(field, value):
    data = json.loads(column_addition().to_json()) | {field: value}
    del data["checksum"]
    text = json.dumps(data | {"checksum": hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()})
    with pytest.raises(TableError, match="write it again with: gridsum export --to json"):
        RuleTable.from_json(text)


def test_a_path_is_no_name_of_a_shipped_rule(tmp_path: Path):
    """A file beside a run, named as a shipped rule is, is never taken for it."""
    (tmp_path / "seed-0.rule.json").write_text(column_addition().to_json())
    assert shipped_rule(str(tmp_path / "seed-0")) is None
    assert shipped_rule("../shipped/exact") is None
    assert shipped_rule("exact") is not None
