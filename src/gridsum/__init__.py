"""A neural network that discovers column addition on a grid, and the tools to train, measure and see it.

Three lines::

    >>> import gridsum
    >>> model = gridsum.load("exact")
    >>> print(model.solve("58+67"))
    125

`load` gives a model, `solve` and `trace` ask the default one at once, `train` makes new ones, `evaluate` measures
models and functions of your own. `prove` checks a rule for all sums, `export` writes models for other programs.
A name that does not exist is answered with those that do. Nothing heavy is imported before it is used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from gridsum.io.version import __version__

if TYPE_CHECKING:
    from gridsum.api.loading import load, prove, solve, trace
    from gridsum.api.models import Model
    from gridsum.api.scores import Scores, evaluate
    from gridsum.api.traces import Trace
    from gridsum.api.training import TrainingRun, train
    from gridsum.data.answers import Answer
    from gridsum.exporting import export

__all__ = [
    "Answer", "Model", "Scores", "Trace", "TrainingRun", "__version__",
    "evaluate", "export", "load", "prove", "solve", "trace", "train",
]  # fmt: skip

_HOMES = {
    "gridsum.data.answers": ("Answer",),
    "gridsum.api.loading": ("load", "prove", "solve", "trace"),
    "gridsum.api.models": ("Model",),
    "gridsum.api.scores": ("Scores", "evaluate"),
    "gridsum.api.traces": ("Trace",),
    "gridsum.api.training": ("TrainingRun", "train"),
    "gridsum.exporting": ("export",),
}


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        from gridsum.io.names import did_you_mean

        mend = did_you_mean(name, __all__, f"it offers {', '.join(__all__)}")
        raise AttributeError(f"gridsum has no {name!r}; {mend}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
