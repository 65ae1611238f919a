"""Which cells of a batch a program computes.

Every run's grid lies in the upper right of the common `H` × `W` cells. Programs count only the cells of their run's own
grid, of the samples that are still present, so that nothing is computed for the rest.

The kernels are told so by `sizes`, int32, a row a run: [R,2], the rows and columns of its own grid; or [R,3+B], which
goes on with how many of its samples are present, and the numbers of all, those present first.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

MOST_CELLS = 2**20
"""Of a run, where `sizes` are given."""


@triton.jit
def own_grid(sizes, run, problems, H, W, ENTRIES: tl.constexpr):
    """The rows and columns of the run's own grid, and how many of its samples are present."""
    rows, columns, count = H, W, problems
    if ENTRIES > 0:
        rows, columns = tl.load(sizes + ENTRIES * run), tl.load(sizes + ENTRIES * run + 1)
    if ENTRIES > 2:
        count = tl.load(sizes + ENTRIES * run + 2)
    return rows, columns, count


@triton.jit
def sample_of(index, run, sizes, ENTRIES: tl.constexpr):
    """The number of the run's sample that is the `index`-th, those present first."""
    sample = index
    if ENTRIES > 2:
        sample = tl.load(sizes + ENTRIES * run + 3 + index, mask=index < ENTRIES - 3, other=0)
    return sample


@triton.jit
def _divide(number, by, ENTRIES: tl.constexpr):
    """Quotient and remainder. In training the quotient is one of fp32, exact below `MOST_CELLS`: a GPU divides integers
    in some twenty instructions."""
    quotient = number // by
    if ENTRIES > 0:
        quotient = ((number.to(tl.float32) + 0.5) * (1.0 / by)).to(tl.int32)
    return quotient, number - quotient * by


@triton.jit
def cell_of(number, rows, columns, ENTRIES: tl.constexpr):
    """Of the cell `number`, counted over a run's present samples: which of them, and its row and column."""
    index, cell = _divide(number, rows * columns, ENTRIES)
    row, column = _divide(cell, columns, ENTRIES)
    return index, row, column


@triton.jit
def place_of(number, run, rows, columns, H, W, sizes, ENTRIES: tl.constexpr):
    """Where the run's cell `number`, counted over its present samples, lies among the common cells of the run."""
    index, row, column = cell_of(number, rows, columns, ENTRIES)
    return (sample_of(index, run, sizes, ENTRIES) * H + row) * W + column + (W - columns)


def everyone(own: Tensor, problems: int) -> Tensor:
    """`sizes` with a list of the samples, none of whom has left, from the runs' own grids [R,2]."""
    numbers = torch.arange(problems, dtype=own.dtype, device=own.device).expand(len(own), -1)
    return torch.cat((own, torch.full_like(own[:, :1], problems), numbers), 1)


def entries(sizes: Tensor | None) -> int:
    """The entries of a run's row of `sizes`, by which kernels tell its forms apart; 0 where every cell is computed."""
    return 0 if sizes is None else sizes.shape[1]


@triton.jit
def _leave(sizes, running, halting, thresholds, out, left, problems, ENTRIES: tl.constexpr, TILE: tl.constexpr):
    run, sample = tl.program_id(0), tl.arange(0, TILE)
    there = sample < problems
    before = tl.load(running + run * problems + sample, mask=there, other=0.0)
    after = before * (1 - tl.load(halting + run * problems + sample, mask=there, other=0.0))
    stay = there & (after >= tl.load(thresholds + run * problems + sample, mask=there, other=0.0))
    count = tl.sum(stay.to(tl.int32), 0)
    place = tl.where(stay, tl.cumsum(stay.to(tl.int32), 0) - 1, count + tl.cumsum((there & ~stay).to(tl.int32), 0) - 1)
    out += run * (problems + 3)
    tl.store(out, tl.load(sizes + ENTRIES * run))
    tl.store(out + 1, tl.load(sizes + ENTRIES * run + 1))
    tl.store(out + 2, count)
    tl.store(out + 3 + place, sample, mask=there)
    tl.store(left + run * problems + sample, after, mask=there)


def leave(sizes: Tensor, running: Tensor, halting: Tensor, thresholds: Tensor) -> tuple[Tensor, Tensor]:
    """running · (1 − halting) [R,B], and `sizes` without the samples for which it is below their threshold."""
    runs, problems = running.shape
    out, left = sizes.new_empty(runs, problems + 3), torch.empty_like(running)
    _leave[(runs,)](
        sizes, running, halting.contiguous(), thresholds.contiguous(), out, left, problems,
        ENTRIES=entries(sizes), TILE=triton.next_power_of_2(problems),
    )  # fmt: skip
    return out, left
