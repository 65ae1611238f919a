"""Which device to compute on."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gridsum.config.paper import ConfigError


def pick_device(device: str) -> torch.device:
    """The device that `auto`, `cpu` or `cuda[:N]` names."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ConfigError(f"there is no device {device!r}; use auto, cpu or cuda") from None
    count = torch.cuda.device_count()
    if chosen.type != "cpu" and not (on_gpu(chosen) and (chosen.index or 0) < count):
        raise ConfigError(f"no {device!r} can be used here, but cpu; CUDA devices: {count}, counted from 0")
    return chosen


def on_gpu(device: torch.device) -> bool:
    """Whether it is a GPU. What hangs on this beyond how the equations are computed asks here."""
    return device.type == "cuda"


def has_bf16(device: torch.device) -> bool:
    """Whether a GPU multiplies in bf16 by itself: those of NVIDIA do from Ampere on."""
    with torch.cuda.device(device):
        return torch.cuda.is_bf16_supported(including_emulation=False)


def describe(device: torch.device) -> str:
    """A device in words, for whoever compares times."""
    name = torch.cuda.get_device_name(device) if on_gpu(device) else f"CPU, {torch.get_num_threads()} threads"
    return f"{name}; torch {torch.__version__}"


class Replayed:
    """A function of tensors, which may change others in place, as a CUDA graph.

    Shapes stay those of the first call, which is eager: what libraries allocate once must be allocated before a
    capture. Several that run one after the other may share a `pool` of memory.
    """

    def __init__(self, function: Callable[..., Tensor], pool: Any = None) -> None:
        self.function, self.pool = function, pool
        self.inputs: tuple[Tensor, ...] | None = None
        self.graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, *inputs: Tensor) -> Tensor:
        if self.inputs is None:
            self.inputs = tuple(tensor.clone() for tensor in inputs)
            return self.function(*inputs)
        for own, given in zip(self.inputs, inputs, strict=True):
            own.copy_(given)
        if self.graph is None:
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, pool=self.pool):
                self.output = self.function(*self.inputs)
        self.graph.replay()
        return self.output.clone()
