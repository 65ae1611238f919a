"""What is left to do, in seconds on the machine at hand.

Times were measured on one GPU and one CPU (benchmarks/records). They are scaled by how fast the machine at hand
computes the product that was measured with them, so they are right within a factor of about two where that is
also a GPU with this package's kernels, or a CPU; evaluation was not measured on the GPU and is rougher.
"""

from dataclasses import dataclass

import torch

from gridsum.benchmark import fastest
from gridsum.reproduction.pieces import Work

UNCERTAINTY = "scaled from times measured on another machine; expect half of that to twice that"


@dataclass(frozen=True)
class Reference:
    """How fast a machine was, in operations a second as `gridsum.benchmark` counts them."""

    training: float
    inference: float
    product: float
    """Of the product that `product_seconds` times."""


# A training step of ten runs of fixedTime, 12 recurrent steps: 59.0, 31.9 and 23.0 ms; the product: 331, 87, 37 µs
# (h200-2026-11-15.json). Evaluation computes in fp32, and is taken to be as fast as a training in fp32.
_STEP_OF_TEN = 3 * 12 * 2 * 7776 * 10 * (12_288 + 98_304 + 1_152)
_H200 = {
    "fp32": Reference(_STEP_OF_TEN / 59.0e-3, _STEP_OF_TEN / 59.0e-3, 331e-6),
    "tf32": Reference(_STEP_OF_TEN / 31.9e-3, _STEP_OF_TEN / 59.0e-3, 87e-6),
    "bf16": Reference(_STEP_OF_TEN / 23.0e-3, _STEP_OF_TEN / 59.0e-3, 37e-6),
}
# A training step of base, 5 recurrent steps: 0.544 s. Solving 2 × 1000 digits, 16 steps on 2 × 1001 cells: 0.307 s.
# The product of 2048 × 2048: 0.0757 s (cpu-2026-11-15.json).
_CPU = Reference(3 * 5 * 2 * 7776 * 114_816 / 0.544, 16 * 2 * 2002 * 114_816 / 0.307, 0.0757)


def product_seconds(device: torch.device, precision: str) -> float:
    """The time of the product that stands for a machine's speed."""
    if device.type == "cpu":
        matrix = torch.ones(2048, 2048)
        return fastest(lambda: matrix @ matrix, device, times=3)
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    left = torch.ones(10, 11520, 256, device=device, dtype=kind)
    right = torch.ones(10, 256, 256, device=device, dtype=kind)
    times = 50
    seconds = fastest(lambda: [torch.bmm(left, right) for _ in range(times)], device) / times
    torch.backends.cuda.matmul.allow_tf32 = before
    return seconds


class Estimate:
    """Seconds of work on a device, after timing one product there."""

    def __init__(self, device: torch.device, precision: str) -> None:
        self._reference = _CPU if device.type == "cpu" else _H200[precision]
        self._slower = product_seconds(device, precision) / self._reference.product

    def seconds(self, work: Work) -> float:
        reference = self._reference
        return self._slower * (work.training / reference.training + work.inference / reference.inference)
