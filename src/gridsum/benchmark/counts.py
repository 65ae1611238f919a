"""What the operations of a step come to by their shapes: how many they are, what they multiply, what they move."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from gridsum.benchmark.kernels import flops
from gridsum.benchmark.parts import OF_KERNELS, Parts
from gridsum.ops.devices import fastest, on_gpu


@dataclass
class Count:
    calls: int = 0
    """Operations of torch, and kernels of Triton; views count, as each is dispatched."""
    flops: int = 0
    """Of products alone."""
    bytes: int = 0
    """Read and written, if nothing stayed in a cache."""


def count(work: Callable[[], Any], parts: Parts) -> dict[str, Count]:
    """Of everything that `work` computes, forwards and backwards, part by part."""
    counts: dict[str, Count] = defaultdict(Count)
    with _Counter(parts, counts), _triton_counted(parts, counts):
        work()
    return dict(counts)


class _Counter(TorchDispatchMode):
    def __init__(self, parts: Parts, counts: dict[str, Count]) -> None:
        super().__init__()
        self.parts, self.counts = parts, counts

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        counted = self.counts[self.parts.current()]
        counted.calls += 1
        packet = func.overloadpacket
        if packet in flop_registry:
            counted.flops += flop_registry[packet](*args, **(kwargs or {}), out_val=result)
        if not _only_looks(func):
            counted.bytes += _moved(tree_leaves((args, kwargs, result)))
        return result


def _only_looks(func: Any) -> bool:
    """Whether an operation moves nothing: a view, or memory that nobody has written yet."""
    aliases = [result.alias_info for result in func._schema.returns]
    view = bool(aliases) and all(alias is not None and not alias.is_write for alias in aliases)
    return view or "empty" in func.overloadpacket.__name__


def _moved(leaves: Sequence[Any]) -> int:
    """Bytes of different tensors, without those that an expanded one repeats."""
    tensors = {id(leaf): leaf for leaf in leaves if isinstance(leaf, Tensor)}
    return sum(_bytes_of(tensor) for tensor in tensors.values())


def _bytes_of(tensor: Tensor) -> int:
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= size if stride else min(size, 1)
    return count * tensor.element_size()


@contextmanager
def _triton_counted(parts: Parts, counts: dict[str, Count]) -> Iterator[None]:
    """Torch does not see kernels of Triton: they are counted where they are launched."""
    try:
        from triton.runtime.jit import JITFunction  # pyright: ignore[reportMissingImports]
    except ImportError:
        yield
        return

    launch = JITFunction.run

    def run(kernel: Any, *args: Any, **kwargs: Any) -> Any:
        module, name = kernel.fn.__module__.rpartition(".")[2], kernel.fn.__name__
        counted = counts[OF_KERNELS.get(name, parts.current())]
        counted.calls += 1
        counted.bytes += _moved(args)
        counted.flops += flops(f"{module}.{name}", dict(zip(kernel.arg_names, args, strict=False)) | kwargs)
        return launch(kernel, *args, **kwargs)

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(JITFunction, "run", run))
        yield


def call_seconds(device: torch.device) -> float:
    """What an operation costs that computes nearly nothing: the launch. On a GPU, inside a CUDA graph."""
    number, times = torch.zeros(1, device=device), 200

    def many() -> None:
        for _ in range(times):
            number.add_(1)

    if not on_gpu(device):
        return fastest(many, device) / times
    many()
    torch.cuda.synchronize(device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        many()
    return fastest(graph.replay, device) / times


def copy_rate(device: torch.device) -> float:
    """Bytes a second that a copy reads and writes: on a GPU of 1 GB, on a CPU of 4 MB, the size of an activation."""
    size = 2**30 if on_gpu(device) else 2**22
    source = torch.zeros(size // 4, device=device)
    target = torch.empty_like(source)
    return 2 * size / fastest(lambda: target.copy_(source), device, times=20)
