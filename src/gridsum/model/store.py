"""Models on disk: one safetensors file a run, with its configuration and seed inside.

It may come from anywhere, so nothing is built from it before its checksum, shapes, types and values are looked at.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gridsum.config.fields import to_json
from gridsum.config.registry import Trainable, find, read_config
from gridsum.io.disk import write_atomically
from gridsum.io.names import MODELS, did_you_mean
from gridsum.io.sealed import SealError, about_file, difference, seal, unseal
from gridsum.model.runs import parameter_count
from gridsum.tasks import Task

WEIGHTS = "weights.safetensors"
EXPORTED = "model.safetensors"
"""The same in a folder that `gridsum export --to hf` wrote."""
SHIPPED = Path(__file__).parents[1] / "shipped"
SEEDS = "seeds.jsonl"
"""Among what is shipped: the records of every training seed of the paper's variants, for its Table VI."""
BASELINES = "results/records/baselines.jsonl"
"""The records of the baselines that ours is compared with."""
EXACT_SEEDS = "benchmarks/records/exact-seeds-2026-11-18.json"
"""What became of fresh seeds of `exact`."""
_FORMAT = "gridsum-weights-2"


class StoreError(ValueError):
    """A model that cannot be read; the message says what to mend."""


@dataclass(frozen=True)
class Model:
    """Trained runs of one configuration, stacked into one network."""

    name: str
    config: Any
    seeds: tuple[int, ...]
    network: Any
    paths: tuple[Path, ...] = ()
    """The weights files, run by run, where it was read from such."""

    @property
    def kind(self) -> Trainable:
        return find(self.config.variant)

    @property
    def task(self) -> Task:
        return self.config.learns


def save_run(path: Path, network: nn.Module, run: int, config: Any, seed: int) -> None:
    about = {"format": _FORMAT, "seed": seed, "config": json.loads(to_json(config))}
    write_atomically(path, seal({name: tensor[run] for name, tensor in network.state_dict().items()}, about))


def load_runs(name: str, paths: Sequence[Path], device: torch.device | str = "cpu") -> Model:
    """The runs in `paths`, which share one configuration, as one model."""
    states, configs, seeds = zip(*map(_read, paths), strict=True)
    config, kind = configs[0], find(configs[0].variant)
    shapes = kind.build(config, []).state_dict()  # of no runs
    # On "meta" they take no memory.
    expected = {key: torch.empty(value.shape[1:], dtype=value.dtype, device="meta") for key, value in shapes.items()}
    for path, other, state in zip(paths, configs, states, strict=True):
        same = getattr(config, "model", None) == getattr(other, "model", None)
        if type(other) is not type(config) or other.learns.name != config.learns.name or not same:
            raise StoreError(f"{path} has another model configuration than {paths[0]}; load them apart")
        if wrong := difference(state, expected):
            raise StoreError(f"the weights in {path} are not those of variant {other.variant!r} as configured: {wrong}")
        if unsound := next((key for key, value in state.items() if not value.isfinite().all()), None):
            raise StoreError(f"{path} holds weights that are not finite, in {unsound}; train the model again")
    network = kind.build(config, [0] * len(paths))
    network.load_state_dict({key: torch.stack([state[key] for state in states]) for key in states[0]})
    network.to(device)
    return Model(name, config, seeds, network, tuple(paths))


def shipped() -> dict[str, Path]:
    """The models that come with the package, by name, in the order of `gridsum.io.names.MODELS`."""
    found = {path.stem: path for path in SHIPPED.glob("*.safetensors")}
    order = [*MODELS, *sorted(found.keys() - MODELS.keys())]
    return {name: found[name] for name in order if name in found}


def shipped_records(name: str) -> Path:
    """Where the scores of a shipped model stand."""
    return SHIPPED / f"{name}.jsonl"


def other_records(name: str) -> Path:
    """Where records stand that are of no shipped model: in a folder of a checkout, or beside the models."""
    place = SHIPPED.parents[2] / name
    return place if place.exists() else SHIPPED / place.name


def locate(name: str) -> list[Path]:
    """The weights that `name` means: a shipped model, a run's folder, a training folder, or a weights file."""
    known = shipped()
    if name in known:
        return [known[name]]
    path = Path(name)
    if path.is_file():
        return [path]
    for weights in (path / WEIGHTS, path / EXPORTED):
        if weights.is_file():
            return [weights]
    runs = sorted(path.glob(f"seed-*/{WEIGHTS}"), key=lambda run: (len(run.parent.name), run.parent.name))
    if runs:
        return runs
    if path.is_dir():
        raise StoreError(f"no {WEIGHTS} in {name} or in seed-* folders there; train a model there first")
    if (SHIPPED / f"{name}.rule.json").is_file():
        raise StoreError(f"{name} is a rule without its network, which this needs; train one of its task")
    mend = did_you_mean(name, known, f"the shipped models are {', '.join(known)}")
    raise StoreError(f"unknown model {name!r}, and no such folder; {mend}")


def load(name: str, device: torch.device | str = "cpu") -> Model:
    """The model, of one or several runs, that `name` means (see `locate`)."""
    return load_runs(name, locate(name), device)


def facts(model: Model) -> dict[str, Any]:
    """What a model of one run is; the epochs are those of all its training runs together."""
    return {
        "name": model.name,
        "variant": model.config.label,
        "seed": model.seeds[0],
        "parameters": parameter_count(model.network),
        "epochs": model.config.training.epochs_in_all,
    }


def configuration_of(path: Path) -> Any:
    """The configuration of a weights file."""
    return _read(path, whole=False)[1]


def _read(path: Path, whole: bool = True) -> tuple[dict[str, Tensor], Any, int]:
    """The tensors of a weights file, if the whole is wanted, the configuration and the seed of its run."""
    try:
        state, about = unseal(path, _FORMAT) if whole else ({}, about_file(path, _FORMAT))
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist") from None
    except SealError as error:
        raise StoreError(f"{path} cannot be used: {error}; copy it again, or train the model again") from None
    try:
        if not isinstance(about.get("config"), dict) or type(about.get("seed")) is not int:
            raise ValueError("its seed or its configuration is missing")
        config = read_config(about["config"])
        assert config.learns  # a task that does not exist is told here, too
    except ValueError as error:
        raise StoreError(f"{path} holds a configuration that this version cannot read: {error}") from None
    return state, config, about["seed"]
