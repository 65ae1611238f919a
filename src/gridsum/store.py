"""Models on disk: one safetensors file a run, with its configuration and seed inside.

A weights file cannot run code, and it says what it is: loading one needs nothing beside it.
"""

import dataclasses
import json
import os
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from gridsum.config import Config
from gridsum.fields import from_dict, to_json
from gridsum.model.paper import Network, parameter_count
from gridsum.model.rule import RuleNetwork
from gridsum.names import MODELS, did_you_mean, resolve
from gridsum.recipe import ExactConfig

WEIGHTS = "weights.safetensors"
SHIPPED = Path(__file__).parent / "shipped"
SEEDS = "seeds.jsonl"
"""Among what is shipped: the records of every training seed of the paper's variants, for its Table VI."""
# safetensors writes several entries of metadata in no fixed order; with one, equal runs are equal files.
_ABOUT = "gridsum"
_FORMAT = "gridsum-weights-1"


class StoreError(ValueError):
    """A model that cannot be read; the message says what to mend."""


@dataclass(frozen=True)
class Model:
    """Trained runs of one configuration, stacked into one network."""

    name: str
    config: Config
    seeds: tuple[int, ...]
    network: Network
    paths: tuple[Path, ...] = ()
    """The weights files, run by run, where it was read from such."""


def write_atomically(path: Path, content: bytes) -> None:
    """Write `path` whole or not at all: readers see the old content until the new one is on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def run_state(network: nn.Module, run: int) -> dict[str, Tensor]:
    """The parameters of one run, without the run dimension."""
    return {name: tensor[run].detach().cpu().contiguous() for name, tensor in network.state_dict().items()}


def save_run(path: Path, network: nn.Module, run: int, config: Config | ExactConfig, seed: int) -> None:
    about = {"format": _FORMAT, "seed": seed, "config": json.loads(to_json(config))}
    write_atomically(path, save(run_state(network, run), {_ABOUT: json.dumps(about)}))


def load_runs(name: str, paths: Sequence[Path], device: torch.device | str = "cpu") -> Model:
    """The runs in `paths`, which share one configuration, as one model."""
    states, configs, seeds = [], [], []
    for path in paths:
        state, config, seed = _read(path)
        states.append(state)
        configs.append(config)
        seeds.append(seed)
    different = next((i for i, config in enumerate(configs) if config.model != configs[0].model), None)
    if different is not None:
        raise StoreError(f"{paths[different]} has another model configuration than {paths[0]}; load them apart")
    network = Network(configs[0].model, [0] * len(paths))
    expected = {key: tuple(value.shape[1:]) for key, value in network.state_dict().items()}
    for path, state in zip(paths, states, strict=True):
        _check_shapes(path, configs[0], {key: tuple(value.shape) for key, value in state.items()}, expected)
    network.load_state_dict({key: torch.stack([state[key] for state in states]) for key in expected})
    network.requires_grad_(False).to(device)
    return Model(name, configs[0], tuple(seeds), network, tuple(paths))


def shipped() -> dict[str, Path]:
    """The models that come with the package, by name, in the order of `gridsum.names.MODELS`."""
    found = {path.stem: path for path in SHIPPED.glob("*.safetensors")}
    order = [*MODELS, *sorted(found.keys() - MODELS.keys())]
    return {name: found[name] for name in order if name in found}


def shipped_records(name: str) -> Path:
    """Where the scores of a shipped model stand."""
    return SHIPPED / f"{name}.jsonl"


def locate(name: str) -> list[Path]:
    """The weights that `name` means: a shipped model, a run's folder, a training folder, or a weights file."""
    known = shipped()
    name, note = resolve(name)
    if note:
        warnings.warn(note, stacklevel=3)
    if name in known:
        return [known[name]]
    path = Path(name)
    if path.is_file():
        return [path]
    if (path / WEIGHTS).is_file():
        return [path / WEIGHTS]
    runs = sorted(path.glob(f"seed-*/{WEIGHTS}"), key=lambda run: (len(run.parent.name), run.parent.name))
    if runs:
        return runs
    if path.is_dir():
        raise StoreError(f"{name} holds no {WEIGHTS}, neither itself nor in seed-* folders; train a model there first")
    mend = did_you_mean(name, known, f"the shipped models are {', '.join(known)}")
    raise StoreError(f"there is no model {name!r} and no such folder; {mend}")


def load(name: str, device: torch.device | str = "cpu") -> Model:
    """The model, of one or several runs, that `name` means (see `locate`)."""
    return load_runs(resolve(name)[0], locate(name), device)


def facts(model: Model) -> dict[str, Any]:
    """What a model of one run is; the epochs are those of all its trainings together."""
    return {
        "name": model.name,
        "variant": model.config.variant,
        "seed": model.seeds[0],
        "parameters": parameter_count(model.network),
        "epochs": model.config.training.epochs_in_all,
    }


def facts_of_file(name: str, path: Path) -> dict[str, Any]:
    """The same of a weights file of either kind; `exact` counts training steps by the hundred."""
    if not is_exact(path):
        return facts(load_runs(name, [path]))
    network, config, seed = load_exact(path)
    steps = sum(getattr(config.phases, item.name).steps for item in dataclasses.fields(config.phases))
    count = sum(parameter[0].numel() for parameter in network.parameters())
    epochs = steps // config.discovery.epoch_steps
    return {"name": name, "variant": config.variant, "seed": seed, "parameters": count, "epochs": epochs}


def configuration_of(path: Path) -> Config | ExactConfig:
    """The configuration of a weights file of either kind."""
    return load_exact(path)[1] if is_exact(path) else read_config(path)


def read_config(path: Path) -> Config:
    """The configuration that a weights file was trained with."""
    return _read(path)[1]


def load_exact(path: Path) -> tuple[RuleNetwork, ExactConfig, int]:
    """A run of `exact`, its configuration and its seed."""
    state, about = _read_file(path)
    if not _is_exact(about):
        raise StoreError(f"{path} keeps vectors in its cells, not bits; name a run of gridsum train --variant exact")
    try:
        config = from_dict(ExactConfig, about["config"])
    except ValueError as error:
        raise StoreError(f"{path} holds a configuration that this version cannot read: {error}") from None
    network = RuleNetwork(config.rule, [0])
    expected = {key: tuple(value.shape[1:]) for key, value in network.state_dict().items()}
    _check_shapes(path, config, {key: tuple(value.shape) for key, value in state.items()}, expected)
    network.load_state_dict({key: value[None] for key, value in state.items()})
    return network.requires_grad_(False), config, int(about["seed"])


def is_exact(path: Path) -> bool:
    """Whether a weights file is of a run of `exact`."""
    return _is_exact(_read_file(path)[1])


def _is_exact(about: dict[str, Any]) -> bool:
    return about.get("config", {}).get("variant") == "exact"


def _read(path: Path) -> tuple[dict[str, Tensor], Config, int]:
    state, about = _read_file(path)
    if _is_exact(about):
        raise StoreError(
            f"{path} is a run of exact, whose cells hold bits; this looks inside the paper's networks, such as base"
        )
    try:
        return state, from_dict(Config, about["config"]), int(about["seed"])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} holds a configuration that this version cannot read: {error}") from None


def _read_file(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            state = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist") from None
    except (SafetensorError, OSError) as error:
        raise StoreError(
            f"{path} is not a whole safetensors file ({error}); copy it again, or train the model anew"
        ) from None
    if _ABOUT not in metadata:
        raise StoreError(f"{path} is a safetensors file, but not one that gridsum wrote")
    try:
        about = json.loads(metadata[_ABOUT])
        if about["format"] != _FORMAT:
            raise ValueError(f"its format is {about['format']!r}, not {_FORMAT!r}")
        return state, about
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} holds a configuration that this version cannot read: {error}") from None


def _check_shapes(
    path: Path, config: Config | ExactConfig, found: dict[str, tuple[int, ...]], expected: dict[str, tuple[int, ...]]
) -> None:
    if found == expected:
        return
    wrong = sorted(key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
    raise StoreError(
        f"the weights in {path} are not those of variant {config.variant!r} as configured: "
        f"{wrong[0]} is {found.get(wrong[0], 'missing')} but should be {expected.get(wrong[0], 'absent')}"
    )
