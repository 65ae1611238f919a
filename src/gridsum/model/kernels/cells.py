"""Which cells of a batch a program computes.

Every run's grid lies in the upper right of the common `H` × `W` cells. Programs count only the cells of their run's own
grid, sample by sample, so that nothing is computed for the rest.
"""

import triton
import triton.language as tl


@triton.jit
def own_size(sizes, run, H, W, MASKED: tl.constexpr):
    """The rows and columns of the run's own grid."""
    if MASKED:
        return tl.load(sizes + 2 * run), tl.load(sizes + 2 * run + 1)
    return H, W


@triton.jit
def place_of(number, rows, columns, H, W):
    """Where the run's cell `number`, counted over all of its samples, lies among the common cells of the run."""
    sample, cell = number // (rows * columns), number % (rows * columns)
    return (sample * H + cell // columns) * W + cell % columns + (W - columns)
