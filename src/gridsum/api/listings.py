"""Which names there are, each with what it stands for."""

from gridsum.config.variants import MEANINGS
from gridsum.evaluation.suites import COLLECTIONS
from gridsum.io.names import MODELS

models: dict[str, str] = dict(MODELS)
"""The models that come with gridsum, and what to use each for.

>>> "exact" in models
True
"""

variants: dict[str, str] = {"exact": "cells of 8 bits, a rule that can be proved", **MEANINGS}
"""What `gridsum.train` can train.

>>> list(variants)
['exact', 'base', 'noGroups', 'SASA', 'fixedTime', 'ponderReg']
"""

suites: dict[str, tuple[str, ...]] = {
    name: tuple(suite.name for suite in collection) for name, collection in COLLECTIONS.items()
}
"""The collections of problems that `gridsum.evaluate` knows, and the suites in each. Any problem space is one, too.

>>> suites["long-terms"]
('5x5', '6x5', '7x5', '8x5', '9x5', '10x5')
"""
