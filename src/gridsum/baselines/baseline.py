"""What a baseline, a network of another paper that ours are compared with, is: data, and a network of one run.

A baseline is a `Baseline`: its name, its source, and two settings as data. `native` is what its own paper trained it
on, `matched` is Π([1,4],[1,10]) with results only, as ours. Its network is a `BaselineNetwork`, written for one run as
its paper has it; a fleet of seeds is the same function mapped over stacked weights (see `gridsum.baselines.fleet`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, make_dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from gridsum.baselines.fleet import MappedGradients, answers, baseline_subject
from gridsum.config.fields import Changes, override
from gridsum.config.paper import OfProblems, TaskConfig, TrainingConfig, described
from gridsum.config.registry import Trainable, find, read_config
from gridsum.data.problems import Batch, Space
from gridsum.data.streams import Stream

ShapeOf = TypeVar("ShapeOf")


@dataclass(frozen=True)
class BaselineConfig(OfProblems):
    """One run of a baseline, but for its seed. `network` is of the baseline's own `shape`."""

    variant: str = ""
    setting: str = described("matched", "Which of the baseline's settings it is: native or matched.")
    task: TaskConfig = field(default_factory=lambda: TaskConfig(bucket_bounds=()))
    training: TrainingConfig = field(default_factory=TrainingConfig)
    network: Any = None

    @property
    def label(self) -> str:
        """What its records are called, such as dngpu/native."""
        return f"{self.variant}/{self.setting}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Its class is made when its baseline is first asked for, so another process has to make it anew."""
        return read_config, (asdict(self),)


class Problem(NamedTuple):
    """A batch as a baseline takes it; every tensor leads with the run."""

    inputs: dict[str, Tensor]
    targets: Tensor
    """[R,B,P]: the symbols that it is to write, at the places P where it writes."""
    weight: Tensor
    """[R,B,P]: how much each of them counts in the loss."""


class Read(NamedTuple):
    logits: Tensor  # [B,P,symbols]
    regulariser: Tensor
    """What is added to the cross-entropy."""
    steps: Tensor
    """The mean number of recurrent steps."""


class Room(NamedTuple):
    """Sizes that a baseline may take for its grid or its row of symbols."""

    terms: int
    columns: int
    symbols: int


class BaselineNetwork(nn.Module, ABC, Generic[ShapeOf]):
    """A network of one run. Weights are drawn from torch's generator; all else that is random comes from a stream."""

    feeds_back = False
    """Whether it reads what it has written: `inputs["given"]` then holds that [R,B,P], in training the targets. It
    writes the units first, and a blank at the end."""

    def __init__(self, config: BaselineConfig) -> None:
        super().__init__()
        self.shape: ShapeOf = config.network
        self.task, self.trained_on = config.task.task, config.space
        self.symbols = len(self.task.alphabet)

    @abstractmethod
    def encode(self, batch: Batch, space: Space, draws: Stream | None) -> Problem:
        """Problems of `space` as it takes them; without `draws`, as it is asked and not trained."""

    @abstractmethod
    def forward(self, inputs: dict[str, Tensor], draws: Stream | None) -> Read:
        """One run; without `draws` nothing is dropped."""

    def written(self, predicted: Tensor, problem: Problem) -> Tensor:  # noqa: ARG002
        """What it writes, [R,B,P], as a row of columns with the units last. The problem is that of one run for all."""
        return predicted.flip(-1) if self.feeds_back else predicted

    def fits(self, space: Space) -> bool:  # noqa: ARG002
        """Whether problems of `space` can be given to it at all."""
        return True

    def room(self, space: Space) -> Room:
        """What problems of `space` are laid out in: as in training, larger where they need it, and less only where
        training had no problem so small: less room than ever would be a riddle of its own."""
        below = space.terms[1] < self.trained_on.terms[0] or space.digits[1] < self.trained_on.digits[0]
        spaces = (space,) if below else (space, self.trained_on)
        sizes = [(each.terms[1], each.columns_of(self.task), each.symbols) for each in spaces]
        return Room(*map(max, zip(*sizes, strict=True)))


class Setting(NamedTuple):
    """What a baseline is trained on and how, as changes of its defaults, and what it is given beside results."""

    given: tuple[str, ...]
    changes: Mapping[str, Any]


@dataclass(eq=False)
class Baseline(Trainable):
    """A baseline as an entry of the registry. `shape` is the section `network` of its configuration; `numbers` are
    suites with the share of whole results that its native setting has to reach, and where that comes from."""

    name: str
    title: str
    source: str
    network: type[BaselineNetwork]
    native: Setting
    matched: Setting
    shape: type | None = None
    numbers: Sequence[tuple[str, float, str]] = ()
    solves = False

    def __post_init__(self) -> None:
        section = [] if self.shape is None else [("network", self.shape, field(default_factory=self.shape))]
        self.config = make_dataclass("Config", section, bases=(BaselineConfig,), frozen=True)
        self.meaning = f"{self.title}, {self.source}"
        settings = {"matched": self.matched, "native": self.native}
        self.settings = {name: setting.changes for name, setting in settings.items()}
        self.given = {name: ", ".join(setting.given) or "nothing" for name, setting in settings.items()}

    def configure(self, setting: str | None = None, task: str | None = None, changes: Changes = None) -> BaselineConfig:
        config = self.config(variant=self.name, setting=setting or "matched")
        named = {} if task is None else {"task.name": task}
        return override(config, {**self.chosen_setting(config.setting), **named, **(changes or {})})

    def build(self, config: BaselineConfig, seeds: Sequence[int]) -> BaselineNetwork:
        runs = []
        for seed in seeds:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                runs.append(dict(self.network(config).named_parameters()))
        network = self.network(config)
        for name, parameter in list(network.named_parameters()):
            path, _, leaf = name.rpartition(".")
            rows = torch.stack([run[name].detach() for run in runs]) if runs else parameter.detach()[None][:0]
            setattr(network.get_submodule(path), leaf, nn.Parameter(rows))
        return network

    def gradients(self, network: BaselineNetwork, config: BaselineConfig, seeds: tuple[int, ...]) -> MappedGradients:
        return MappedGradients(network, config, seeds)

    def answer(self, network: BaselineNetwork, config: BaselineConfig, batch: Batch, draws: Stream) -> Tensor:  # noqa: ARG002
        return answers(network, batch, config.space)[0]

    def subjects(self, model: Any, **how: Any) -> Iterator[Any]:  # noqa: ARG002
        yield baseline_subject(model, self.given[model.config.setting])


def find_baseline(name: str) -> Baseline:
    found = find(name)
    assert isinstance(found, Baseline)
    return found


def schedule(steps: int, batch: int, rate: float, clip: float = 1.0, every: int = 100) -> dict[str, Any]:
    """A training run of so many steps at a rate that falls to a twentieth, logged every so many steps."""
    return {
        "training.epochs": steps // every,
        "training.steps_per_epoch": every,
        "training.restart_epochs": steps // every,
        "training.batch": batch,
        "training.learning_rate": rate,
        "training.final_learning_rate": rate / 20,
        "training.weight_decay": 0.0,
        "training.clip": clip,
        "training.precision": "tf32",
    }
