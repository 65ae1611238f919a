"""What can be trained, by name: the paper's variants, `exact`, the baselines, and what other packages add.

The rest of the program asks the entry, so it trains, measures and loads all of them alike. Another package adds one by
`register`, or names it in its pyproject.toml::

    [project.entry-points."gridsum.trainables"]
    mine = "my_package.mine:MINE"
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from gridsum.config.fields import Changes, from_dict, override
from gridsum.config.paper import ConfigError
from gridsum.config.variants import VARIANTS
from gridsum.data.problems import Batch
from gridsum.data.streams import Stream
from gridsum.io.names import did_you_mean

_GROUP = "gridsum.trainables"
# Where entries stand that come with gridsum. They are imported when they are asked for.
_PAPER = "gridsum.training.paper:Paper"
BASELINES = ("s2g-cnn", "dngpu", "grid-lstm", "lstm-act", "universal-transformer", "deep-thinking", "position-coupling")
"""The baselines that come with gridsum, each in a file of its name."""
_SHIPPED = {name: f"gridsum.baselines.{name.replace('-', '_')}:BASELINE" for name in BASELINES}
_SHIPPED |= {"exact": "gridsum.training.exact:EXACT"}
_registered: "dict[str, Trainable]" = {}


class GradientSource(ABC):
    """The gradients of each training step of a fleet, and what the next step depends on."""

    config: Any

    @abstractmethod
    def __call__(self, step: int) -> Any:
        """The gradients of training step `step` (`gridsum.training.gradients.Gradients`)."""

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        return self.config.training.rate(step)

    def phase(self, step: int) -> str:
        """The part of the training that a step belongs to."""
        return ""

    def hopeless(self, step: int) -> Sequence[int]:
        """The runs that begin again at a step, from other random weights."""
        return ()

    def state(self) -> dict[str, Tensor]:
        """What the next step depends on, beside weights and moments."""
        return {}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `state` gave."""
        for name, own in self.state().items():
            own.copy_(state[name])


class Trainable(ABC):
    """One thing that can be trained.

    Its configuration is a frozen dataclass and has `variant`, the name of the entry; `training`, a `TrainingConfig`;
    `steps`, the training steps in all; `learns`, the task; `space`, its problems; `label`, what its records are called.
    """

    name: str
    meaning: str = ""
    config: type[Any]
    settings: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    """Named ways to train it, as what they change of its configuration."""
    may_change: str = "training.epochs"
    """The fields that may be asked for otherwise on resuming."""
    outcome: str = ""
    """The file of a run's folder that keeps what `finish` came to; empty where nothing is done after training."""
    solves: bool = True
    """Whether `gridsum solve` can ask it a problem that someone writes; evaluating can always."""
    has_rule: bool = False
    """Whether what it does in a cell is a finite table, so that a rule can be taken from it and proved."""

    @abstractmethod
    def configure(self, setting: str | None = None, task: str | None = None, changes: Changes = None) -> Any:
        """Its configuration in a setting and for a task, with these fields changed."""

    def following(self, config: Any) -> Any:
        """The configuration for going on from weights of `config`: the same, with problems not seen."""
        training = config.training
        first = training.first_step + training.epochs * training.steps_per_epoch
        return override(config, {"training.first_step": first, "training.precision": "auto"})

    @abstractmethod
    def build(self, config: Any, seeds: Sequence[int]) -> Any:
        """A network with a run for each seed; every parameter leads with the run. Of no seeds it has shapes alone."""

    @abstractmethod
    def gradients(self, network: Any, config: Any, seeds: tuple[int, ...]) -> GradientSource:
        """The gradients of its training steps."""

    @abstractmethod
    def answer(self, network: Any, config: Any, batch: Batch, draws: Stream) -> Tensor:
        """What every run answers to problems [1,B] of those it is trained on: symbols [R,B,W], the units last."""

    def held_out(self, network: Any, config: Any, batch: Batch, draws: Stream) -> dict[str, Tensor]:
        """What is logged, for each run [R], of problems that are never trained on: the share of results right."""
        found = self.answer(network, config, batch, draws)
        return {"held_out": (found == batch.targets_for(found.shape[-1])).all(-1).double().mean(1)}

    @abstractmethod
    def subjects(self, model: Any, **how: Any) -> Iterator[Any]:
        """What is measured of a loaded model (`gridsum.evaluation.evaluate.Subject`): its runs together, or each; of
        the paper's networks by this halting and placement, on these grids."""

    def finish(
        self, network: Any, config: Any, seeds: Sequence[int], report: Callable[[str], None]
    ) -> Iterator[tuple[int, dict[str, Any]]]:
        """What is done with a trained network, in place: the index of each run that is final, and what it came to."""
        return iter(())

    def memory(self, config: Any, runs: int) -> int:
        """Bytes that a training step takes, about; 0 where nobody knows."""
        return 0

    def work(self, config: Any, runs: int, epochs: int, device: torch.device) -> float:
        """The floating-point operations of so many epochs of training, and of what comes after; 0 if unknown."""
        return 0.0

    def chosen_setting(self, setting: str | None) -> Mapping[str, Any]:
        """The changes of a setting; a name that does not exist is an error."""
        if setting and setting not in self.settings:
            hint = did_you_mean(setting, self.settings, f"it has {', '.join(self.settings) or 'none'}")
            raise ConfigError(f"{self.name} has no setting {setting!r}; {hint}")
        return self.settings[setting] if setting else {}


def register(entry: Trainable) -> Trainable:
    """Add an entry for as long as the process lives."""
    if entry.name in VARIANTS or entry.name in _SHIPPED:
        raise ConfigError(f"{entry.name} comes with gridsum; give yours another name")
    _registered[entry.name] = entry
    return entry


def names() -> tuple[str, ...]:
    """All that can be trained, ours first."""
    return tuple(dict.fromkeys(("exact", *VARIANTS, *BASELINES, *_registered, *_offered())))


def find(name: str) -> Trainable:
    if name in _registered:
        return _registered[name]
    if name in VARIANTS:
        return EntryPoint(name, _PAPER, _GROUP).load()(name)
    if name in _SHIPPED:
        return EntryPoint(name, _SHIPPED[name], _GROUP).load()
    offered = _offered()
    if name not in offered:
        hint = did_you_mean(name, names(), f"the variants are {', '.join(names())}")
        raise ConfigError(f"unknown variant {name!r}; {hint}")
    return offered[name].load()


def read_config(data: Any) -> Any:
    """A configuration of any entry, from what JSON holds of it."""
    name = data.get("variant", "base") if isinstance(data, dict) else "base"
    return from_dict(find(str(name)).config, data)


def _offered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=_GROUP)}
