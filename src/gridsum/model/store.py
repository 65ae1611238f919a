"""Models on disk: one safetensors file a run, with its configuration and seed inside.

A weights file cannot run code, and it says what it is: loading one needs nothing beside it. It may come from anywhere,
so nothing is built from it before its checksum, shapes, types and values have been looked at.
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gridsum.config.exact import ExactConfig
from gridsum.config.fields import from_dict, to_json
from gridsum.config.paper import Config
from gridsum.io.disk import write_atomically
from gridsum.io.names import MODELS, did_you_mean
from gridsum.io.packed import SUFFIX
from gridsum.io.sealed import SealError, about_file, seal, unseal
from gridsum.model.paper import Network
from gridsum.model.rule import RuleNetwork
from gridsum.model.runs import parameter_count
from gridsum.tasks import find

WEIGHTS = "weights.safetensors"
EXPORTED = "model.safetensors"
"""The same in a folder that `gridsum export --to hf` wrote."""
SHIPPED = Path(__file__).parents[1] / "shipped"
SEEDS = "seeds.jsonl"
"""Among what is shipped: the records of every training seed of the paper's variants, for its Table VI."""
SYSTEMS = "systems.jsonl"
_FORMAT, _FORMAT_BEFORE = "gridsum-weights-2", "gridsum-weights-1"
"""The format of release 0.1.0 has no checksum."""


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


def run_state(network: nn.Module, run: int) -> dict[str, Tensor]:
    """The parameters of one run, without the run dimension."""
    return {name: tensor[run].detach().cpu().contiguous() for name, tensor in network.state_dict().items()}


def save_run(path: Path, network: nn.Module, run: int, config: Any, seed: int) -> None:
    about = {"format": _FORMAT, "seed": seed, "config": json.loads(to_json(config))}
    write_atomically(path, seal(run_state(network, run), about))


def load_runs(name: str, paths: Sequence[Path], device: torch.device | str = "cpu") -> Model:
    """The runs in `paths`, which share one configuration, as one model."""
    states, configs, seeds = [], [], []
    for path in paths:
        state, config, seed = _read(path)
        states.append(state)
        configs.append(config)
        seeds.append(seed)
    first = configs[0]
    same = [config.model == first.model and config.task.name == first.task.name for config in configs]
    different = None if all(same) else same.index(False)
    if different is not None:
        raise StoreError(f"{paths[different]} has another model configuration than {paths[0]}; load them apart")
    symbols = len(first.task.task.alphabet)
    shapes = Network(first.model, [], symbols)
    for path, state in zip(paths, states, strict=True):
        check_state(path, configs[0], state, shapes)
    network = Network(first.model, [0] * len(paths), symbols)
    network.load_state_dict({key: torch.stack([state[key] for state in states]) for key in states[0]})
    network.requires_grad_(False).to(device)
    return Model(name, configs[0], tuple(seeds), network, tuple(paths))


def shipped() -> dict[str, Path]:
    """The models that come with the package, by name, in the order of `gridsum.io.names.MODELS`."""
    ends = (f".safetensors{SUFFIX}", ".safetensors")
    found = {path.name.removesuffix(end): path for end in ends for path in SHIPPED.glob(f"*{end}")}
    order = [*MODELS, *sorted(found.keys() - MODELS.keys())]
    return {name: found[name] for name in order if name in found}


def shipped_records(name: str) -> Path:
    """Where the scores of a shipped model stand."""
    return SHIPPED / f"{name}.jsonl"


def system_records() -> Path | None:
    """Where the records of the systems that ours is compared with stand: in a checkout, or beside the models."""
    places = (SHIPPED.parent.parent.parent / "results" / "records" / SYSTEMS, SHIPPED / SYSTEMS)
    return next((place for place in places if place.exists()), None)


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
        raise StoreError(f"{name} holds no {WEIGHTS}, neither itself nor in seed-* folders; train a model there first")
    mend = did_you_mean(name, known, f"the shipped models are {', '.join(known)}")
    raise StoreError(f"there is no model {name!r} and no such folder; {mend}")


def load(name: str, device: torch.device | str = "cpu") -> Model:
    """The model, of one or several runs, that `name` means (see `locate`)."""
    return load_runs(name, locate(name), device)


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
    if system_of(path) is not None:
        state, about = read_weights(path)
        config, sizes = about["config"], [tensor.numel() for tensor in state.values()]
        known = {"name": name, "variant": f"{config['variant']}/{config['setting']}", "seed": about["seed"]}
        return {**known, "parameters": sum(sizes), "epochs": config["training"]["epochs"]}
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


def written_configuration(path: Path) -> dict[str, Any]:
    """The same of a weights file of any kind, as JSON holds it, with what this version adds."""
    if system_of(path) is not None:
        return _about(path, about_file)["config"]
    return json.loads(to_json(configuration_of(path)))


def read_config(path: Path) -> Config:
    """The configuration that a weights file was trained with."""
    return _read(path)[1]


def load_exact(path: Path) -> tuple[RuleNetwork, ExactConfig, int]:
    """A run of `exact`, its configuration and its seed."""
    state, about = read_weights(path)
    if not _is_exact(about):
        raise StoreError(f"{path} keeps vectors in its cells, not bits; name a run of gridsum train --variant exact")
    try:
        config = from_dict(ExactConfig, about["config"])
    except ValueError as error:
        raise StoreError(f"{path} holds a configuration that this version cannot read: {error}") from None
    check_state(path, config, state, RuleNetwork(config.rule, [], find(config.task)))
    network = RuleNetwork(config.rule, [0], find(config.task))
    network.load_state_dict({key: value[None] for key, value in state.items()})
    return network.requires_grad_(False), config, about["seed"]


def is_exact(path: Path) -> bool:
    """Whether a weights file is of a run of `exact`."""
    return _is_exact(_about(path, about_file))


def system_of(path: Path) -> str | None:
    """The name of the system that a weights file is a run of, if it is one that ours is compared with."""
    config = _about(path, about_file)["config"]
    return config.get("variant") if is_system(config) else None


def is_system(config: dict[str, Any]) -> bool:
    """Whether a configuration, as JSON holds it, is of a system that ours is compared with: those have a setting."""
    return "setting" in config


def _is_exact(about: dict[str, Any]) -> bool:
    return about["config"].get("variant") == "exact"


def _read(path: Path) -> tuple[dict[str, Tensor], Config, int]:
    state, about = read_weights(path)
    if _is_exact(about):
        raise StoreError(
            f"{path} is a run of exact, whose cells hold bits; this looks inside the paper's networks, such as base"
        )
    if is_system(about["config"]):
        raise StoreError(
            f"{path} is a run of {about['config'].get('variant')}, a system that ours is compared with; "
            "gridsum evaluate measures it"
        )
    try:
        return state, from_dict(Config, about["config"]), about["seed"]
    except ValueError as error:
        raise StoreError(f"{path} holds a configuration that this version cannot read: {error}") from None


def read_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a weights file, and what it says of itself."""
    state: dict[str, Tensor] = {}

    def read(path: Path) -> dict[str, Any]:
        held, about = unseal(path, older=lambda about: about.get("format") == _FORMAT_BEFORE)
        state.update(held)
        return about

    about = _about(path, read)
    return state, about


def _about(path: Path, read: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    """What a weights file says of itself: its format, the seed and the configuration of its run."""
    try:
        about = read(path)
    except FileNotFoundError:
        raise StoreError(f"{path} does not exist") from None
    except SealError as error:
        raise StoreError(f"{path} cannot be used: {error}; copy it again, or train the model anew") from None
    wrong = f"{path} holds a configuration that this version cannot read"
    if about.get("format") not in (_FORMAT, _FORMAT_BEFORE):
        raise StoreError(f"{wrong}: its format is {about.get('format')!r}, not {_FORMAT!r}")
    if not isinstance(about.get("config"), dict) or type(about.get("seed")) is not int:
        raise StoreError(f"{wrong}: its seed or its configuration is missing")
    return about


def check_state(path: Path, config: Any, state: dict[str, Tensor], shapes: nn.Module) -> None:
    """Refuse weights that are not those of `shapes`, a network of no runs, in name, shape and type, or no numbers."""
    found = {key: (tuple(value.shape), value.dtype) for key, value in state.items()}
    expected = {key: (tuple(value.shape[1:]), value.dtype) for key, value in shapes.state_dict().items()}
    wrong = sorted(key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key))
    if wrong:
        key = wrong[0]
        raise StoreError(
            f"the weights in {path} are not those of variant {config.variant!r} as configured: "
            f"{key} is {_told(found.get(key), 'missing')} but should be {_told(expected.get(key), 'absent')}"
        )
    unsound = next((key for key, value in state.items() if not value.isfinite().all()), None)
    if unsound is not None:
        raise StoreError(f"the weights in {path} are no numbers: {unsound} is not finite; train the model anew")


def _told(found: tuple[tuple[int, ...], torch.dtype] | None, nothing: str) -> str:
    return nothing if found is None else f"{found[0]} of {str(found[1]).removeprefix('torch.')}"
