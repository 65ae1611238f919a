"""What the matrix products of training are computed in."""

import torch

from gridsum.devices import multiplies_bf16


def served(precision: str, device: torch.device) -> str:
    """What `training.precision` comes to on a device: a CPU computes in fp32, or in bf16 if it is faster at that."""
    if device.type == "cpu" and not (precision == "bf16" and multiplies_bf16()):
        return "fp32"
    return precision
