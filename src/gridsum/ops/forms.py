"""Which form of an operation computes: the one place that asks what tensors lie on.

    plain       the definition; what every module computes by that is called by itself
    cpu         torch operation by operation, with the shortcuts that pay on a CPU
    triton      Triton kernels, for a GPU

A rollout picks a form once (`gridsum.model.rollout`), and its operations ask for it.
"""

import importlib.util
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

import torch
from torch import Tensor

from gridsum.ops.devices import has_bf16, on_gpu

Form = Literal["plain", "cpu", "triton"]

Kept = dict[Hashable, Tensor]
"""What stays the same for a whole rollout."""

_TRITON = importlib.util.find_spec("triton") is not None
_FORM: ContextVar[tuple[Form, Kept | None]] = ContextVar("form", default=("plain", None))


def fastest_form(like: Tensor) -> Form:
    """The form for tensors like this one. A GPU without Triton, or in float64, is served as a CPU is."""
    return "triton" if like.is_cuda and like.dtype != torch.float64 and _TRITON else "cpu"


def form() -> Form:
    """The form that operations are computed in here."""
    return _FORM.get()[0]


def once(key: Hashable, make: Callable[[], Tensor]) -> Tensor:
    """What `make` gives, computed once in a rollout."""
    kept = _FORM.get()[1]
    if kept is None:
        return make()
    if key not in kept:
        kept[key] = make()
    return kept[key]


@contextmanager
def computed_in(chosen: Form, kept: Kept | None = None) -> Iterator[None]:
    """While this lasts, operations are computed in a form; a rollout holds what is `kept` for `once`."""
    token = _FORM.set((chosen, kept))
    try:
        yield
    finally:
        _FORM.reset(token)


def served(precision: str, device: torch.device) -> str:
    """What `training.precision` comes to: on a CPU fp32; `auto` is bf16 on a GPU that multiplies in it, else fp32."""
    if not on_gpu(device):
        return "fp32"
    return ("bf16" if has_bf16(device) else "fp32") if precision == "auto" else precision


@contextmanager
def by_blas_alone() -> Iterator[None]:
    """A training step with its gradient, on a CPU, multiplies by BLAS alone: torch built without MKL, as for ARM, gives
    products with a transposed factor to oneDNN, which takes longer to prepare for many of ours than to compute."""
    switch: Any = torch.backends.mkldnn
    before = switch.enabled
    switch.enabled = before and torch.backends.mkl.is_available()
    try:
        yield
    finally:
        switch.enabled = before


def full_precision(like: Tensor) -> torch.autocast:
    """Products in the dtype of what is multiplied, whatever training asks for."""
    return torch.autocast(like.device.type, enabled=False)
