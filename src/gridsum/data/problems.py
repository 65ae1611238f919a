"""Π([N1,N2],[D1,D2]) as data, and a sampler that makes problems where the network runs.

A batch holds R runs × B problems. `[1,4]x[1,10]` means 1 to 4 terms of 1 to 10 digits each, every digit
uniform, so terms may have leading zeros::

    >>> from gridsum.data.streams import Stream
    >>> batch = sample(Space((2, 2), (3, 3)), 1, Stream.of_seeds([0]))
    >>> batch.expression(0, 0)
    '113+087='
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gridsum.data.streams import Stream
from gridsum.tasks import FIRST_DIGIT, PAD, Task, find

_DEFAULT = find()


@dataclass(frozen=True)
class Space:
    """Π(terms, digits): the number of terms and the length of each are uniform in their intervals."""

    terms: tuple[int, int]
    digits: tuple[int, int]

    def __post_init__(self) -> None:
        for name, (low, high) in (("terms", self.terms), ("digits", self.digits)):
            if not 1 <= low <= high:
                raise ValueError(f"{name} must be an interval [low, high] with 1 <= low <= high, not [{low}, {high}]")

    @classmethod
    def parse(cls, text: str) -> "Space":
        """`2x602`, `[1,4]x[1,10]`, `[1,4],[1,10]`."""
        number, interval = r"([0-9]+)", r"\[\s*([0-9]+)\s*,\s*([0-9]+)\s*\]"
        match = re.fullmatch(rf"\s*(?:{number}|{interval})\s*[x×,]\s*(?:{number}|{interval})\s*", text)
        if match is None:
            raise ValueError(f"{text!r} is not a problem set; write one such as 2x602 or [1,4]x[1,10]")
        n, n1, n2, d, d1, d2 = match.groups()
        return cls((int(n or n1), int(n or n2)), (int(d or d1), int(d or d2)))

    def __str__(self) -> str:
        sides = self.terms, self.digits
        return "x".join(str(low) if low == high else f"[{low},{high}]" for low, high in sides)

    @property
    def symbols(self) -> int:
        """The longest input: every term at its longest, with the `+` or `=` behind it."""
        return self.terms[1] * (self.digits[1] + 1)

    def columns_of(self, task: Task = _DEFAULT) -> int:
        """The longest result of a task."""
        return task.columns(self.terms[1], self.digits[1])


@dataclass(frozen=True)
class Batch:
    """R × B problems: `symbols` [R,B,S], PAD on the right; `targets` [R,B,columns], PAD on the left."""

    symbols: Tensor
    targets: Tensor
    task: Task = _DEFAULT

    def targets_for(self, width: int) -> Tensor:
        """The targets right-aligned in a row of `width` columns."""
        return torch.nn.functional.pad(self.targets, (width - self.targets.shape[-1], 0), value=PAD)

    def expression(self, run: int, problem: int) -> str:
        return self.task.decode(self.symbols[run, problem].tolist())

    def expressions(self, run: int = 0) -> list[str]:
        return [self.expression(run, problem) for problem in range(self.symbols.shape[1])]


Drawn = tuple[Tensor, Tensor]
"""How many digits [R,B,N] each term has, and these [R,B,N,D], which begin with the units."""
Change = Callable[[Drawn, Stream, int], Drawn]
"""What is made of them, by the stream and the base."""


def sample(
    space: Space, count: int, stream: Stream, few_digits: float = 0, task: Task = _DEFAULT, change: Change | None = None
) -> Batch:
    """`count` problems of Π for each run of `stream`, on its device; or what `change` makes of them, which are sums.

    In a share `few_digits` of them all digits are of three that the problem draws: so neighbours that are rare among
    uniform digits, such as rows of nines, come often. All else is the same without.
    """
    terms_max, digits_max = space.terms[1], space.digits[1]
    terms = stream.fold(1).integers(*space.terms, count)
    lengths = stream.fold(2).integers(*space.digits, count, terms_max)
    highest = task.alphabet.base - 1
    digits = stream.fold(3).integers(0, highest, count, terms_max, digits_max)
    if few_digits:
        few = stream.fold(4).chance(few_digits, count)
        three = stream.fold(5).integers(0, highest, count, 3)
        chosen = three.gather(-1, digits.flatten(2) % 3).view_as(digits)
        digits = torch.where(few[..., None, None], chosen, digits)
    if change is not None:
        lengths, digits = change((lengths, digits), stream, highest + 1)

    # What lies beyond the number of terms, or the length of one, is left out.
    term, place = (torch.arange(most, device=digits.device) for most in (terms_max, digits_max))
    used, signs, signed = term < terms[..., None], torch.zeros_like(lengths), len(task.alphabet.signs) > 1
    if signed and change is None:  # the number of the sign before each term but the first
        drawn = stream.fold(6).integers(0, len(task.alphabet.signs) - 1, count, terms_max)
        signs = torch.where(term > 0, drawn, 0)
    several = (signs,) if signed else ()
    lengths, digits = task.arrange(torch.where(used, lengths, 0), digits, *several)
    written = used[..., None] & (place < lengths[..., None])

    # A term's last symbol (its '+' or '=') stands where the lengths so far, and a sign each, end.
    signs_at = torch.cumsum(lengths + 1, -1) - 1
    following = task.alphabet.sign_symbol + signs.roll(-1, -1)
    sign = torch.where(term == terms[..., None] - 1, task.alphabet.equals_symbol, following)
    # What is not written goes to one position past the end, which is cut off.
    end = space.symbols
    digits_at = torch.where(written, signs_at[..., None] - 1 - place, end)
    symbols = digits.new_full((*terms.shape, end + 1), PAD)
    symbols = symbols.scatter(-1, digits_at.flatten(2), (digits + FIRST_DIGIT).flatten(2))
    symbols = symbols.scatter(-1, torch.where(used, signs_at, end), sign)

    result = task.result(torch.where(written, digits, task.unwritten), space.columns_of(task), *several)
    return Batch(symbols[..., :end], leading_blanks(torch.stack(result[::-1], -1)), task)


def leading_blanks(digits: Tensor) -> Tensor:
    """Digits [R,B,columns] as symbols, with PAD for leading zeros."""
    significant = torch.cumsum(digits, -1) > 0
    significant[..., -1] = True
    return torch.where(significant, digits + FIRST_DIGIT, PAD)


def batch_of(problems: Sequence[tuple[str, ...]], device: torch.device | str = "cpu", task: Task = _DEFAULT) -> Batch:
    """Given problems as a batch of one run, with their exact results."""
    inputs = [task.encode(terms) for terms in problems]
    results = [task.alphabet.encode(task.answer(terms)) for terms in problems]
    longest, widest = max(map(len, inputs)), max(map(len, results))
    symbols = torch.tensor([codes + [PAD] * (longest - len(codes)) for codes in inputs], device=device)
    targets = torch.tensor([[PAD] * (widest - len(codes)) + codes for codes in results], device=device)
    return Batch(symbols[None], targets[None], task)


def extent(symbols: Tensor, task: Task = _DEFAULT) -> tuple[int, int]:
    """The most terms of problems [...,S], and the most digits of a term."""
    problems = [task.parse(task.decode(codes)) for codes in symbols.flatten(0, -2).tolist()]
    return max(map(len, problems)), max(map(task.longest, problems))
