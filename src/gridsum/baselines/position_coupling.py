"""Position coupling (Cho et al. 2024, arXiv 2405.20671): a decoder whose positions are the places of the digits.

Digits of one place have one position, in every term and in the result; signs have the position before the units. In
training all positions of a problem are moved by a random number, so that each of them is learned. Terms are padded with
zeros to one length, the result is written from its units on.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gridsum.baselines.baseline import Baseline, BaselineConfig, BaselineNetwork, Problem, Read, Setting, schedule
from gridsum.baselines.layers import Attention, one_hot
from gridsum.baselines.layout import counted_to_the_blank, table_of, terms_of
from gridsum.config.paper import described
from gridsum.data.problems import Batch, Space
from gridsum.data.streams import Stream
from gridsum.tasks import FIRST_DIGIT, PAD


@dataclass(frozen=True)
class Shape:
    """The network."""

    width: int = described(256, "Features of a symbol.")
    heads: int = described(4, "Heads of the attention.")
    hidden: int = described(1024, "Hidden features of the gated feed-forward network.")
    positions: int = described(128, "The largest position there is, which limits the digits that it can be asked for.")


class CoupledDecoder(BaselineNetwork[Shape]):
    """One layer, normalised before and after, as in that paper: x + norm(f(norm(x))), f attention and then a gated
    GELU. Of its output, the result's places alone are computed."""

    feeds_back = True

    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config)
        width, hidden = self.shape.width, self.shape.hidden
        self.embedding = nn.Linear(self.symbols, width, bias=False)
        self.position = nn.Linear(self.shape.positions + 1, width, bias=False)
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(5))
        self.attention = Attention(width, self.shape.heads)
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)
        self.output = nn.Linear(width, self.symbols, bias=False)

    def fits(self, space: Space) -> bool:
        return space.columns_of(self.task) + 1 <= self.shape.positions

    def encode(self, batch: Batch, space: Space, draws: Stream | None) -> Problem:
        """Every term has a slot as long as terms can be; what a problem does not need of it is blank and not seen.

        It is asked in the middle of the positions: those at both ends come least often in training.
        """
        table, count = table_of(batch, space), terms_of(batch)
        terms, digits = table.shape[-2:]
        columns = space.columns_of(self.task) + 1
        longest = (table != PAD).sum(-1).amax(-1)
        term, place = (torch.arange(size, device=table.device) for size in (terms, digits))
        used = (term < count[..., None])[..., None] & (place < longest[..., None, None])
        written = torch.where(used & (table == PAD), FIRST_DIGIT, table).flip(-1)
        sign = torch.where(term < count[..., None] - 1, self.task.alphabet.sign_symbol, PAD)
        room = self.shape.positions - 1 - torch.maximum(longest, torch.full_like(longest, columns - 1))
        start = 1 + (room // 2 if draws is None else (draws.uniform(longest.shape[-1]) * (room + 1)).long())
        ids = torch.cat((place.flip(0) + 1, torch.zeros_like(place[:1])))
        targets = batch.targets_for(columns).flip(-1)
        inputs = {
            "terms": torch.cat((written, sign[..., None]), -1).flatten(-2),
            "positions": (ids.repeat(terms) + start[..., None]).clamp_max(self.shape.positions),
            "start": start,
            "given": targets,
        }
        return Problem(inputs, targets, counted_to_the_blank(targets))

    def forward(self, inputs: dict[str, Tensor], draws: Stream | None) -> Read:  # noqa: ARG002
        given = inputs["given"]
        equals = torch.full_like(given[:, :1], self.task.alphabet.equals_symbol)
        symbols = torch.cat((inputs["terms"], equals, given[:, :-1]), 1)
        # The result's positions are those of what it is written after: `=`, then its own digits.
        result = torch.arange(given.shape[1], device=given.device) + inputs["start"][:, None]
        ids = torch.cat((inputs["positions"], result), 1)
        place = torch.arange(symbols.shape[1], device=symbols.device)
        sees = (place[:, None] >= place) & ((symbols != PAD)[:, None] | (place == place[:, None]))
        x = self.embedding(one_hot(symbols, self.symbols)) + self.position(one_hot(ids, self.shape.positions + 1))
        shown = given.shape[1]
        x = x[:, -shown:] + self.norms[1](self.attention(self.norms[0](x), sees[:, -shown:]))
        y = self.norms[2](x)
        x = x + self.norms[3](self.down(F.gelu(self.gate(y)) * self.up(y)))
        logits = self.output(self.norms[4](x))
        return Read(logits, logits.new_zeros(()), logits.new_ones(()))


_NUMBERS = (("2x20", 0.95, "our reading of up to 200 digits"), ("2x100", 0.95, "the same"), ("2x200", 0.95, "the same"))
_GIVEN = ("alignment by position labels", "reversed digits")
BASELINE = Baseline(
    name="position-coupling",
    title="Position coupling",
    source="Cho et al. 2024",
    network=CoupledDecoder,
    shape=Shape,
    native=Setting(
        _GIVEN,
        {
            "task.terms": (2, 2),
            "task.digits": (1, 30),
            "network.positions": 202,
            **schedule(16000, 256, 1e-3, every=200),
        },
    ),
    matched=Setting(_GIVEN, schedule(10000, 256, 1e-3)),
    numbers=_NUMBERS,
)
