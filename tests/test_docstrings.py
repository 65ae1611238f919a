"""Every example in a docstring is run."""

import doctest
import importlib
import pkgutil

import pytest

import gridsum

_WITHOUT_EXAMPLES = (
    "gridsum.__main__",
    "gridsum.ops",
    "gridsum.model.kernel_rollout",
    "gridsum.serve",
    "gridsum.figures",
)
MODULES = ["gridsum"] + [
    module.name
    for module in pkgutil.walk_packages(gridsum.__path__, "gridsum.", onerror=lambda _: None)
    if not module.name.startswith(_WITHOUT_EXAMPLES)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name: str):
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, optionflags=flags).failed == 0


def test_the_front_door_has_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ("gridsum.api.models", "gridsum.api.scores", "gridsum.api.traces", "gridsum.api.training"):
        tests = finder.find(importlib.import_module(name))
        assert sum(len(test.examples) for test in tests) > 0, name
