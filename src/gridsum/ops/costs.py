"""How much memory work takes, estimated before it begins; and the limit on memory.

The estimates are made of what was measured (benchmarks/records), rounded down: work that would fit is not refused.
"""

import torch

from gridsum.config.paper import ModelConfig
from gridsum.io.limits import check_bytes, memory_free, memory_limit
from gridsum.ops.devices import on_gpu

# Bytes of a cell in a recurrent step of solving, for each feature of the cell or of FFN_3.
_SOLVING = 20


def solving_bytes(model: ModelConfig, cells: int) -> int:
    return _SOLVING * cells * (model.width + model.step_hidden)


def check_memory(what: str, needed: int, device: torch.device) -> None:
    """Refuse work that takes more memory than there is, or than the variable allows."""
    check_bytes(what, needed, memory_limit(lambda: memory_of(device)))


def memory_of(device: torch.device) -> int | None:
    """Bytes that are free; None where nobody knows."""
    if on_gpu(device):
        return torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device)
    return memory_free()
