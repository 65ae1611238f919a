"""Models on disk: what is written is read again, and what cannot be read says why."""

import json
from functools import partial

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from gridsum.config.exact import ExactConfig, RuleConfig
from gridsum.config.fields import override, to_json
from gridsum.config.registry import find
from gridsum.config.variants import variant
from gridsum.io.sealed import seal
from gridsum.model.rollout import Network
from gridsum.model.store import StoreError, configuration_of, facts, load, load_runs, save_run
from tests.oracles.sizes import SMALLEST


@pytest.fixture
def config():
    return override(variant("base"), SMALLEST)


@pytest.fixture
def weights(tmp_path, config):
    path = tmp_path / "seed-4" / "weights.safetensors"
    save_run(path, Network(config.model, (3, 4)), 1, config, 4)
    return path


@pytest.mark.parametrize(
    "config",
    [override(variant("base"), SMALLEST), ExactConfig(rule=RuleConfig(bits=3, width=8, hidden=8, groups=2))],
    ids=["of the paper's", "of bits"],
)
def test_a_run_comes_back_as_it_was(config, tmp_path):
    path, fleet = tmp_path / "any name.safetensors", find(config.variant).build(config, (3, 4))
    for buffer in fleet.buffers():
        buffer[1] = True
    save_run(path, fleet, 1, config, 4)
    model = load_runs("mine", [path])
    assert (model.name, model.config, model.seeds, configuration_of(path)) == ("mine", config, (4,), config)
    kept = {name: tensor[1:] for name, tensor in fleet.state_dict().items()}
    torch.testing.assert_close(dict(model.network.state_dict()), kept, rtol=0, atol=0)
    count, epochs = sum(parameter[0].numel() for parameter in fleet.parameters()), config.training.epochs
    about = {"name": "mine", "variant": config.variant, "seed": 4, "parameters": count, "epochs": epochs}
    assert facts(model) == about


def test_a_training_folder_means_all_its_seeds_in_order(tmp_path, config):
    for seed in (10, 9, 0):
        save_run(tmp_path / f"seed-{seed}" / "weights.safetensors", Network(config.model, (seed,)), 0, config, seed)
    assert load(str(tmp_path)).seeds == (0, 9, 10)
    assert load(str(tmp_path / "seed-9")).seeds == (9,)


def rewritten(path, changes=None, change=lambda tensors: tensors, of=None):
    """The file with another configuration, or with other tensors."""
    config = json.loads(to_json(of or override(variant("base"), SMALLEST | (changes or {}))))
    about = {"format": "gridsum-weights-2", "seed": 4, "config": config}
    path.write_bytes(seal(change(load_file(path)), about))


def flipped(path):
    content = bytearray(path.read_bytes())
    content[-1000] ^= 4
    path.write_bytes(content)


def without_checksum(path):
    with safe_open(path, framework="pt") as file:
        told = json.loads(file.metadata()["gridsum"])
    del told["sha256"]
    save_file(load_file(path), path, {"gridsum": json.dumps(told)})


def of_a_later_version(path):
    config = json.loads(to_json(variant("base")))
    config["model"]["depth"] = 3
    path.write_bytes(seal(load_file(path), {"format": "gridsum-weights-2", "seed": 4, "config": config}))


def in_double(tensors):
    return {name: tensor.double() for name, tensor in tensors.items()}


TERABYTES = {"model.width": 2**19, "model.step_hidden": 2**19, "model.placement_hidden": 2**19}


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (flipped, "does not fit its checksum"),
        (without_checksum, "does not fit its checksum"),
        (partial(rewritten, change=lambda of: of | {"output.bias": of["output.bias"] * float("nan")}), "not finite"),
        (
            partial(rewritten, change=in_double),
            "should be .* of float32",
        ),
        (partial(rewritten, changes=TERABYTES), "not those of variant 'base'"),
        (partial(rewritten, changes={"model.groups": 1}), "not those of variant 'base'"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "not a whole safetensors file"),
        (lambda path: path.write_bytes(b"PK\x03\x04 this is a zip file"), "not a whole safetensors file"),
        (of_a_later_version, "this version cannot read"),
        (partial(rewritten, of=ExactConfig(task="multiply")), "this version cannot read: .*'multiply'"),
    ],
)
def test_a_harmed_file_says_what_is_wrong_with_it(weights, harm, message):
    harm(weights)
    with pytest.raises(StoreError, match=message) as caught:
        load(str(weights))
    assert str(weights) in str(caught.value)


def test_runs_of_different_configurations_are_not_stacked(tmp_path, weights):
    other = override(variant("base"), {**SMALLEST, "model.heads": 8})
    save_run(tmp_path / "other.safetensors", Network(other.model, (0,)), 0, other, 0)
    with pytest.raises(StoreError, match="another model configuration"):
        load_runs("both", [weights, tmp_path / "other.safetensors"])
