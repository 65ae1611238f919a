import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.config.fields import fields_of, from_dict, override, to_json
from gridsum.config.paper import Config, ConfigError, ModelConfig, ObjectiveConfig, TaskConfig, TrainingConfig

configs = st.builds(
    Config,
    variant=st.sampled_from(["base", "my own"]),
    task=st.builds(
        TaskConfig,
        terms=st.just((1, 6)),
        bucket_bounds=st.sampled_from([(), (2,), (1, 3)]),
        spare_rows=st.integers(0, 3),
        random_columns=st.integers(0, 9),
    ),
    model=st.builds(
        ModelConfig,
        groups=st.sampled_from([1, 8, 64]),
        query_encoding=st.booleans(),
        dropout=st.floats(0, 0.9),
        halting=st.sampled_from(["ponder", "fixed"]),
    ),
    objective=st.builds(ObjectiveConfig, weight=st.floats(0, 10), regulariser=st.sampled_from(["kl", "none"])),
    training=st.builds(TrainingConfig, batch=st.just(12), epochs=st.integers(1, 900)),
)


@given(configs)
def test_json_round_trip(config):
    assert from_dict(Config, json.loads(to_json(config))) == config


def test_missing_fields_have_their_defaults_and_a_whole_number_may_stand_for_a_number():
    found = from_dict(Config, {"model": {"groups": 1}, "objective": {"weight": 1}})
    assert found == override(Config(), {"model.groups": 1, "objective.weight": 1.0})
    assert type(found.objective.weight) is float


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"model": {"width": "64"}}, "model.width takes a whole number, not '64'"),
        ({"model": {"width": True}}, "model.width takes a whole number"),
        ({"model": {"dropout": "0.1"}}, "model.dropout takes a number"),
        ({"model": {"query_encoding": 1}}, "model.query_encoding takes true or false"),
        ({"model": {"halting": "never"}}, "model.halting takes one of ponder, fixed, not 'never'"),
        ({"task": {"terms": [1, 2, 3]}}, "task.terms takes two whole numbers"),
        ({"task": {"bucket_bounds": [1.5]}}, "task.bucket_bounds takes whole numbers"),
        ({"variant": 3}, "variant takes text"),
        ({"model": 3}, "model must be an object"),
        ({"modle": {}}, "did you mean 'model'"),
        ({"training": {"learningrate": 1e-3}}, "did you mean 'training.learning_rate'"),
        ([], "the configuration must be an object"),
    ],
)
def test_what_json_may_not_hold(data, complaint):
    with pytest.raises(ConfigError, match=complaint):
        from_dict(Config, data)


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("model.groups", "1", 1),
        ("training.learning_rate", "5e-4", 5e-4),
        ("model.query_encoding", "false", False),
        ("model.query_encoding", "True", True),
        ("model.dropout", ".5", 0.5),
        ("model.halting", "fixed", "fixed"),
        ("task.terms", "[2,5]", (2, 5)),
        ("task.bucket_bounds", "", ()),
        ("variant", "mine", "mine"),
    ],
)
def test_override_reads_strings(path, text, value):
    changed = override(Config(), {path: text})
    assert fields_of(changed)[path][1] == value
    others = {name: leaf for name, leaf in fields_of(changed).items() if name != path}
    assert others == {name: leaf for name, leaf in fields_of(Config()).items() if name != path}


def test_every_field_and_section_has_a_meaning():
    leaves = {path: leaf for path, leaf in fields_of(Config()).items() if path != "variant"}
    assert all(leaf.meaning.endswith(".") for leaf in leaves.values()), "sentences, from which the help is made"
    assert all(getattr(Config(), path.split(".")[0]).__doc__.endswith(".") for path in leaves)
