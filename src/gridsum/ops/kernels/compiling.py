"""Kernels compiled side by side: one after the other, those of a training step take half a minute."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from triton import knobs


def compile_kernels(work: Callable[[], Any]) -> None:
    """Compile all kernels that `work` launches.

    It is called once without them: Triton asks its hook before it compiles, and launches nothing where the hook says
    that it has seen to it. What `work` returns then has no meaning.
    """
    wanted: dict[str, Any] = {}

    def note(*, fn: Any, compile: dict[str, Any], **_: Any) -> bool:
        wanted[compile["specialization_data"]] = fn.jit_function
        return True

    before, knobs.runtime.jit_cache_hook = knobs.runtime.jit_cache_hook, note
    try:
        work()
    finally:
        knobs.runtime.jit_cache_hook = before
    device = torch.cuda.current_device()
    with ThreadPoolExecutor(initializer=torch.cuda.set_device, initargs=(device,)) as pool:
        list(pool.map(lambda named: named[1].preload(named[0]), wanted.items()))
