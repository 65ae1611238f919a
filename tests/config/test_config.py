import pytest

from gridsum.config.fields import override
from gridsum.config.paper import Config, ConfigError
from gridsum.config.variants import PAPER_VARIANTS, variant
from gridsum.data.problems import Space
from gridsum.model.rollout import Network
from gridsum.model.runs import parameter_count


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"model.width": 66}, "a multiple of 4"),
        ({"model.width": 0}, "model.width must be at least 4"),
        ({"model.groups": 3}, "model.groups is 3, which does not divide"),
        ({"training.batch": 10**12}, r"training\.batch must be at most 1,000,000"),
        ({"objective.weight": float("nan")}, r"objective\.weight must be"),
        ({"variant": "\x1b[31mred"}, "letters that can be read"),
        ({"model.kernel": 2}, "odd"),
        ({"model.dropout": 1.0}, "model.dropout"),
        ({"model.epsilon": 0.0}, "model.epsilon"),
        ({"training.batch": 127}, "cannot be divided among 2 groups"),
        ({"task.terms": (4, 1)}, r"task.terms must begin with its smallest number, and rise: not \(4, 1\)"),
        ({"task.bucket_bounds": (4,)}, "task.bucket_bounds"),
        ({"task.spare_columns": 0}, "spare_columns is 0, but results can have 11 digits"),
    ],
)
def test_impossible_values(changes, complaint):
    with pytest.raises(ConfigError, match=complaint):
        override(Config(), changes)


def test_changes_are_checked_together():
    one_term = {"task.terms": (1, 1), "task.bucket_bounds": (), "task.spare_columns": 0}
    assert override(Config(), one_term).task.grid(Space((1, 1), (1, 10)))[1] == 10


def test_the_paper_s_numbers():
    config = Config()
    assert config.task.groups == (Space((1, 2), (1, 10)), Space((3, 4), (1, 10)))
    assert (config.task.spare_rows, config.task.spare_columns) == (1, 3)
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


TABLE = {
    "base": (8, 64, True, "ponder", "explore-reinforce", 157_585),
    "noGroups": (1, 64, True, "ponder", "explore-reinforce", 168_337),
    "SASA": (8, 8, False, "ponder", "explore-reinforce", 157_521),
    "fixedTime": (8, 64, True, "fixed", "none", 107_344),
    "ponderReg": (8, 64, True, "ponder", "kl", 157_585),
}


@pytest.mark.parametrize("name", PAPER_VARIANTS)
def test_variants_are_the_table_s(name):
    """With their parameters: those of one run, however many there are."""
    assert TABLE.keys() == PAPER_VARIANTS.keys()
    config, (groups, heads, query_encoding, halting, regulariser, parameters) = variant(name), TABLE[name]
    model = config.model
    assert config.variant == name
    assert (model.groups, model.heads, model.query_encoding, model.halting) == (groups, heads, query_encoding, halting)
    assert config.objective.regulariser == regulariser
    assert model.fixed_steps == 12
    assert parameter_count(Network(model, seeds=(0, 1))) == parameters
    assert sum(parameter.numel() for parameter in Network(model).parameters()) == parameters
