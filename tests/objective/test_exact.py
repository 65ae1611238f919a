"""What a rollout of bits costs, against the equation written out."""

import pytest
import torch
from torch.nn import functional as F

from gridsum.objective.exact import cost
from gridsum.tasks import PAD


def test_every_reading_counts_the_later_the_more():
    """Of two runs, four problems and three columns, the first of which not all grids have."""
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(2, 5, 4, 3, 13, generator=generator)
    targets = torch.randint(0, 11, (2, 4, 3), generator=generator)
    targets[:, :, 0] = PAD
    columns = torch.ones(2, 4, 3)
    columns[0, :2, 0] = 0
    found = cost(logits, targets, columns, certain=1, pad_weight=0.1)
    for run in range(2):
        total = 0.0
        for n in range(1, 6):
            for half in ((0, 1), (2, 3)):
                loss, weight = 0.0, 0.0
                for problem in half:
                    for column in range(3):
                        target = targets[run, problem, column]
                        share = float(columns[run, problem, column]) * (0.1 if target == PAD else 1.0)
                        weight += share
                        loss += share * float(F.cross_entropy(logits[run, n - 1, problem, column], target))
                total += n * loss / weight / 2
        assert float(found.total[run]) == pytest.approx(total / 15, rel=1e-5)
