"""What the kernels of Triton multiply: torch does not see it.

A kernel's arguments say all of it: the features (E, F, …), the problems and the common grid (H, W), and which cells and
samples are there (`sizes`, see `gridsum.model.engine.cuda.cells`).
"""

from collections.abc import Callable
from typing import Any

Told = dict[str, Any]


def _feed_forward(told: Told) -> int:
    return 2 * told["E"] * told["F"] + told["F"] ** 2


def _rows(told: Told) -> int:
    """Of the context's attention: a vector as a head sees it."""
    return told["HEADS"] * told["LENGTH"]


def _projections(told: Told) -> int:
    return 3 * told["E"] ** 2


# Products forwards, or backwards to the inputs; those of the gradients of weights are kernels of their own.
_PER_CELL: dict[str, Callable[[Told], int]] = {
    "transition._forward": lambda told: _feed_forward(told) + told["PROJECTS"] * _projections(told),
    "transition._back_to_second": lambda told: told["E"] * told["F"] + told["QKV"] * _projections(told),
    "transition._back_to_input": lambda told: told["E"] * told["F"] + told["F"] ** 2,
    "products._products_of_a_step": lambda told: (
        _feed_forward(told) + (told["by_qkv"].shape[-1] == 3 * told["E"]) * _projections(told)
    ),
    "products._product": lambda told: told["INPUTS"] * told["OUTPUTS"],
    "reading.read_context": lambda told: 2 * _rows(told) * told["E"],
    "reading.read_context_back": lambda told: 5 * _rows(told) * told["E"],
}
_PER_SAMPLE: dict[str, Callable[[Told], int]] = {
    "reading.read_context": lambda told: told["E"] * (3 * _rows(told) * told["E"] + _layers(told)),
    "reading.read_context_back": lambda told: (
        told["E"] * (5 * _rows(told) * told["E"] + 2 * _layers(told) + told["LENGTH"] * told["E"])
    ),
}


def _layers(told: Told) -> int:
    """Those that take E features of the context's vectors on, for each of these features."""
    return told["LENGTH"] * (told["E"] + 2 * told["F"] + told["D"])


def flops(name: str, told: Told) -> int:
    """Of the kernel `module.function`, told so; 0 of one that multiplies nothing, or only elements."""
    if name not in _PER_CELL:
        return 0
    cells, samples = _there(told)
    found = cells * _PER_CELL[name](told)
    if name in _PER_SAMPLE:
        found += samples * _PER_SAMPLE[name](told)
    return 2 * found


def _there(told: Told) -> tuple[int, int]:
    """The cells and the samples of all runs that a kernel computes."""
    runs, problems, sizes = len(next(iter(told.values()))), told["problems"], told["sizes"]
    if not told["ENTRIES"]:
        return runs * problems * told["H"] * told["W"], runs * problems
    rows, columns, *present = sizes[:, : min(3, told["ENTRIES"])].long().cpu().unbind(1)
    samples = present[0] if present else problems + 0 * rows
    return int((rows * columns * samples).sum()), int(samples.sum())
