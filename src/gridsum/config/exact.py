"""What a run of `exact` is, as frozen data: the network of bits, the phases of its training, its consolidation.

Every phase is the same training on results with other settings: problems grow from short sums to all of Π, states from
numbers to bits. So the whole way from nothing to a rule is one configuration.
"""

import math
from dataclasses import dataclass, field

from gridsum.config.paper import Section, TrainingConfig, described, require
from gridsum.data.problems import Space
from gridsum.tasks import Task, find

POSITIONS = {"left": (0, -1), "right": (0, 1), "below": (1, 0), "own": (0, 0), "above": (-1, 0)}
"""Where a neighbour stands: rows down, columns to the right."""
PROVABLE = ("left", "right", "below")
"""The neighbourhood that the proof is about."""


@dataclass(frozen=True)
class RuleConfig(Section):
    """The network of bits."""

    bits: int = described(8, "m, the bits of a cell.", least=1, most=12)
    width: int = described(64, "Features of a cell inside a step.", least=4, multiple=4)
    hidden: int = described(256, "Hidden features of a step's feed-forward network, FFN_3.", least=1)
    placement_hidden: int = described(64, "Hidden features of the network that chooses a symbol's action.", least=1)
    groups: int = described(8, "Into how many parts the projections to queries, keys and values are split.", least=1)
    neighbours: str = described(" ".join(PROVABLE), f"What a cell sees, of {', '.join(POSITIONS)}.")

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.width % self.groups == 0, f"rule.groups is {self.groups}, which does not divide {self.width}")
        unknown = [name for name in self.positions if name not in POSITIONS]
        require(not unknown, f"rule.neighbours names {unknown}; the positions are {', '.join(POSITIONS)}")
        require(len(set(self.positions)) == len(self.positions) > 0, "rule.neighbours must name each position once")

    @property
    def positions(self) -> tuple[str, ...]:
        return tuple(self.neighbours.split())


@dataclass(frozen=True)
class Phase(Section):
    """The phases of training, one after another."""

    steps: int = described(1000, "Training steps.")
    terms: tuple[int, int] = described((1, 4), "The fewest and the most terms of a sum.", least=1)
    digits: tuple[int, int] = described((1, 4), "The fewest and the most digits of a term.", least=1)
    recurrent: tuple[int, int] = described((5, 10), "The fewest and most recurrent steps, drawn at each step.", least=1)
    noise: float = described(1.0, "The noise on what becomes a bit.")
    bits: bool = described(True, "Whether states are bits, not numbers between.")
    pad_weight: float = described(0.1, "The weight of the PAD class in the cross-entropy.")
    rate_start: float = described(1e-3, "The learning rate at the start of the phase; it changes evenly.")
    rate_end: float = described(1e-3, "The learning rate at its end.")
    patience: int = described(0, "Every N steps a seed with too few answers right restarts from new weights; 0: never.")

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.terms[0] < self.terms[1], "terms must be two different numbers: a batch has two groups")

    @property
    def groups(self) -> tuple[Space, Space]:
        """Half of a batch has the fewer terms, half the more, as in the paper."""
        low, high = self.terms
        middle = (low + high) // 2
        return Space((low, middle), self.digits), Space((middle + 1, high), self.digits)


@dataclass(frozen=True)
class Phases:
    """The phases in their order: placement on short sums, states that are soft, states that are bits, long sums."""

    place: Phase = Phase(1600, (1, 2), (1, 3), (2, 6), 0.3, bits=False, rate_start=2e-3, rate_end=2e-3, patience=800)
    soft: Phase = Phase(1800, recurrent=(4, 9), noise=0.3, bits=False, rate_start=2e-3)
    bits: Phase = Phase(1400, rate_end=5e-4)
    long: Phase = Phase(800, digits=(1, 10), recurrent=(8, 16), rate_start=6e-4, rate_end=5e-5)


@dataclass(frozen=True)
class DiscoveryConfig(Section):
    """What all phases share."""

    batch: int = described(128, "Problems of a training step, half of them from each bucket.", least=4, multiple=4)
    spare_rows: int = described(1, "Empty rows under the terms.")
    spare_columns: int = described(3, "Columns beyond the number of digits.")
    random_rows: int = described(1, "The most extra rows, drawn at every step.")
    random_columns: int = described(1, "The most extra columns, drawn at every step.")
    few_digits: float = described(0.4, "The share of problems with at most three different digits, drawn for each.")
    hard_share: float = described(0.25, "Share of a batch that is placed by the most probable actions.")
    harden_accuracy: float = described(0.9, "Character accuracy, by most probable actions, at which placement hardens.")
    weight_decay: float = described(0.05, "Weight decay of matrices.")
    clip: float = described(1.0, "The largest norm of a run's gradient.")
    epoch_steps: int = described(100, "Training steps between two lines of the log, and two checkpoints.", least=1)
    keep_epochs: int = described(0, "Keep the weights of every N-th epoch as weights-EPOCH.safetensors; 0: of none.")


@dataclass(frozen=True)
class ConsolidationConfig(Section):
    """How a run is made to do in one step what it settles to: it is its own teacher."""

    problems: int = described(300_000, "Sums that it solves to collect states at rest, in bases above ten more.")
    digits: tuple[int, int] = described((1, 10), "The fewest and the most digits of their terms.", least=1)
    rounds: int = described(4, "How often it looks and learns at most.")
    steps: int = described(1500, "Training steps of a round at most.")
    batch: int = described(16384, "Contexts of a step, at most all.")
    rate: float = described(1e-3, "The learning rate at the start of a round.")
    margin: float = described(1.0, "How far from 0 every logit must be at the end.")
    enough: float = described(0.5, "The share of sums right below which there is nothing to learn.", above=0, most=1)
    rare: float = described(2e-4, "States in a smaller share of the cells are taken for mistakes.")
    repair: bool = described(True, "Whether other states are tried where sums stay wrong, and fewer where none does.")


@dataclass(frozen=True)
class ExactConfig:
    """One run of `exact`, but for its seed."""

    variant: str = "exact"
    task: str = described("add", "The task, such as add or add:base=2.")
    rule: RuleConfig = field(default_factory=RuleConfig)
    discovery: DiscoveryConfig = field(default_factory=DiscoveryConfig)
    phases: Phases = field(default_factory=Phases)
    consolidation: ConsolidationConfig = field(default_factory=ConsolidationConfig)

    def __post_init__(self) -> None:
        require(self.steps > 0, "the phases have no training steps; give one of them some, such as phases.place.steps")

    @property
    def label(self) -> str:
        """What its records are called."""
        return self.variant

    @property
    def learns(self) -> Task:
        return find(self.task)

    @property
    def space(self) -> Space:
        """The problems of the last phase, which are all it is trained on."""
        last = [phase for phase in vars(self.phases).values() if phase.steps][-1]
        return Space(last.terms, last.digits)

    @property
    def steps(self) -> int:
        """Training steps in all."""
        return sum(phase.steps for phase in vars(self.phases).values())

    @property
    def training(self) -> TrainingConfig:
        """How long and how fast a run learns, as the training loop is told; rates are those of the phases."""
        shared = self.discovery
        return TrainingConfig(
            epochs=math.ceil(self.steps / shared.epoch_steps),
            steps_per_epoch=shared.epoch_steps,
            batch=shared.batch,
            weight_decay=shared.weight_decay,
            clip=shared.clip,
            checkpoint_epochs=1,
            keep_epochs=shared.keep_epochs,
        )
