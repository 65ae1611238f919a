"""How fast a machine is, for the scripts beside this one."""

import time
from collections.abc import Callable
from typing import Any

import torch

from gridsum.ops.devices import on_gpu


def synchronise(device: torch.device) -> None:
    if on_gpu(device):
        torch.cuda.synchronize(device)


def fastest(work: Callable[[], Any], device: torch.device, times: int = 5) -> float:
    """Seconds of the fastest of several calls, after one to warm up."""
    work()
    seconds = []
    for _ in range(times):
        synchronise(device)
        start = time.perf_counter()
        work()
        synchronise(device)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def product_rate(device: torch.device, precision: str) -> float:
    """Floating-point operations a second of a large product: the machine's measured peak."""
    size = 8192 if on_gpu(device) else 2048
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = precision != "fp32"
    matrix = torch.randn(size, size, device=device, dtype=kind)
    seconds = fastest(lambda: matrix @ matrix, device)
    torch.backends.cuda.matmul.allow_tf32 = before
    return 2 * size**3 / seconds
