"""What is left to do, in seconds on the machine at hand.

Times were measured on one GPU and one CPU (benchmarks/records). They are scaled by how fast the machine at hand
computes the product that was measured with them, so they are right within a factor of about two where that is
also a GPU with this package's kernels, or a CPU; evaluation was not measured on the GPU and is rougher.
"""

from dataclasses import dataclass

import torch

from gridsum.benchmark.measures import cells_of_a_step, fastest, operations
from gridsum.reproduction.pieces import Work
from gridsum.variants import variant

UNCERTAINTY = "scaled from times measured on another machine; expect half of that to twice that"


@dataclass(frozen=True)
class Reference:
    """How fast a machine was, in operations a second as `gridsum.benchmark.measures` counts them."""

    training: float
    inference: float
    product: float
    """The seconds of the product that `product_seconds` times."""
    start: float = 0.0
    """The seconds until a training's first step is compiled."""


_BASE, _FIXED_TIME = variant("base"), variant("fixedTime")
# h200-kernels-2026-11-15.json: a training step of ten runs of fixedTime took 13.9 ms in bf16, one of five runs 13.4 in
# tf32 and 28.4 in fp32; a fleet of base began after 40 s. h200-2026-11-15.json: the product took 331, 87 and 37 µs.
# Evaluation, always in fp32, is taken to be as fast as training in it.
_STEP_OF_TEN = (
    3 * _FIXED_TIME.model.fixed_steps * operations(_FIXED_TIME.model, round(10 * cells_of_a_step(_FIXED_TIME)))
)
_SECONDS = {"fp32": 2 * 28.4e-3, "tf32": 2 * 13.4e-3, "bf16": 13.9e-3}
_H200 = {
    precision: Reference(
        _STEP_OF_TEN / _SECONDS[precision], _STEP_OF_TEN / _SECONDS["fp32"], product=product, start=40.0
    )
    for precision, product in (("fp32", 331e-6), ("tf32", 87e-6), ("bf16", 37e-6))
}
# cpu-2026-11-15.json: a training step of base, 5 recurrent steps, took 0.346 s; solving 2 × 1000 digits, 16 steps on
# 2 × 1001 cells, 0.279 s; the product 0.0559 s.
_CPU = Reference(
    training=3 * 5 * operations(_BASE.model, round(cells_of_a_step(_BASE))) / 0.346,
    inference=16 * operations(_BASE.model, 2 * 1001) / 0.279,
    product=0.0559,
)


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
        computed = work.training / reference.training + work.inference / reference.inference
        return self._slower * computed + reference.start * work.starts
