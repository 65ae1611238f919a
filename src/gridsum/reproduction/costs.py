"""What is left to do, in seconds on the machine at hand: operations, divided by the rate that was seen to be reached.

The rate of a large product is measured here and now. Training and evaluation reach a share of it, which `gridsum bench`
measures (benchmarks/records); it differs from machine to machine, so an estimate is right within a factor of two.
"""

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
    """Seconds of work on a device, after timing one product there."""

    def __init__(self, device: torch.device, precision: str) -> None:
        kind = device.type
        self._training = product_rate(device, precision) * _SHARES[kind][precision]
        self._inference = product_rate(device, "fp32") * _INFERENCE[kind]
        self._start = _START[kind]

    def seconds(self, work: Work) -> float:
        return work.training / self._training + work.inference / self._inference + self._start * work.starts
