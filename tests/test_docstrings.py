"""Every example in a docstring is run."""

import doctest
import importlib
import pkgutil

import pytest

import gridsum

_WITHOUT_EXAMPLES = tuple(f"gridsum.{name}" for name in ("__main__", "ops", "serve", "figures", "model.kernel_rollout"))
MODULES = [
    module.name
    for module in pkgutil.walk_packages(gridsum.__path__, "gridsum.", onerror=lambda _: None)
    if not module.name.startswith(_WITHOUT_EXAMPLES)
]
_FRONT_DOOR = ("gridsum.api.models", "gridsum.api.scores", "gridsum.api.traces", "gridsum.api.training")


@pytest.mark.parametrize("name", ["gridsum", *MODULES])
def test_examples_give_what_they_say(name: str):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    found = doctest.testmod(importlib.import_module(name), optionflags=flags)
    assert found.failed == 0
    assert found.attempted > 0 or name not in _FRONT_DOOR
