"""Parts of a training step side by side on a CPU.

Most operations of a step are short, and between them all of torch's threads but one wait. So each part is computed in a
thread of its own, with its share of torch's threads.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")


class SideBySide:
    """Computes a number of parts at the same time, or in turn where torch has fewer threads than there are parts.

    The caller's thread computes the last part, and takes over the shares of those that are done: it looks for them
    whenever `module`, which every part computes many times, has been computed, and when its gradient begins. The other
    threads keep their share, as OpenMP waits less eagerly once the threads that it manages outnumber the cores.
    """

    def __init__(self, parts: int, module: nn.Module) -> None:
        self.parts = parts
        self.pool = ThreadPoolExecutor(max(1, parts - 1), "part")
        self.others: list[Future[Any]] = []
        self.caller: threading.Thread | None = None
        self.threads = self.share = 0
        if parts > 1:
            module.register_forward_hook(self._between)

    def __call__(self, compute: Callable[[int], T]) -> list[T]:
        """compute(0), compute(1) and so on, of every part."""
        threads = torch.get_num_threads()
        if self.parts == 1 or threads < self.parts:
            return [compute(part) for part in range(self.parts)]
        self.threads, self.share, self.caller = threads, threads // self.parts, threading.current_thread()

        def apart(part: int) -> T:
            _use(self.share)
            return compute(part)

        self.others = [self.pool.submit(apart, part) for part in range(self.parts - 1)]
        try:
            self._take_over()
            last = compute(self.parts - 1)
            return [*(other.result() for other in self.others), last]
        finally:
            self.others = []
            _use(threads)

    def _take_over(self, _: Tensor | None = None) -> None:
        """Take the threads that no other part needs."""
        _use(self.threads - self.share * sum(not other.done() for other in self.others))

    def _between(self, _: nn.Module, __: tuple[Tensor, ...], result: Tensor) -> None:
        if self.others and threading.current_thread() is self.caller:
            self._take_over()
            if result.requires_grad:
                result.register_hook(self._take_over)


def _use(threads: int) -> None:
    """Let torch take so many threads for what this thread asks of it; asking again for as many is not free."""
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
