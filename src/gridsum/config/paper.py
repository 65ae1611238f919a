"""What a run is, as frozen data: the task, the model, the objective, the training.

Every point that the paper leaves open is a field, so that another interpretation can be tried without touching code.
"""

import dataclasses
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, cast

from gridsum.data.problems import Space
from gridsum.tasks import Task, find


class ConfigError(ValueError):
    """A configuration that cannot be used; the message says what to mend."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


_LIMITS: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "least": (operator.ge, "at least {:,}"),
    "most": (operator.le, "at most {:,}"),
    "above": (operator.gt, "above {:,}"),
    "below": (operator.lt, "below {:,}"),
    "multiple": (lambda number, of: number % of == 0, "a multiple of {:,}"),
}
_USUAL = {"least": 0, "most": 10**6}


def described(default: Any, meaning: str, **limits: float) -> Any:
    """A field with its default, what a person is told of it, and the numbers that it takes."""
    return field(default=default, metadata={"meaning": meaning, "limits": limits})


class Section:
    """Some fields of a configuration. It may come from anywhere, so numbers that a field does not take are refused."""

    def __post_init__(self) -> None:
        name = type(self).__name__.removesuffix("Config").lower()
        for item in dataclasses.fields(cast(Any, self)):
            value, limits = getattr(self, item.name), _USUAL | item.metadata.get("limits", {})
            numbers = value if isinstance(value, tuple) else (value,)
            rising = all(low <= high for low, high in pairwise(numbers))
            require(rising, f"{name}.{item.name} must begin with its smallest number, and rise: not {value}")
            for number in numbers:
                for limit, bound in limits.items() if isinstance(number, int | float) else ():
                    holds, told = _LIMITS[limit]
                    require(holds(number, bound), f"{name}.{item.name} must be {told.format(bound)}, not {number:,}")


@dataclass(frozen=True)
class TaskConfig(Section):
    """Which problems the network trains on, and how large their grids are."""

    name: str = described("add", "The task, such as add, add:base=2 or subtract; --task says the same.")
    terms: tuple[int, int] = described((1, 4), "The fewest and the most terms of a sum.", least=1)
    digits: tuple[int, int] = described((1, 10), "The fewest and the most digits of a term.", least=1)
    bucket_bounds: tuple[int, ...] = described((2,), "The most terms of all buckets but the last: 2 is [1,2], [3,4].")
    spare_rows: int = described(1, "F_H, rows beyond the number of terms.")
    spare_columns: int = described(3, "F_W, columns beyond the number of digits.")
    random_rows: int = described(3, "R_H is uniform in {0..random_rows}.")
    random_columns: int = described(3, "R_W is uniform in {0..random_columns}.")

    def __post_init__(self) -> None:
        super().__post_init__()
        (least, most), known = self.terms, self.task.most_terms
        told = f"task.bucket_bounds {self.bucket_bounds} must rise and lie below the most terms, {most}"
        require(all(low < high for low, high in pairwise((least - 1, *self.bucket_bounds, most))), told)
        told = f"{self.name} takes at most {known} terms, and task.terms says {most}"
        require(known is None or most <= known, told)
        needed = self.task.columns(most, self.digits[1])
        told = f"task.spare_columns is {self.spare_columns}, but results can have {needed} digits"
        require(self.digits[1] + self.spare_columns >= needed, told)

    @property
    def task(self) -> Task:
        return find(self.name)

    def grid(self, space: Space, rows: int = 0, columns: int = 0) -> tuple[int, int]:
        """The rows and columns of a grid for problems of `space`: H = N + F_H + R_H, where N are the most terms, F_H is
        spare and R_H, `rows`, is drawn; W alike of digits, but never too narrow for the result."""
        height, width = space.terms[1] + self.spare_rows + rows, space.digits[1] + self.spare_columns + columns
        return height, max(width, space.columns_of(self.task))

    def largest_grid(self, space: Space) -> tuple[int, int]:
        """The most rows and columns that can be drawn for problems of `space`."""
        return self.grid(space, self.random_rows, self.random_columns)

    def solving_grid(self, terms: int, digits: int) -> tuple[int, int]:
        """The smallest grid that training would draw for such terms; of a single term no fewer rows than it has."""
        terms = max(terms, self.groups[0].terms[1])
        return self.grid(Space((terms, terms), (digits, digits)))

    @property
    def groups(self) -> tuple[Space, ...]:
        """The spaces that a batch is divided into, each with a grid size of its own."""
        firsts = (self.terms[0], *(bound + 1 for bound in self.bucket_bounds))
        lasts = (*self.bucket_bounds, self.terms[1])
        return tuple(Space((first, last), self.digits) for first, last in zip(firsts, lasts, strict=True))


@dataclass(frozen=True)
class ModelConfig(Section):
    """The network's shape."""

    width: int = described(64, "d_emb, the features of a cell.", least=4, multiple=4)
    dropout: float = described(0.1, "The share of features dropped before FFN_3, FFN_ctx and the output.", below=1)
    placement_hidden: int = described(64, "Hidden features where a symbol's action is chosen.", least=4, multiple=4)
    kernel: int = described(3, "k, the side of the neighbourhood a cell attends to.", least=1)
    groups: int = described(8, "g, the groups that projections to queries, keys and values are split into.", least=1)
    heads: int = described(64, "h, the heads of the local attention.", least=1)
    query_encoding: bool = described(True, "Whether the attention has the query encoding s.")
    step: str = described("attention", "The recurrent step, by the name that it is registered under.")
    step_hidden: int = described(256, "Hidden features of a step's feed-forward network, FFN_3.", least=4, multiple=4)
    halting: Literal["ponder", "fixed"] = described("ponder", "Whether it decides when to halt, or takes fixed_steps.")
    fixed_steps: int = described(12, "The steps taken under fixed halting.", least=1, most=10**5)
    max_steps: int = described(40, "The most steps taken in training under ponder halting.", least=1, most=10**5)
    epsilon: float = described(0.05, "Training stops a sample halted with probability 1 - epsilon.", above=0, below=1)
    max_evaluation_steps: int = described(50, "The same in evaluation and solving.", least=1, most=10**5)
    context_length: int = described(3, "S_C, the vectors of the context.", least=1)
    context_heads: int = described(8, "The heads of the context's attention to the grid.", least=1)
    context_hidden: int = described(64, "Hidden features of the context's FFN_ctx.", least=4, multiple=4)
    halting_hidden: int = described(128, "Hidden features where the context becomes λ.", least=4, multiple=4)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("groups", "heads", "context_heads"):
            count = getattr(self, name)
            message = f"model.{name} is {count}, which does not divide model.width {self.width}"
            require(self.width % count == 0, message)
        require(self.kernel % 2 == 1, "model.kernel must be odd, so that a cell is its centre")


@dataclass(frozen=True)
class ObjectiveConfig(Section):
    """The loss."""

    regulariser: Literal["explore-reinforce", "kl", "none"] = described(
        "explore-reinforce", "R, what is added to the loss to steer when networks halt."
    )
    weight: float = described(5e-2, "β, the weight of the regulariser.")
    prior: float = described(0.1, "λ_p of the geometric distribution that `kl` compares with.", above=0, below=1)
    pad_weight: float = described(0.1, "The weight of the PAD class in the cross-entropy.")
    truncate_prior: bool = described(False, "Whether the last step of that distribution takes what remains of it.")
    success: Literal["expected", "sampled"] = described(
        "sampled", "a of Explore-Reinforce: accuracy of one step drawn from p, without dropout, or expected under p."
    )
    normalise: Literal["batch", "running"] = described(
        "running", "The class weight a step's loss is divided by: of samples still running, or of the whole batch."
    )


@dataclass(frozen=True)
class TrainingConfig(Section):
    """How long and how fast a run learns."""

    epochs: int = described(510, "How many epochs a run is trained for.", least=1)
    steps_per_epoch: int = described(10, "Training steps of an epoch.", least=1)
    batch: int = described(128, "Problems of a training step, divided evenly among the buckets.", least=1)
    learning_rate: float = described(1e-3, "The first rate of every cosine.", above=0)
    final_learning_rate: float = described(5e-5, "The rate every cosine falls to.", above=0)
    restart_epochs: int = described(30, "The epochs of a cosine, from the first rate to the final one.", least=1)
    beta1: float = described(0.9, "AdamW's decay of the mean gradient.", below=1)
    beta2: float = described(0.999, "AdamW's decay of the mean squared gradient.", below=1)
    adam_epsilon: float = described(1e-8, "What AdamW adds to the denominator of an update.", above=0)
    weight_decay: float = described(0.1, "Weight decay of matrices, but not of embeddings and attention encodings.")
    clip: float = described(10.0, "The largest norm of a run's gradient.", above=0)
    precision: Literal["auto", "fp32", "tf32", "bf16"] = described(
        "auto", "Of matrix multiplications on a GPU. auto: bf16 if it has that, else fp32. A CPU always uses fp32."
    )
    first_step: int = described(0, "The number of the first training step: where an earlier run ended.", most=10**12)
    checkpoint_epochs: int = described(10, "Epochs between checkpoints; there is also one at the end.", least=1)
    keep_epochs: int = described(0, "Keep the weights of every N-th epoch as weights-EPOCH.safetensors; 0: of none.")

    @property
    def epochs_in_all(self) -> int:
        """With those of the training runs that this one follows."""
        return self.first_step // self.steps_per_epoch + self.epochs

    def rate(self, step: int) -> float:
        """The rate of training step `step` (from 0): a cosine over `restart_epochs` epochs, stepped per epoch."""
        epoch = step // self.steps_per_epoch % self.restart_epochs
        fall = (1 + math.cos(epoch * (math.pi / self.restart_epochs))) / 2
        return self.final_learning_rate + (self.learning_rate - self.final_learning_rate) * fall


class OfProblems:
    """What the configuration of a run has that is trained on problems of a task, by epochs."""

    variant: str
    task: TaskConfig
    training: TrainingConfig

    @property
    def label(self) -> str:
        """What its records are called."""
        return self.variant

    @property
    def learns(self) -> Task:
        return self.task.task

    @property
    def space(self) -> Space:
        """The problems it is trained on."""
        return Space(self.task.terms, self.task.digits)

    @property
    def steps(self) -> int:
        """Training steps in all."""
        return self.training.epochs * self.training.steps_per_epoch


@dataclass(frozen=True)
class Config(OfProblems):
    """One run, but for its seed."""

    variant: str = "base"
    task: TaskConfig = field(default_factory=TaskConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        readable = self.variant.isprintable() and len(self.variant) <= 64
        require(readable, "a variant's name is a few letters that can be read")
        batch, groups = self.training.batch, len(self.task.groups)
        told = f"training.batch is {batch}, which cannot be divided among {groups} groups of problems"
        require(batch % groups == 0, told)
