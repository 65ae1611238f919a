"""What is left to do, in seconds on the machine at hand: operations, divided by the rate that was seen to be reached.

The rate of a large product is measured here and now. Training and evaluation reach a share of it, which `gridsum bench`
measures (benchmarks/records); it differs from machine to machine, so an estimate is right within a factor of two.
"""

from functools import cache, partial

import torch

from gridsum.benchmark.measures import product_rate
from gridsum.reproduction.pieces import Work

UNCERTAINTY = "expect half of that to twice that"
_SHARES = {
    "cuda": {"bf16": 0.05, "tf32": 0.06, "fp32": 0.2},
    "cpu": {"bf16": 0.2, "tf32": 0.2, "fp32": 0.2},
}
"""Of the rate of a large product in the same precision: what a training of ten runs reaches."""
_INFERENCE = {"cuda": 0.2, "cpu": 0.1}
"""The same of evaluation, which is always in fp32."""
_START = {"cuda": 40.0, "cpu": 0.0}
"""The seconds until a training's first step is compiled."""


class Estimate:
    """Seconds of work on a device. A product is timed there when there is work that it is needed for."""

    def __init__(self, device: torch.device, precision: str) -> None:
        self._kind, self._precision = device.type, precision
        self._rate = cache(partial(product_rate, device))

    def seconds(self, work: Work) -> float:
        training, inference = _SHARES[self._kind][self._precision], _INFERENCE[self._kind]
        parts = ((work.training, self._precision, training), (work.inference, "fp32", inference))
        computing = sum(amount / (self._rate(precision) * share) for amount, precision, share in parts if amount)
        return computing + _START[self._kind] * work.starts
