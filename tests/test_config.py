import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridsum.config import (
    Config,
    ConfigError,
    ModelConfig,
    ObjectiveConfig,
    TaskConfig,
    TrainingConfig,
    fields_of,
    from_json,
    override,
    to_json,
)
from gridsum.model.network import Network, parameter_count
from gridsum.problems import Space
from gridsum.variants import MEANINGS, PAPER_VARIANTS, VARIANTS, variant

configs = st.builds(
    Config,
    variant=st.sampled_from(["base", "my own"]),
    task=st.builds(
        TaskConfig,
        terms=st.just((1, 6)),
        group_bounds=st.sampled_from([(), (2,), (1, 3)]),
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
    assert from_json(to_json(config)) == config


def test_missing_fields_have_their_defaults():
    assert from_json('{"model": {"groups": 1}}') == override(Config(), {"model.groups": 1})


@pytest.mark.parametrize(
    ("data", "nearest"),
    [
        ({"modle": {}}, "model"),
        ({"model": {"widht": 32}}, "model.width"),
        ({"training": {"learningrate": 1e-3}}, "training.learning_rate"),
        ({"objective": {"regularizer": "kl"}}, "objective.regulariser"),
    ],
)
def test_an_unknown_field_names_the_nearest(data, nearest):
    with pytest.raises(ConfigError, match=f"did you mean '{nearest}'"):
        from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("path", "nearest"),
    [("model.widht", "model.width"), ("dropout", "model.dropout"), ("training.epoch", "training.epochs")],
)
def test_an_unknown_override_names_the_nearest(path, nearest):
    with pytest.raises(ConfigError, match=f"did you mean '{nearest}'"):
        override(Config(), {path: 1})


def test_a_field_like_no_other_lists_what_there_is():
    with pytest.raises(ConfigError, match=r"known fields: .*model\.width"):
        override(Config(), {"zzzzqqqq": 1})


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({"model": {"width": "64"}}, "model.width takes a whole number, not '64'"),
        ({"model": {"width": 64.0}}, "model.width takes a whole number"),
        ({"model": {"width": True}}, "model.width takes a whole number"),
        ({"model": {"width": None}}, "model.width takes a whole number"),
        ({"model": {"dropout": "0.1"}}, "model.dropout takes a number"),
        ({"model": {"dropout": True}}, "model.dropout takes a number"),
        ({"model": {"query_encoding": 1}}, "model.query_encoding takes true or false"),
        ({"model": {"halting": "never"}}, "model.halting takes one of ponder, fixed, converge, not 'never'"),
        ({"model": {"halting": ["ponder"]}}, "model.halting takes one of"),
        ({"task": {"terms": [1, 2, 3]}}, "task.terms takes whole numbers"),
        ({"task": {"terms": 4}}, "task.terms takes whole numbers"),
        ({"task": {"group_bounds": [1.5]}}, "task.group_bounds takes whole numbers"),
        ({"variant": 3}, "variant takes text"),
        ({"model": 3}, "model must be an object"),
        ([], "the configuration must be an object"),
    ],
)
def test_wrong_types(data, complaint):
    with pytest.raises(ConfigError, match=complaint):
        from_json(json.dumps(data))


def test_not_json():
    with pytest.raises(ConfigError, match="not JSON"):
        from_json("{model: 1}")


def test_a_whole_number_may_stand_for_a_number():
    weight = from_json('{"objective": {"weight": 1}}').objective.weight
    assert (weight, type(weight)) == (1.0, float)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"model.width": 66}, "multiple of 4"),
        ({"model.width": 0}, "multiple of 4"),
        ({"model.groups": 3}, "model.groups is 3, which does not divide"),
        ({"model.heads": 0}, "model.heads is 0"),
        ({"model.context_heads": 5}, "model.context_heads"),
        ({"model.kernel": 2}, "odd"),
        ({"model.kernel": -1}, "odd"),
        ({"model.dropout": 1.0}, "model.dropout"),
        ({"model.dropout": -0.1}, "model.dropout"),
        ({"model.dropout": "nan"}, "model.dropout"),
        ({"model.epsilon": 0.0}, "model.epsilon"),
        ({"model.max_steps": 0}, "model.max_steps"),
        ({"model.step_hidden": 10}, "model.step_hidden"),
        ({"model.train_steps": (5, 4)}, "model.train_steps must be two numbers"),
        ({"model.patience": 0}, "model.patience"),
        ({"model.cap_factor": 0}, "model.cap_factor"),
        ({"model.state_noise": -0.1}, "model.state_noise"),
        ({"model.tolerance": -0.1}, "model.tolerance"),
        ({"model.state_noise": "nan"}, "model.state_noise"),
        ({"objective.deep": True}, "model.halting converge"),
        ({"model.halting": "converge"}, "set objective.regulariser to none"),
        ({"training.restarts": 1.0}, "training.restarts"),
        ({"training.certain": 1.0}, "training.certain"),
        ({"training.strangers": 1.5}, "training.strangers"),
        ({"training.strangers": 0.5}, "needs model.recall"),
        ({"training.restart_steps": 0}, "training.restart_steps"),
        ({"training.harden_accuracy": 0.0}, "training.harden_accuracy"),
        ({"training.harden_problems": 0}, "training.harden_problems"),
        ({"objective.prior": 1.0}, "objective.prior"),
        ({"objective.weight": -1.0}, "objective.weight"),
        ({"training.batch": 0}, "training.batch"),
        ({"training.batch": 127}, "cannot be divided among 2 groups"),
        ({"training.clip": 0.0}, "training.clip"),
        ({"task.terms": (4, 1)}, "task.terms must be two numbers"),
        ({"task.group_bounds": (4,)}, "task.group_bounds"),
        ({"task.random_rows": -1}, "task.random_rows"),
        ({"task.repeats": 1.5}, "task.repeats"),
        ({"task.repeat_probability": "nan"}, "task.repeat_probability"),
    ],
)
def test_impossible_values(changes, complaint):
    with pytest.raises(ConfigError, match=complaint):
        override(Config(), changes)


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("model.groups", "1", 1),
        ("training.learning_rate", "5e-4", 5e-4),
        ("objective.weight", "1", 1.0),
        ("model.query_encoding", "false", False),
        ("model.query_encoding", "Yes", True),
        ("model.halting", "fixed", "fixed"),
        ("task.terms", "[2,5]", (2, 5)),
        ("task.terms", "2, 5", (2, 5)),
        ("task.group_bounds", "", ()),
        ("task.group_bounds", "3", (3,)),
        ("variant", "mine", "mine"),
    ],
)
def test_override_reads_strings(path, text, value):
    changed = override(Config(), {path: text})
    assert fields_of(changed)[path][1] == value
    others = {name: leaf for name, leaf in fields_of(changed).items() if name != path}
    assert others == {name: leaf for name, leaf in fields_of(Config()).items() if name != path}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("model.groups", "one"),
        ("model.groups", "1.5"),
        ("model.query_encoding", "maybe"),
        ("model.dropout", "0,1"),
        ("model.halting", "soon"),
        ("task.terms", "1-4"),
        ("task.terms", "1,2,3"),
    ],
)
def test_override_refuses_other_strings(path, text):
    with pytest.raises(ConfigError, match=f"{path} takes"):
        override(Config(), {path: text})


def test_override_leaves_the_original():
    config = Config()
    assert override(config, {"model.groups": 1}) != config
    assert config == Config()


def test_configurations_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().model.width = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_the_paper_s_numbers():
    config = Config()
    assert config.task.groups == (Space((1, 2), (1, 10)), Space((3, 4), (1, 10)))
    assert (config.task.spare_rows, config.task.spare_columns) == (0, 2)
    assert (config.task.random_rows, config.task.random_columns) == (3, 3)
    model = config.model
    assert (model.width, model.dropout, model.placement_hidden, model.kernel) == (64, 0.1, 64, 3)
    assert (model.step_hidden, model.context_hidden, model.halting_hidden) == (256, 64, 128)
    assert (model.context_length, model.context_heads) == (3, 8)
    assert (model.max_steps, model.epsilon, model.max_evaluation_steps) == (40, 0.05, 50)
    objective = config.objective
    assert (objective.weight, objective.prior, objective.pad_weight) == (5e-2, 0.1, 0.1)
    training = config.training
    assert (training.epochs, training.steps_per_epoch, training.batch) == (510, 10, 128)
    assert (training.learning_rate, training.final_learning_rate, training.restart_epochs) == (1e-3, 5e-5, 30)
    assert (training.beta1, training.beta2, training.weight_decay, training.clip) == (0.9, 0.999, 0.1, 10)


@pytest.mark.parametrize(
    ("name", "groups", "heads", "query_encoding", "halting", "regulariser"),
    [
        ("base", 8, 64, True, "ponder", "explore-reinforce"),
        ("noGroups", 1, 64, True, "ponder", "explore-reinforce"),
        ("SASA", 8, 8, False, "ponder", "explore-reinforce"),
        ("fixedTime", 8, 64, True, "fixed", "none"),
        ("ponderReg", 8, 64, True, "ponder", "kl"),
    ],
)
def test_variants_are_the_table_s(name, groups, heads, query_encoding, halting, regulariser):
    config = variant(name)
    model = config.model
    assert config.variant == name
    assert (model.groups, model.heads, model.query_encoding, model.halting) == (
        groups,
        heads,
        query_encoding,
        halting,
    )
    assert config.objective.regulariser == regulariser
    assert model.fixed_steps == 12
    changed = {
        "model.groups",
        "model.heads",
        "model.query_encoding",
        "model.halting",
        "objective.regulariser",
        "variant",
    }
    base = fields_of(variant("base"))
    assert {path for path, leaf in fields_of(config).items() if leaf != base[path]} <= changed


def test_the_paper_has_five_variants():
    assert sorted(PAPER_VARIANTS) == ["SASA", "base", "fixedTime", "noGroups", "ponderReg"]
    assert set(VARIANTS) - set(PAPER_VARIANTS) == {"exact"}
    assert list(MEANINGS) == list(VARIANTS)


def test_what_exact_changes_can_be_dropped_one_at_a_time():
    """Every ingredient is a field whose default leaves it out."""
    base, exact = fields_of(variant("base")), variant("exact")
    changed = {path for path, leaf in fields_of(exact).items() if leaf != base[path]} - {"variant"}
    assert changed == set(VARIANTS["exact"])
    needed = {"model.halting", "objective.regulariser", "model.recall"}  # others hang on these
    for path in changed - needed:
        assert fields_of(override(exact, {path: base[path][1]}))[path] == base[path]
    without = override(exact, {"model.recall": False, "training.strangers": 0.0})
    assert parameter_count(Network(exact.model)) - parameter_count(Network(without.model)) == 2 * 64 * 64 + 64


@pytest.mark.parametrize(("name", "meant"), [("nogroups", "noGroups"), ("sasa", "SASA"), ("fixed-time", "fixedTime")])
def test_an_unknown_variant_names_the_nearest(name, meant):
    with pytest.raises(ConfigError, match=f"did you mean '{meant}'"):
        variant(name)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("base", 157_585),
        ("ponderReg", 157_585),
        ("noGroups", 168_337),
        ("SASA", 157_521),
        ("fixedTime", 107_344),
        ("exact", 115_600),
    ],
)
def test_parameter_counts(name, count):
    """Of one run, however many there are."""
    assert parameter_count(Network(variant(name).model, seeds=(0, 1))) == count
    assert sum(parameter.numel() for parameter in Network(variant(name).model).parameters()) == count
