"""A rule's computation in the form of a network's, for all that shows computations."""

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn import functional as F

from gridsum.automaton.table import RuleTable
from gridsum.model.inside import Trace


def trace_of_rule(table: RuleTable, terms: Sequence[str], codes: np.ndarray) -> Trace:
    """The internals of a computation from its codes [N+1,H,W]: bits as ±1, and readings that are certain."""
    states = torch.from_numpy(codes).long()
    bits = (torch.tensor(table.codes)[states][..., None] >> torch.arange(table.bits)) & 1
    symbols = torch.tensor(table.task.encode(terms))
    actions = F.one_hot(torch.tensor(table.actions), 3).float()[symbols]
    readings = F.one_hot(torch.tensor(table.reading)[states], len(table.task.alphabet)).float()
    return Trace(
        symbols, actions, bits.float() * 2 - 1, readings, torch.zeros(0), None, None, table.task.alphabet.symbols
    )
