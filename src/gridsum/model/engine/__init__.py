"""How the equations of `gridsum.model.paper` are computed: the one place that asks what tensors lie on.

    plain       as the paper has them: what the others are held against
    eager       torch operation by operation, with the shortcuts that pay on a CPU
    cuda/       Triton kernels, with dropout as packed bits
    bits        the network of bits (`gridsum.model.rule`) in training

An engine begins a rollout and takes its steps (`Engine` and `Course` in `plain`); the loop over the steps is
`gridsum.model.unroll`.
"""

import functools
import importlib.util

import torch

from gridsum.model.engine.bits import Cells, Packed, Whole
from gridsum.model.engine.eager import Eager, full_precision
from gridsum.model.engine.placement import Ends
from gridsum.model.engine.plain import Engine, Plain
from gridsum.model.paper import Network
from gridsum.model.rule import RuleNetwork
from gridsum.model.runs import watched
from gridsum.ops.devices import multiplies_bf16, on_gpu

__all__ = ["Cells", "Engine", "cells_of", "ends_for", "engine_of", "full_precision", "served"]


def engine_of(network: Network, precision: str = "fp32") -> Engine:
    """The engine for a network where it lies, for products of `precision` in training.

    Where someone has hooked into the network, the plain engine computes, as the others pass its modules by.
    """
    if watched(network):
        return Plain(network)
    weight = network.embedding.weight
    if weight.is_cuda and weight.dtype != torch.float64 and _triton_installed():
        from gridsum.model.engine.cuda.course import Cuda

        return Cuda(network)
    reduced = not weight.is_cuda and served(precision, weight.device) == "bf16"
    return Eager(network, torch.bfloat16 if reduced else None)


def cells_of(network: RuleNetwork, inside: torch.Tensor) -> Cells:
    """How grids of the network of bits are computed: shapes must stay for a GPU, a CPU leaves out what is masked."""
    return Whole(network, inside) if inside.is_cuda or watched(network) else Packed(network, inside)


def ends_for(actions: torch.Tensor) -> Ends | None:
    """The kernel that places symbols of small grids all at once, where there is one for these actions."""
    if not (actions.is_cuda and actions.dtype == torch.float32 and _triton_installed()):
        return None
    from gridsum.model.engine.cuda.placement import KernelEnds

    return KernelEnds.apply


def served(precision: str, device: torch.device) -> str:
    """What `training.precision` comes to on a device: a CPU computes in fp32, or in bf16 if it is faster at that."""
    if not on_gpu(device) and not (precision == "bf16" and multiplies_bf16()):
        return "fp32"
    return precision


@functools.cache
def _triton_installed() -> bool:
    return importlib.util.find_spec("triton") is not None
