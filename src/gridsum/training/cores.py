"""Parts of a training step side by side on a CPU.

Most operations of a step are short, and between them all of torch's threads but one wait. So each part is computed in a
thread of its own, with its share of torch's threads.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")

# The share of a part's time that comes before its gradient.
_FORWARD = 0.4


class SideBySide:
    """Computes a number of parts at the same time, or in turn where torch has fewer threads than there are parts.

    The caller's thread computes the last part, and takes over the others' threads when they should be done. Sums depend
    on the number of threads in their last digits, so that moment must not depend on time: it comes when the last part
    has done as much work as the largest of the others has to do, and the others are waited for. The work is what
    `module` computes, which every part calls many times.
    """

    def __init__(self, parts: int, module: nn.Module) -> None:
        self.parts = parts
        self.pool = ThreadPoolExecutor(max(1, parts - 1), "part")
        self.here = threading.local()
        if parts > 1:
            module.register_forward_hook(self._count)

    def __call__(self, compute: Callable[[int], T]) -> list[T]:
        """compute(0), compute(1) and so on, of every part."""
        threads = torch.get_num_threads()
        if self.parts == 1 or threads < self.parts:
            return [compute(part) for part in range(self.parts)]
        share, works = threads // self.parts, [_Work() for _ in range(self.parts - 1)]

        def apart(part: int) -> T:
            _use(share)
            self.here.work = works[part]
            try:
                return compute(part)
            finally:
                works[part].forward_ends()

        others = [self.pool.submit(apart, part) for part in range(self.parts - 1)]

        def take_over() -> None:
            wait(others)
            _use(threads)

        try:
            _use(threads - share * len(others))
            self.here.work = _LastWork(works, take_over)
            last = compute(self.parts - 1)
            return [*(other.result() for other in others), last]
        finally:
            self.here.work = None
            _use(threads)

    def _count(self, _: nn.Module, __: tuple[Tensor, ...], result: Tensor) -> None:
        work: _Work | None = getattr(self.here, "work", None)
        if work is not None:
            work.computed += result.numel()
            if result.requires_grad:
                result.register_hook(partial(work.gradient_begins, result.numel()))


class _Work:
    """What a part has to compute, in features of the module's results: known when its gradient begins."""

    def __init__(self) -> None:
        self.computed = 0
        self.known = threading.Event()

    def forward_ends(self) -> None:
        self.known.set()

    def gradient_begins(self, features: int, _: Tensor) -> None:  # noqa: ARG002
        """Of one of the module's results."""
        self.forward_ends()

    def all(self) -> int:
        self.known.wait()
        return self.computed


class _LastWork(_Work):
    """That of the last part, which takes over once it has done as much as the others."""

    def __init__(self, others: list[_Work], take_over: Callable[[], None]) -> None:
        super().__init__()
        self.others, self.take_over = others, take_over
        self.gone_back = 0
        self.alone = False

    def gradient_begins(self, features: int, _: Tensor) -> None:
        done = _FORWARD * self.computed + (1 - _FORWARD) * self.gone_back
        if not self.alone and done >= max(other.all() for other in self.others):
            self.alone = True
            self.take_over()
        self.gone_back += features


def _use(threads: int) -> None:
    """Let torch take so many threads for what this thread asks of it; asking again for as many is not free."""
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
