"""`gridsum` with one baseline more: the Universal Transformer with positions moved at random in training.

python benchmarks/tries.py train --variant universal-random --setting native --seeds 0-3 --out FOLDER
python benchmarks/tries.py evaluate --model FOLDER --suite 2x20 2x50 2x100 --samples 256 --out FILE
"""

import copy
import math
import sys
from typing import Any

import torch
from torch import Tensor

from gridsum.baselines import universal_transformer as universal
from gridsum.baselines.baseline import Read
from gridsum.baselines.layers import dropped, one_hot, pondered
from gridsum.cli import main
from gridsum.config.registry import register
from gridsum.tasks import PAD

FARTHEST = 400
"""In training the positions of a sum begin at a number below this."""


class RandomPositions(universal.UniversalTransformer):
    def encode(self, batch: Any, space: Any, draws: Any) -> Any:
        problem = super().encode(batch, space, draws)
        shape = problem.targets.shape[:2]
        if draws is None:
            offset = torch.zeros(shape, dtype=torch.int64, device=problem.targets.device)
        else:
            offset = (draws.uniform(shape[1]) * FARTHEST).long().expand(shape)
        return problem._replace(inputs={**problem.inputs, "offset": offset})

    def forward(self, inputs: dict[str, Tensor], draws: Any) -> Read:
        """As it is there, but that every problem's positions begin at its own offset."""
        tape, given, offset = inputs["tape"], inputs["given"], inputs["offset"]
        equals = torch.full_like(given[:, :1], self.task.alphabet.equals_symbol)
        symbols = torch.cat((tape, equals, given[:, :-1]), 1)
        length, columns, shape = tape.shape[1], given.shape[1], self.shape
        position = torch.arange(length + columns, device=tape.device)
        own = position[:, None] == position
        sees = ((position[:, None] >= position) | (position < length)) & ((symbols != PAD)[:, None] | own)
        h = self.embedding(one_hot(symbols, self.symbols)) * math.sqrt(shape.width)
        h = h + torch.where((position >= length)[:, None], self.result, 0.0)
        numbers = torch.where(position < length, position, position - length) + offset[:, None]
        rate = torch.exp(torch.arange(shape.width // 2, device=h.device) * (-2 * math.log(10000) / shape.width))
        angle = numbers[..., None].float() * rate
        where = torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)
        states = []
        for step in range(shape.steps):
            times = universal.coordinates(1, step + 1, shape.width, h) - universal.coordinates(1, 0, shape.width, h) / 2
            x = h + where + times
            a = self.norms[0](x + dropped(self.attention(x, sees), shape.dropout, draws, 2 * step))
            h = self.norms[1](a + dropped(self.transition(a), shape.dropout, draws, 2 * step + 1))
            states.append(h)
        every = torch.stack(states, -2)
        p, steps, costs = pondered(self.halt(every)[..., 0].sigmoid())
        mean = (p[:, length:, :, None] * every[:, length:]).sum(-2)
        counts = symbols != PAD
        ponder, steps = ((part * counts).sum() / counts.sum() for part in (costs, steps))
        return Read(self.output(mean), shape.ponder_cost * ponder, steps)


RANDOM = copy.copy(universal.BASELINE)
RANDOM.name, RANDOM.network = "universal-random", RandomPositions
register(RANDOM)
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
